"""A picture as text of 80 columns."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from refdist._core.base.html_tables import shortened
from refdist._core.pictures.drawn_devices import Column, columns_of
from refdist._core.pictures.drawn_variables import MOST_VARIABLES, DrawnVariable
from refdist._core.pictures.step_outline import Act, Deed

if TYPE_CHECKING:
    from refdist._core.pictures.picture import Picture

_WIDTH = 80
_LEFT = 26  # for names and lines, left of the columns
_MOST_COLUMNS, _WIDEST = 4, 27
MOST_ACTS = 24


def rendered(picture: "Picture") -> str:
    """The picture, drawn with letters."""
    columns = columns_of(picture.spots, _MOST_COLUMNS)
    return "\n".join(line.rstrip() for line in _lines(picture, columns))


def _lines(picture: "Picture", columns: Sequence[Column]) -> Iterator[str]:
    width = min(_WIDEST, (_WIDTH - _LEFT) // len(columns))
    yield shortened(picture.title, _WIDTH)
    yield ""
    yield from _head([column.name for column in columns], width)
    yield from _head([column.role for column in columns], width)
    for variable in picture.variables[:MOST_VARIABLES]:
        yield from _variable(variable, columns, width)
    hidden = len(picture.variables) - MOST_VARIABLES
    if hidden > 0:
        yield f"and {hidden:,} more variables"
    if not picture.variables:
        yield "no variables"
    if picture.step:
        yield ""
        yield shortened(f"{picture.step}:", _WIDTH)
        variables = {one.name: one for one in picture.variables}
        for number, act in enumerate(picture.acts[:MOST_ACTS], 1):
            yield _row("", [("|" if column.computes else "") for column in columns], width)
            yield from _act(number, act, columns, width, variables)
        if len(picture.acts) > MOST_ACTS:
            yield f"and {len(picture.acts) - MOST_ACTS:,} more"
        if not picture.acts:
            yield "  The replicas do not meet, and write nothing."
    for note in picture.notes:
        yield ""
        yield from textwrap.wrap(note, _WIDTH)


def _head(texts: Sequence[str], width: int) -> Iterator[str]:
    wrapped = [textwrap.wrap(text, width - 2) for text in texts]
    for at in range(max(map(len, wrapped))):
        yield _row("", [lines[at] if at < len(lines) else "" for lines in wrapped], width)


def _variable(variable: DrawnVariable, columns: Sequence[Column], width: int) -> Iterator[str]:
    cells = [variable.cell(column) for column in columns]
    fitting = [_box(cell, width) if cell else "" for cell in cells]
    yield _row(shortened(variable.name, _LEFT - 2), fitting, width)
    yield shortened(f"  {variable.spec}; {variable.about}", _WIDTH)


def _act(
    number: int, act: Act, columns: Sequence[Column], width: int, variables: dict[str, DrawnVariable]
) -> Iterator[str]:
    left = shortened(f"{number} {act.line}", _LEFT - 2)
    if act.deed is Deed.EDGE or act.deed is Deed.OWN_WRITE:
        word = "write" if act.deed is Deed.OWN_WRITE else "in" if act.verb == "gets" else "out"
        yield _row(left, [_box(word, width) if takes_part(act, column, variables) else "" for column in columns], width)
    else:
        taking = [at for at, column in enumerate(columns) if takes_part(act, column, variables)]
        yield left.ljust(_LEFT) + _bar(taking, width, "o" if act.deed is Deed.MEETING else "#")
    yield shortened(f"  {act.sentence}", _WIDTH)


def takes_part(act: Act, column: Column, variables: dict[str, DrawnVariable]) -> bool:
    """Whether a column has a part in an act."""
    if act.deed is Deed.WRITE:
        written = [variables[name] for name in act.variables if name in variables]
        return column.computes or any(variable.cell(column) for variable in written)
    return column.computes and (act.replicas is None or any(spot.replica in act.replicas for spot in column.spots))


def _bar(taking: Sequence[int], width: int, sign: str) -> str:
    """A line that joins the middles of columns."""
    if not taking:
        return ""
    first, last = taking[0] * width + width // 2, taking[-1] * width + width // 2
    middles = {at * width + width // 2 for at in taking}
    return " " * first + "".join(sign if at in middles else "=" for at in range(first, last + 1))


def _box(text: str, width: int) -> str:
    return f"[{shortened(text, width - 3)}]"


def _row(left: str, cells: Sequence[str], width: int) -> str:
    return left.ljust(_LEFT) + "".join(_centered(cell, width) for cell in cells)


def _centered(text: str, width: int) -> str:
    """A text whose middle is that of the column, where bars begin and end."""
    before = width // 2 - len(text) // 2
    return (" " * before + text).ljust(width)
