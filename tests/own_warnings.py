"""What refdist itself warns of, whatever filters are in force: of a correct program, nothing."""

import contextlib
import sys
import warnings
from collections.abc import Generator
from typing import Any

OURS = ("refdist", "simulator")


@contextlib.contextmanager
def own_warnings() -> Generator[list[str]]:
    """Collect the texts of warnings that come from code of this project, not from numpy, JAX or Keras."""
    told: list[str] = []
    real = warnings.warn

    def warn(message: Any, *args: Any, **kwargs: Any) -> None:
        if sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] in OURS:
            told.append(str(message))
        kwargs["stacklevel"] = kwargs.get("stacklevel", 1) + 1
        real(message, *args, **kwargs)

    warnings.warn = warn
    try:
        yield told
    finally:
        warnings.warn = real
