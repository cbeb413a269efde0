from refdist._core.saving.saved_models import (
    DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    contains_saved_model as contains_saved_model,
    load as load,
    save as save,
)
from refdist._core.saving.saving_options import LoadOptions as LoadOptions, SaveOptions as SaveOptions

__all__ = ["DEFAULT_SERVING_SIGNATURE_DEF_KEY", "LoadOptions", "SaveOptions", "contains_saved_model", "load", "save"]
