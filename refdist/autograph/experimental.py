"""`tf.autograph.experimental`."""

from refdist._core.autograph.directives import Feature, do_not_convert, set_loop_options

__all__ = ["Feature", "do_not_convert", "set_loop_options"]
