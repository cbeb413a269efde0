"""Text that every rendering of a report can hold: nothing that a terminal obeys, and not without end."""

import re

TEXT_LIMIT = 4_000
"""The characters of a text of a report: more than a reader reads, and few enough for hundreds of them."""
NOTE_LENGTH = 50
"""More than the note that something was left out needs."""


def printable(text: str) -> str:
    r"""Write what a terminal obeys, or XML and UTF-8 cannot hold, as Python writes it; tabs and new lines stay.

    What an implementation prints or raises is in no way under our control.

    >>> printable("red: \x1b[31m, half a pair: \ud800")
    'red: \\x1b[31m, half a pair: \\ud800'
    """
    return _FORBIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def shortened(text: str, limit: int = TEXT_LIMIT) -> str:
    r"""Keep the two ends of a long text, together not longer than the limit; what is short enough stays as it is.

    >>> shortened("a" * 1_000_000, 70)
    'aaaaaaaaaa\n... 999,980 characters left out ...\naaaaaaaaaa'
    """
    if len(text) <= limit:
        return text
    end = (limit - NOTE_LENGTH) // 2
    return f"{text[:end]}\n... {len(text) - 2 * end:,} characters left out ...\n{text[-end:]}"


_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
