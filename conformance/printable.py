"""Text that every rendering of a report can hold: no control characters, and a limited length."""

import re

TEXT_LIMIT = 4_000
"""The longest text in a report: more than anybody reads, and short enough for hundreds of them."""
NOTE_LENGTH = 50
"""The longest note that something was left out."""


def printable(text: str) -> str:
    r"""Escape, as Python does, what a terminal would obey or XML and UTF-8 cannot hold; tabs and newlines stay.

    What an implementation prints or raises is not under our control.

    >>> printable("red: \x1b[31m, half a pair: \ud800")
    'red: \\x1b[31m, half a pair: \\ud800'
    """
    return _FORBIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def shortened(text: str, limit: int = TEXT_LIMIT) -> str:
    r"""Keep the two ends of a text that is longer than the limit.

    >>> shortened("a" * 1_000_000, 70)
    'aaaaaaaaaa\n... 999,980 characters left out ...\naaaaaaaaaa'
    """
    if len(text) <= limit:
        return text
    end = (limit - NOTE_LENGTH) // 2
    return f"{text[:end]}\n... {len(text) - 2 * end:,} characters left out ...\n{text[-end:]}"


_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
