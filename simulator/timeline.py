"""Timelines as SVG pictures that need nothing else, for pages, notebooks and files."""

import dataclasses
import html
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.traces import Span, Trace

MOST_ROWS = 32
_MOST_ARROWS = 120  # more would hide the spans
_MARGIN, _ROW, _GAP, _HEAD, _AXIS, _LEGEND = 12, 18, 4, 20, 26, 24
_LETTER = 6.6  # about the width of a letter, in pixels
_LONGEST = 28  # letters of the name of a track
_HOLDERS = ("run", "step")  # are lines above what they hold
_LEGENDS = {"compute": "computing", "collective": "communicating", "wait": "waiting"}

# Three colours that differ in lightness too, on a ground of their own: so they hold on any page, and in grey.
_STYLE = """
.rd-timeline{font:12px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif}
.rd-timeline .ground{fill:#fff;stroke:#d0d7de}
.rd-timeline text{fill:#1f2328}
.rd-timeline .faint,.rd-timeline .tick{fill:#59636e}
.rd-timeline .tick{font-size:11px}
.rd-timeline .grid{stroke:#e3e7eb}
.rd-timeline .lane{fill:#f3f5f7}
.rd-timeline .compute{fill:#2a5db0}
.rd-timeline .collective{fill:#e9a23b}
.rd-timeline .wait{fill:#d3d9e0}
.rd-timeline .step,.rd-timeline .run{fill:#59636e;fill-opacity:.5}
.rd-timeline .label{font-size:10.5px;fill:#2b1c00}
.rd-timeline .label-compute{fill:#fff}
.rd-timeline .label-wait{fill:#3a434e}
.rd-timeline .arrow{stroke:#1f2328;stroke-opacity:.3}
@media (prefers-color-scheme:dark){
.rd-timeline .ground{fill:#0d1117;stroke:#30363d}
.rd-timeline text{fill:#e6edf3}
.rd-timeline .faint,.rd-timeline .tick{fill:#9198a1}
.rd-timeline .grid{stroke:#262c34}
.rd-timeline .lane{fill:#151b23}
.rd-timeline .compute{fill:#5a8de0}
.rd-timeline .collective{fill:#f2b64f}
.rd-timeline .wait{fill:#3b434e}
.rd-timeline .step,.rd-timeline .run{fill:#9198a1}
.rd-timeline .label{fill:#2b1c00}
.rd-timeline .label-compute{fill:#06101f}
.rd-timeline .label-wait{fill:#c6ccd4}
.rd-timeline .arrow{stroke:#e6edf3;stroke-opacity:.4}
}
"""


@dataclasses.dataclass(frozen=True)
class Unit:
    """A unit of time."""

    name: str
    seconds: float

    @classmethod
    def of(cls, seconds: float) -> "Unit":
        """The largest unit of which there is at least one."""
        units = [cls("s", 1.0), cls("ms", 1e-3), cls("us", 1e-6), cls("ns", 1e-9)]
        return next((unit for unit in units if seconds >= unit.seconds), units[-1])

    def text(self, seconds: float) -> str:
        """A time in this unit, with three digits behind the point."""
        return f"{seconds / self.seconds:,.3f} {self.name}"


def shortened(text: str, most: int) -> str:
    """At most so many letters of a text."""
    return text if len(text) <= most else text[: most - 1] + "…"


def rendered(trace: "Trace", width: int = 960) -> str:
    """The trace as a picture, so many pixels wide; equal traces give equal texts."""
    if isinstance(width, bool) or not isinstance(width, int) or width < 320:
        raise ValueError(
            f"to_svg() got width={width!r}; expected an int of at least 320. Give the pixels of the picture."
        )
    return "\n".join(_drawn(_Layout.of(trace, width))) + "\n"


@dataclasses.dataclass(frozen=True)
class _Layout:
    """Where everything goes, in pixels."""

    trace: "Trace"
    start: float  # in seconds, as the whole
    whole: float
    width: int
    left: float
    rows: dict[str, float]  # the upper edge of each row
    heads: dict[str, float]
    bottom: float

    @classmethod
    def of(cls, trace: "Trace", width: int) -> "_Layout":
        shown = (*trace.devices, *trace.links)[:MOST_ROWS]
        longest = max((len(_name(track)) for track in (*shown, "devices")), default=0)
        rows: dict[str, float] = {}
        heads: dict[str, float] = {}
        y = _MARGIN + _LEGEND
        for head, tracks in (("devices", trace.devices), ("links", trace.links)):
            for track in tracks[: len(shown) - len(rows)]:
                if head not in heads:
                    heads[head] = y
                    y += _HEAD
                rows[track] = y
                y += _ROW + _GAP
        start, end = trace.start_seconds, trace.end_seconds
        return cls(trace, start, end - start, width, _MARGIN + longest * _LETTER + 10, rows, heads, y)

    @property
    def right(self) -> float:
        return self.width - _MARGIN - 14

    @property
    def hidden(self) -> int:
        return len(self.trace.devices) + len(self.trace.links) - len(self.rows)

    @property
    def height(self) -> int:
        return round(self.bottom + _AXIS + (_LEGEND if self.hidden else 0))

    def x(self, seconds: float) -> float:
        share = (seconds - self.start) / self.whole if self.whole else 0.0
        return self.left + share * (self.right - self.left)


def _drawn(layout: _Layout) -> Iterator[str]:
    width, height = layout.width, layout.height
    unit = Unit.of(layout.whole)
    about = f"A timeline of {len(layout.rows) + layout.hidden} tracks over {unit.text(layout.whole)}"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rd-timeline" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{about}">'
    )
    yield f"<style>{_STYLE}</style>"
    yield f'<rect class="ground" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6"/>'
    yield from _legend(layout, unit)
    for track, y in layout.rows.items():
        yield f'<text x="{_n(layout.left - 8)}" y="{_n(y + 13)}" text-anchor="end">{_t(_name(track))}</text>'
        yield f'<rect class="lane" x="{_n(layout.left)}" y="{_n(y)}" width="{_n(layout.right - layout.left)}" height="{_ROW}"/>'
    yield from _axis(layout, unit)
    spans = layout.trace.by_track()
    for track, y in layout.rows.items():
        yield from _bars(layout, unit, spans[track], y)
    yield from _arrows(layout)
    for track, y in layout.rows.items():
        yield from _labels(layout, spans[track], y)
    if layout.hidden:
        yield f'<text class="faint" x="{_n(layout.left)}" y="{height - 12}">and {layout.hidden:,} more</text>'
    yield "</svg>"


def _legend(layout: _Layout, unit: Unit) -> Iterator[str]:
    used = {span.category for span in layout.trace.spans}
    x, y = layout.left, _MARGIN + 4
    for category, text in _LEGENDS.items():
        if category in used:
            yield f'<rect class="{category}" x="{_n(x)}" y="{y}" width="12" height="12" rx="2"/>'
            yield f'<text x="{_n(x + 17)}" y="{y + 10}">{text}</text>'
            x += 17 + len(text) * _LETTER + 18
    yield f'<text x="{_n(layout.right)}" y="{y + 10}" text-anchor="end">{unit.text(layout.whole)}</text>'
    for head, top in layout.heads.items():
        yield f'<text class="faint" x="{_n(layout.left - 8)}" y="{_n(top + 14)}" text-anchor="end">{head}</text>'


def _axis(layout: _Layout, unit: Unit) -> Iterator[str]:
    top = min(layout.rows.values(), default=layout.bottom) - 3
    for value in _ticks(layout.whole / unit.seconds, most=max(int((layout.right - layout.left) / 90), 2)):
        x = layout.x(layout.start + value * unit.seconds)
        yield f'<path class="grid" d="M{_n(x)} {_n(top)}V{_n(layout.bottom + 3)}"/>'
        yield f'<text class="tick" x="{_n(x)}" y="{_n(layout.bottom + 16)}" text-anchor="middle">{value:g} {unit.name}</text>'


def _ticks(whole: float, most: int) -> list[float]:
    """Round numbers from 0 to a length, at steps of 1, 2 or 5 times a power of ten."""
    if not whole > 0:
        return [0.0]
    rough = whole / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [round(number * step, 12) for number in range(int(whole / step + 1e-9) + 1)]


def _bars(layout: _Layout, unit: Unit, spans: Sequence["Span"], y: float) -> Iterator[str]:
    for group in _visible(layout, spans):
        category = group[0].category
        left, right = layout.x(group[0].start_seconds), layout.x(group[-1].end_seconds)
        # A small gap tells one span from the next, where there is room for it.
        gap = 0.75 if right - left > 3 else 0.0
        top, height = (y - 3, 2) if category in _HOLDERS else (y, _ROW)
        yield (
            f'<rect class="{category}" x="{_n(left)}" y="{_n(top)}" width="{_n(max(right - left - gap, 0.75))}" '
            f'height="{height}"><title>{_t(_about(layout, unit, group))}</title></rect>'
        )


def _labels(layout: _Layout, spans: Sequence["Span"], y: float) -> Iterator[str]:
    for at, span in enumerate(spans):
        left, right = layout.x(span.start_seconds), layout.x(span.end_seconds)
        holds = at + 1 < len(spans) and spans[at + 1].start_seconds < span.end_seconds
        if holds or span.category in _HOLDERS:
            continue
        text = _fitting(span.name, int((right - left - 5) / 6.1))
        if text:
            kind = f"label label-{span.category}"
            x = (left + right) / 2
            yield f'<text class="{kind}" x="{_n(x)}" y="{_n(y + 13)}" text-anchor="middle">{_t(text)}</text>'


def _fitting(name: str, letters: int) -> str:
    """As much of a name as has room: all, the number at its end, its beginning, or nothing."""
    if len(name) <= letters:
        return name
    number = name.rsplit(" ", maxsplit=1)[-1]
    if number.isdigit():
        return number if len(number) <= letters else ""
    return shortened(name, letters) if letters >= 5 else ""


def _visible(layout: _Layout, spans: Sequence["Span"]) -> Iterator[list["Span"]]:
    """Spans one by one, but those of one category that are too small to be told apart together."""
    group: list[Span] = []
    for span in spans:
        small = layout.x(span.end_seconds) - layout.x(span.start_seconds) < 1
        if group and not (
            small
            and span.category == group[0].category
            and layout.x(span.start_seconds) - layout.x(group[-1].end_seconds) < 0.5
        ):
            yield group
            group = []
        group.append(span)
        if not small:
            yield group
            group = []
    if group:
        yield group


def _about(layout: _Layout, unit: Unit, group: Sequence["Span"]) -> str:
    start, end = group[0].start_seconds, group[-1].end_seconds
    zero = layout.start
    name = group[0].name if len(group) == 1 else f"{len(group):,} spans from {group[0].name} to {group[-1].name}"
    when = f"{unit.text(end - start)}, from {unit.text(start - zero)} to {unit.text(end - zero)}"
    details = [
        f"{name}: {value:,}" if not isinstance(value, str) else f"{name}: {value}" for name, value in group[0].details
    ]
    return "\n".join([name, when, *(details if len(group) == 1 else [])])


def _arrows(layout: _Layout) -> Iterator[str]:
    arrows = layout.trace.arrows
    if len(arrows) > _MOST_ARROWS:
        return
    for arrow in arrows:
        if arrow.source_track in layout.rows and arrow.target_track in layout.rows:
            x, y = layout.x(arrow.start_seconds), layout.rows[arrow.source_track] + _ROW / 2
            end, there = layout.x(arrow.end_seconds), layout.rows[arrow.target_track] + _ROW / 2
            yield f'<path class="arrow" d="M{_n(x)} {_n(y)}L{_n(end)} {_n(there)}"/>'


def _name(track: str) -> str:
    return shortened(track.removeprefix("link "), _LONGEST)


def _n(pixels: float) -> str:
    return f"{pixels:.2f}".rstrip("0").rstrip(".")


def _t(text: str) -> str:
    return html.escape(text)
