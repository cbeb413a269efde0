"""`tf.config.optimizer`."""

from refdist._core.ops.late_names import late_names as _late_names

_LATE = {
    "refdist._core.ops.machine_switches": """
        get_experimental_options get_jit set_experimental_options set_jit
    """,
}
__getattr__, __dir__ = _late_names("config.optimizer", globals(), _LATE)

__all__ = []
