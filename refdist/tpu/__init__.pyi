from refdist.tpu import experimental as experimental

__all__ = ["experimental"]
