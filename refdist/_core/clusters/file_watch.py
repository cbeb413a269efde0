"""Tells which files several workers write: each of them believes that it alone does."""

import json
import os
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from refdist._core.base.errors import HostEffectWarning

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class _Writers:
    """Who has written what, while somebody wants to know."""

    open: dict[str, int] | None = None
    installed = False


@contextmanager
def watched_files() -> Generator[None]:
    """Warn in a block when a worker opens a file for writing that another one has opened before."""
    if not _Writers.installed:
        _Writers.installed = True
        sys.addaudithook(_heard)  # stays for ever, and looks at one attribute
    before, _Writers.open = _Writers.open, {}
    try:
        yield
    finally:
        _Writers.open = before


def _heard(event: str, args: tuple[Any, ...]) -> None:
    writers = _Writers.open
    if writers is None or event != "open":
        return
    path, mode, flags = args
    writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool(flags & _WRITING)
    if not writes or not isinstance(path, (str, bytes, os.PathLike)):
        return
    name = os.path.abspath(os.fsdecode(path))
    worker = _worker()
    if worker is None or "__pycache__" in name or name.startswith("/dev/"):
        return
    first = writers.setdefault(name, worker)
    if first != worker:
        warnings.warn(
            f"Workers {first} and {worker} both write the file {name!r}; expected one of them to, because each overwrites what the "
            f"other has written. Let the chief write it (task 0 of TF_CONFIG), or put the number of the worker into the name.",
            HostEffectWarning,
            stacklevel=3,
        )


def _worker() -> int | None:
    """The number of the worker whose program runs, which is in its environment."""
    config = os.environ.get("TF_CONFIG")
    return None if config is None else json.loads(config).get("task", {}).get("index")
