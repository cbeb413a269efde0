"""A picture as SVG."""

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from refdist._core.base.html_tables import escaped, shortened
from refdist._core.pictures.drawn_devices import Column, columns_of
from refdist._core.pictures.drawn_variables import MOST_VARIABLES, DrawnVariable, Kind
from refdist._core.pictures.picture_style import STYLE
from refdist._core.pictures.picture_text import MOST_ACTS, takes_part
from refdist._core.pictures.step_outline import Act, Deed

if TYPE_CHECKING:
    from refdist._core.pictures.picture import Picture

_WIDTH, _MARGIN = 760, 14
_LEFT = 196  # where the columns begin
_MOST_COLUMNS, _WIDEST = 8, 212
_LETTER, _SMALL_LETTER = 6.9, 6.2  # about the widths of letters, in pixels
_VARIABLE, _ACT = 46, 47  # the heights of what a row tells


def rendered(picture: "Picture") -> str:
    """The picture, which needs nothing else; equal pictures give equal texts."""
    return "\n".join(_Drawing(picture).lines()) + "\n"


class _Drawing:
    """Where everything goes, in pixels."""

    def __init__(self, picture: "Picture") -> None:
        self._picture = picture
        self._columns = columns_of(picture.spots, _MOST_COLUMNS)
        self._width = min(_WIDEST, (_WIDTH - _LEFT - _MARGIN) / len(self._columns))
        self._variables = {one.name: one for one in picture.variables}

    def lines(self) -> list[str]:
        """The elements, the first of which knows how high all of them are."""
        y = _MARGIN + 14.0
        drawn = [_text(_MARGIN, y, self._picture.title, "title")]
        head = y + 14
        y = head + self._head_height()
        drawn += self._heads(head)
        lanes = y
        y += 12
        for variable in self._picture.variables[:MOST_VARIABLES]:
            drawn += self._variable(variable, y)
            y += _VARIABLE
        hidden = len(self._picture.variables) - MOST_VARIABLES
        if hidden > 0 or not self._picture.variables:
            text = f"and {hidden:,} more variables" if hidden > 0 else "no variables"
            drawn.append(_text(_MARGIN, y + 12, text, "faint"))
            y += 24
        if self._picture.step:
            drawn.append(_text(_MARGIN, y + 16, self._picture.step, "strong over"))
            y += 30
            for number, act in enumerate(self._picture.acts[:MOST_ACTS], 1):
                drawn += self._act(number, act, y)
                y += _ACT
            more = len(self._picture.acts) - MOST_ACTS
            text = f"and {more:,} more" if more > 0 else "The replicas do not meet, and write nothing."
            if more > 0 or not self._picture.acts:
                drawn.append(_text(_MARGIN, y + 6, text, "faint"))
                y += 18
        bottom = y
        for line in [line for note in self._picture.notes for line in textwrap.wrap(note, 110)]:
            drawn.append(_text(_MARGIN, y + 14, line, "faint"))
            y += 16
        return [*self._begin(round(y + _MARGIN)), *self._lanes(lanes, bottom), *drawn, "</svg>"]

    def _begin(self, height: int) -> Iterator[str]:
        about = escaped(self._picture.title)
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="rd-picture" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
            f'style="max-width:100%;height:auto" role="img" aria-label="{about}">'
        )
        yield f"<style>{STYLE}</style>"
        yield f'<rect class="ground" x=".5" y=".5" width="{_WIDTH - 1}" height="{height - 1}" rx="6"/>'

    def _lanes(self, top: float, bottom: float) -> Iterator[str]:
        for at, column in enumerate(self._columns):
            if column.computes:
                yield f'<path class="lane" d="M{_n(self._middle(at))} {_n(top)}V{_n(bottom)}"/>'

    def _head_lines(self, column: Column) -> tuple[list[str], list[str]]:
        room = self._width - 14
        return textwrap.wrap(column.name, int(room / _LETTER)), textwrap.wrap(column.role, int(room / _SMALL_LETTER))

    def _head_height(self) -> float:
        return max(16 * sum(map(len, self._head_lines(column))) for column in self._columns) + 10

    def _heads(self, y: float) -> Iterator[str]:
        height = self._head_height()
        for at, column in enumerate(self._columns):
            x, middle = _LEFT + at * self._width + 3, self._middle(at)
            dashes = ' stroke-dasharray="5 3"' if len(column.spots) > 1 else ""
            yield (
                f'<rect class="device" x="{_n(x)}" y="{_n(y)}" width="{_n(self._width - 6)}" height="{_n(height)}" rx="5"{dashes}/>'
            )
            names, roles = self._head_lines(column)
            for row, name in enumerate(names):
                yield _text(middle, y + 17 + 16 * row, name, "strong", "middle")
            for row, role in enumerate(roles, len(names)):
                yield _text(middle, y + 17 + 16 * row, role, "faint", "middle")

    def _variable(self, variable: DrawnVariable, y: float) -> Iterator[str]:
        yield _text(_MARGIN, y + 15, variable.name, "strong", most=int((_LEFT - _MARGIN) / _LETTER) - 1)
        yield _text(_MARGIN, y + 31, variable.spec, "faint", most=int((_LEFT - _MARGIN) / _SMALL_LETTER))
        yield _text(_LEFT + 3, y + 37, variable.about, "faint over")
        for at, column in enumerate(self._columns):
            cell = variable.cell(column)
            if cell:
                yield from self._box(at, y + 2, cell, variable.kind.value)

    def _act(self, number: int, act: Act, y: float) -> Iterator[str]:
        yield _text(_MARGIN, y + 15, f"{number}", "strong")
        if act.line:
            yield _text(_MARGIN + 22, y + 15, act.line, "faint", most=int((_LEFT - _MARGIN - 22) / _SMALL_LETTER))
        taking = [at for at, one in enumerate(self._columns) if takes_part(act, one, self._variables)]
        if act.deed in (Deed.EDGE, Deed.OWN_WRITE):
            word = "write" if act.deed is Deed.OWN_WRITE else "in" if act.verb == "gets" else "out"
            kind = Kind.OWN.value if act.deed is Deed.OWN_WRITE else "edge"
            for at in taking:
                yield from self._box(at, y + 1, word, kind)
            yield _text(_LEFT + 3, y + 36, act.sentence, "over", most=78)
            return
        written = [self._variables[name].kind for name in act.variables if name in self._variables]
        kind = "meeting" if act.deed is Deed.MEETING else f"bar-{(written or [Kind.EQUAL])[0].value}"
        if taking:
            first, last = self._middle(taking[0]), self._middle(taking[-1])
            yield (f'<rect class="{kind}" x="{_n(first)}" y="{_n(y + 8)}" width="{_n(last - first)}" height="6"/>')
            for at in taking:
                yield f'<circle class="{kind}" cx="{_n(self._middle(at))}" cy="{_n(y + 11)}" r="7"/>'
        yield _text(_LEFT + 3, y + 36, act.sentence, "over", most=78)

    def _box(self, at: int, y: float, text: str, kind: str) -> Iterator[str]:
        width = min(self._width - 10, 130)
        x = self._middle(at) - width / 2
        yield f'<rect class="{kind}" x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="20" rx="4"/>'
        yield _text(self._middle(at), y + 14, text, f"in in-{kind}", "middle", most=int((width - 4) / _SMALL_LETTER))

    def _middle(self, at: int) -> float:
        return _LEFT + (at + 0.5) * self._width


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start", most: int = 110) -> str:
    where = f' text-anchor="{anchor}"' if anchor != "start" else ""
    short = shortened(text, most)
    whole = f"<title>{escaped(shortened(text, 500))}</title>" if short != text else ""
    return f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}"{where}>{escaped(short)}{whole}</text>'


def _n(pixels: float) -> str:
    return f"{pixels:.1f}".removesuffix(".0")
