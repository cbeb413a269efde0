"""`tf.keras` as a module, so that programs can write `from refdist.keras import layers`."""

from refdist._core.keras import name_modules as _name_modules

_name_modules(__name__)
