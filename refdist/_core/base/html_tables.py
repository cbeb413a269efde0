"""Tables for notebooks, and the colors of the page, light or dark: one style for all that is shown there."""

from collections.abc import Iterable, Sequence
from typing import Any

_FIRST = 8  # of the rows of a table that is folded
_LETTERS = 400  # of a cell
# What XML does not take has a sign of its own.
_ESCAPED: dict[int, str] = {
    **dict.fromkeys([*range(32), 0x7F, *range(0xD800, 0xE000), 0xFFFE, 0xFFFF], "\N{REPLACEMENT CHARACTER}"),
    ord("\t"): "\t",
    ord("\n"): "\n",
    ord("\r"): "\n",
    ord("&"): "&amp;",
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    ord('"'): "&quot;",
    ord("'"): "&#39;",
}
# The colors of a notebook where it has told them; else those of a light or a dark page. For what has a ground of its own.
LIGHT = (
    "--ground:var(--jp-layout-color0,#fff);--ink:var(--jp-content-font-color1,#1f2328);"
    "--faint:var(--jp-content-font-color2,#59636e);--edge:var(--jp-border-color2,#d0d7de)"
)
DARK = (
    "--ground:var(--jp-layout-color0,#0d1117);--ink:var(--jp-content-font-color1,#e6edf3);"
    "--faint:var(--jp-content-font-color2,#9198a1);--edge:var(--jp-border-color2,#30363d)"
)
# More specific than what notebooks say of tables, so that it holds there.
STYLE = (
    "<style>div.refdist{color:inherit;max-width:100%;overflow-x:auto}"
    "div.refdist.refdist table{border-collapse:collapse;color:inherit;"
    "font:13px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}"
    "div.refdist.refdist th,div.refdist.refdist td{border:1px solid var(--jp-border-color2,#8886);padding:2px 8px;text-align:left;"
    "vertical-align:top;color:inherit;white-space:pre-wrap}"
    "div.refdist.refdist caption{caption-side:top;text-align:left;padding:4px 0;font-weight:bold;color:inherit;white-space:normal}"
    "div.refdist table+table{margin-top:8px}"
    "div.refdist .none{background:#d9770633}"
    "div.refdist p{margin:4px 0}</style>"
)


def escaped(text: Any) -> str:
    r"""A text as HTML and XML take it, whatever is in it.

    >>> escaped("<script>"), escaped("a\x00&'b'")
    ('&lt;script&gt;', 'a\ufffd&amp;&#39;b&#39;')
    """
    return str(text).translate(_ESCAPED)


def shortened(text: str, most: int) -> str:
    """At most so many letters of a text.

    >>> shortened("replica", 7), shortened("replicas", 7)
    ('replica', 'repl...')
    """
    return text if len(text) <= most else f"{text[: most - 3]}..."


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of texts; a cell without a text is a gap that is told.

    >>> "<td>1 &lt; 2</td>" in table("facts", ["fact"], [["1 < 2"]])
    True
    """
    cells = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    names = f"<thead><tr>{''.join(f'<th>{escaped(name)}</th>' for name in head)}</tr></thead>" if head else ""
    caption = f"<caption>{escaped(shortened(title, _LETTERS))}</caption>" if title else ""
    return f"<table>{caption}{names}<tbody>{cells}</tbody></table>"


def page(*parts: str) -> str:
    """Tables and the like with their style, as notebooks show them."""
    return f'<div class="refdist">{STYLE}{"".join(parts)}</div>'


def paragraph(text: str) -> str:
    """A text below a table."""
    return f"<p>{escaped(text)}</p>"


def folded(count: int) -> list[int | None]:
    """Which of so many rows are shown: all of a few; of many the first ones and the last, with None between them.

    >>> folded(3), folded(1000)
    ([0, 1, 2], [0, 1, 2, 3, 4, 5, 6, 7, None, 999])
    """
    return [*range(count)] if count <= _FIRST + 2 else [*range(_FIRST), None, count - 1]


def _cell(text: Any) -> str:
    return '<td class="none">nothing</td>' if text is None else f"<td>{escaped(shortened(str(text), _LETTERS))}</td>"
