from refdist.profiler import experimental as experimental

__all__ = ["experimental"]
