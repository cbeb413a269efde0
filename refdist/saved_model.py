"""`tf.saved_model`: the variables and functions of a module, saved and loaded without the module's own code."""

from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.saving.saved_models import DEFAULT_SERVING_SIGNATURE_DEF_KEY, contains_saved_model, load, save
from refdist._core.saving.saving_options import LoadOptions, SaveOptions

__getattr__ = _lacking("saved_model")

__all__ = ["DEFAULT_SERVING_SIGNATURE_DEF_KEY", "LoadOptions", "SaveOptions", "contains_saved_model", "load", "save"]
