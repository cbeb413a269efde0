from refdist.autograph import experimental as experimental

__all__ = ["experimental"]
