"""A file in an option, to which something is written at the end of a long command."""

import argparse
import pathlib


def writable_file(text: str) -> pathlib.Path:
    """Refuse at the start what could not be written after a long run."""
    path = pathlib.Path(text)
    try:
        there = path.exists()
        if path.is_dir() or not path.parent.is_dir():
            raise argparse.ArgumentTypeError(
                f"got {text!r}; expected a file in a folder that exists. Make the folder, or name a file in it."
            )
        if not there or path.is_file():  # others, such as a pipe, may wait for their reader
            path.open("ab").close()
        if not there:
            path.unlink()
    except OSError as error:
        raise argparse.ArgumentTypeError(
            f"got {text!r} ({error.strerror}); expected a file that can be written. Name another file."
        ) from error
    return path
