"""`tf.saved_model`: the variables and functions of a module, saved and loaded without the module's own code."""

from refdist._core.ops.late_names import late_names as _late_names

_LATE = {
    "refdist._core.saving.saved_models": "DEFAULT_SERVING_SIGNATURE_DEF_KEY contains_saved_model load save",
    "refdist._core.saving.saving_options": "LoadOptions SaveOptions",
}
__getattr__, __dir__ = _late_names("saved_model", globals(), _LATE)

__all__ = []
