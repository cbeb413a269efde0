"""The logger of programs, and the functions of `tf.compat.v1.logging` over it."""

import collections
import logging
from typing import Any

from refdist._core.base.call_sites import call_site

DEBUG, INFO, WARN, ERROR, FATAL = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL
_counts: "collections.Counter[Any]" = collections.Counter()


def get_logger() -> logging.Logger:
    """The logger that programs share, whose name is that of TensorFlow.

    >>> get_logger().name
    'tensorflow'
    """
    return logging.getLogger("tensorflow")


debug, info, warning, error, fatal = (
    getattr(get_logger(), name) for name in ("debug", "info", "warning", "error", "critical")
)
warn, log = warning, get_logger().log


def vlog(level: int, msg: str, *args: Any) -> None:
    """Log at a level."""
    log(level, msg, *args)


def get_verbosity() -> int:
    """The level from which messages are shown."""
    return get_logger().getEffectiveLevel()


def set_verbosity(v: int) -> None:
    """Set the level from which messages are shown."""
    get_logger().setLevel(v)


def log_if(level: int, msg: str, condition: Any, *args: Any) -> None:
    """Log if a condition holds."""
    if condition:
        log(level, msg, *args)


def log_first_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log the first so many times that a line is reached."""
    log_if(level, msg, _counted() < n, *args)


def log_every_n(level: int, msg: str, n: int, *args: Any) -> None:
    """Log every so many times that a line is reached, the first included."""
    log_if(level, msg, _counted() % n == 0, *args)


def flush() -> None:
    """Pass on what the handlers hold."""
    for handler in get_logger().handlers:
        handler.flush()


def _counted() -> int:
    """How often the line of the caller was reached before."""
    site = call_site(3)
    _counts[site] += 1
    return _counts[site] - 1
