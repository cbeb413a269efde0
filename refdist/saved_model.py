"""`tf.saved_model`: the variables of a module, saved and loaded without the module's own code."""

from refdist._core.saving.saved_models import load, save

__all__ = ["load", "save"]
