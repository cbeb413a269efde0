"""Where a line of a test file is, by a comment on it, so that tests can say which line an error names."""

import pathlib


def line_of(file: str, comment: str) -> int:
    """The number of the first line of a file that ends with a comment."""
    lines = pathlib.Path(file).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(comment))
