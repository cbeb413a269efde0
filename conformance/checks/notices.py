"""What an implementation tells its users during a check: Python warnings, and the lines of TensorFlow's log."""

import logging
import warnings
from collections.abc import Generator
from contextlib import contextmanager


class _Log(logging.Handler):
    """Remembers what was written."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


_LOG = _Log()
# From the beginning, because TensorFlow gives each notice of deprecation once in the life of a process.
logging.getLogger("tensorflow").addHandler(_LOG)


@contextmanager
def notices() -> Generator[list[str]]:
    """Collect what is said within the block; the list is full when the block ends."""
    heard: list[str] = []
    before = len(_LOG.texts)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield heard
    heard += [f"{warning.category.__name__}: {warning.message}" for warning in caught]
    heard += _LOG.texts[before:]


def logged() -> list[str]:
    """Return all that was written to the log since the process began."""
    return list(_LOG.texts)


def deprecations(texts: list[str]) -> list[str]:
    """Keep the texts that say that something is deprecated."""
    return [text for text in texts if "deprecat" in text.lower()]
