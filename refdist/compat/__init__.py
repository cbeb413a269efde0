"""`tf.compat`: the v1 flavor of the API."""

from refdist.compat import v1

__all__ = ["v1"]
