from refdist._core.keras.estimator import RunConfig as RunConfig

__all__ = ["RunConfig"]
