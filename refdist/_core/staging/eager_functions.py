"""Whether functions run in Python, as documented for debugging."""

from refdist._core.base.where import Process

_eagerly = False


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Let every `function` call its body in Python, as if it were not one; False undoes it.

    >>> import refdist as tf
    >>> tf.config.run_functions_eagerly(True)
    >>> tf.function(tf.executing_eagerly)()
    True
    >>> tf.config.run_functions_eagerly(False)
    """
    global _eagerly
    _eagerly = bool(run_eagerly)
    Process.changes += 1


def functions_run_eagerly() -> bool:
    """Say whether every `function` calls its body in Python.

    >>> functions_run_eagerly()
    False
    """
    return _eagerly
