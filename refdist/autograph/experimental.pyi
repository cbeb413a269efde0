from refdist._core.autograph.directives import (
    Feature as Feature,
    do_not_convert as do_not_convert,
    set_loop_options as set_loop_options,
)

__all__ = ["Feature", "do_not_convert", "set_loop_options"]
