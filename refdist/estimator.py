"""`tf.estimator`, as far as strategies are a part of it."""

from refdist._core.keras.estimator import RunConfig

__all__ = ["RunConfig"]
