"""What to use instead of documented names that refdist does not have."""

from collections.abc import Callable
from typing import Never

from refdist._core.ops.words_for_modules import word_for

REMEDIES = {
    "layers": "tf.keras.layers",
    "AUTOTUNE": "tf.data.AUTOTUNE",
    "Session": "tf.compat.v1.Session",
    "math.ndtr": "jax.scipy.special.ndtr",
    "nn.ctc_loss": "optax.ctc_loss",
    "placeholder": "arguments of a function",
    "autograph.to_code": "tf.function, which converts the function",
    "autograph.to_graph": "tf.function, which converts the function",
    "autograph.set_verbosity": "nothing: the notes of an error say what was not converted",
    "autograph.trace": "tf.print, or print, which prints while a function is traced",
}


def lacking(module: str) -> Callable[[str], Never]:
    """Make what Python asks for names that a module does not have.

    >>> lacking("math")("ndtr")
    Traceback (most recent call last):
    AttributeError: module 'refdist.math' has no attribute 'ndtr': refdist has no tf.math.ndtr; use jax.scipy.special.ndtr instead.
    """
    home, documented = (f"refdist.{module}", f"tf.{module}") if module else ("refdist", "tf")

    def missing(name: str) -> Never:
        text = f"module {home!r} has no attribute {name!r}"
        if name.startswith("__"):  # what Python itself looks for
            raise AttributeError(text, name=name)
        remedy = REMEDIES.get(f"{module}.{name}" if module else name)
        remedy = f"{remedy} instead" if remedy is not None else word_for(module, name)
        raise AttributeError(f"{text}: refdist has no {documented}.{name}; use {remedy}.", name=name)

    return missing
