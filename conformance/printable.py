"""Text that every rendering of a report can hold."""

import re


def printable(text: str) -> str:
    r"""Write what a terminal obeys, or XML and UTF-8 cannot hold, as Python writes it; tabs and new lines stay.

    What an implementation prints or raises is in no way under our control.

    >>> printable("red: \x1b[31m, half a pair: \ud800")
    'red: \\x1b[31m, half a pair: \\ud800'
    """
    return _FORBIDDEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
