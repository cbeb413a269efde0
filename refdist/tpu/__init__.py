"""`tf.tpu`."""

from refdist.tpu import experimental

__all__ = ["experimental"]
