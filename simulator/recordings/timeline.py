"""Timelines as SVG pictures that need nothing else, for pages, notebooks and files."""

import dataclasses
import html
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from simulator.recordings.equal_tracks import Row, between_rows
from simulator.recordings.timeline_style import STYLE

if TYPE_CHECKING:
    from simulator.recordings.traces import Span, Trace

MOST_ROWS = 32
_MOST_ARROWS = 120  # more would hide the spans
_MOST_LETTERS_OF_STEPS = 50_000  # of the bars of steps
_MOST_LETTERS = 300_000  # of all bars with what they tell: a picture opens at once, and can be sent by mail
_SMALLEST = (
    1,
    2,
    4,
    8,
    16,
    32,
    64,
)  # pixels below which spans are drawn together: the least that keeps the picture small
_MARGIN, _ROW, _STRIP, _GAP, _HEAD, _AXIS, _LEGEND = 12, 18, 13, 4, 20, 26, 24
_LETTER = 6.6  # about the width of a letter, in pixels
_SMALL_LETTER = 6.1  # in a label
_LONGEST = 40  # letters of the name of a row
_HOLDERS = ("run", "step")  # are above what they hold
_LEGENDS = {"compute": "computing", "collective": "communicating", "wait": "waiting"}


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
        """A time in this unit, with three digits behind the point; events are counted."""
        return f"{seconds / self.seconds:,.{0 if self is ORDER else 3}f} {self.name}"


ORDER = Unit("events", 1.0)  # of a trace that has an order and no times


def shortened(text: str, most: int) -> str:
    """At most so many letters of a text."""
    return text if len(text) <= most else text[: most - 1] + "…"


def rendered(trace: "Trace", width: int = 960, *, fold: bool = True) -> str:
    """The trace as a picture, so many pixels wide; equal traces give equal texts."""
    if isinstance(width, bool) or not isinstance(width, int) or width < 320:
        raise ValueError(
            f"to_svg() got width={width!r}; expected an int of at least 320. Give the pixels of the picture."
        )
    return "\n".join(_drawn(_Layout.of(trace, trace.rows(fold=fold), width))) + "\n"


@dataclasses.dataclass(frozen=True)
class _Layout:
    """Where everything goes, in pixels."""

    trace: "Trace"
    every: Sequence[Row]  # also those for which there is no room
    unit: Unit
    start: float  # in seconds, as the whole
    whole: float
    width: int
    left: float
    steps: float | None  # the upper edge of the row of steps, where there are any
    rows: list[tuple[float, Row]]  # each with its upper edge
    heads: dict[str, float]
    bottom: float

    @classmethod
    def of(cls, trace: "Trace", every: Sequence[Row], width: int) -> "_Layout":
        shown = every[:MOST_ROWS]
        # Names may take a third of a narrow picture.
        most = min(_LONGEST, int(width / 3 / _LETTER))
        longest = max((min(len(_name(row)), most) for row in shown), default=0)
        rows: list[tuple[float, Row]] = []
        heads: dict[str, float] = {}
        y = _MARGIN + _LEGEND + (0 if trace.timed else _HEAD)
        steps = y if any(span.category == "run" for span in trace.spans) else None
        y += 0 if steps is None else _ROW + _GAP
        for row in shown:
            head = "links" if row.first.startswith("link ") else "devices"
            if head not in heads:
                heads[head] = y
                y += _HEAD
            # What holds other spans has a strip of its own above them.
            y += _STRIP if any(span.category == "step" for span in row.spans) else 0
            rows.append((y, row))
            y += _ROW + _GAP
        start, end = trace.start_seconds, trace.end_seconds
        unit = Unit.of(end - start) if trace.timed else ORDER
        left = _MARGIN + max(longest, len("devices")) * _LETTER + 10
        return cls(trace, every, unit, start, end - start, width, left, steps, rows, heads, y)

    @property
    def letters(self) -> int:
        """How many letters of the name of a row there is room for."""
        return int((self.left - _MARGIN - 10) / _LETTER + 1e-9)

    @property
    def right(self) -> float:
        return self.width - _MARGIN - 14

    @property
    def hidden(self) -> int:
        return sum(len(row.tracks) for row in self.every[len(self.rows) :])

    @property
    def height(self) -> int:
        return round(self.bottom + _AXIS + (_LEGEND if self.hidden else 0))

    def x(self, seconds: float) -> float:
        share = (seconds - self.start) / self.whole if self.whole else 0.0
        return self.left + share * (self.right - self.left)


def _drawn(layout: _Layout) -> Iterator[str]:
    width, height, unit = layout.width, layout.height, layout.unit
    tracks = sum(len(row.tracks) for row in layout.every)
    about = f"A timeline of {tracks} tracks over {unit.text(layout.whole)}"
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rd-timeline" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" style="max-width:100%;height:auto" role="img" aria-label="{about}">'
    )
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="ground" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6"/>'
    yield from _legend(layout)
    for y, row in layout.rows:
        name = _name(row)
        short = name if len(name) <= layout.letters else _shortened_list(name, layout.letters)
        title = f"<title>{_t(name)}</title>" if short != name else ""
        yield f'<text x="{_n(layout.left - 8)}" y="{_n(y + 13)}" text-anchor="end">{_t(short)}{title}</text>'
        yield f'<rect class="lane" x="{_n(layout.left)}" y="{_n(y)}" width="{_n(layout.right - layout.left)}" height="{_ROW}"/>'
    yield from _axis(layout)
    if layout.steps is not None:
        yield f'<text class="faint" x="{_n(layout.left - 8)}" y="{_n(layout.steps + 13)}" text-anchor="end">steps</text>'
        yield from _steps(layout, layout.steps)
    shown = [(y, row.shown()) for y, row in layout.rows]
    yield from _few_bars(layout, shown, _MOST_LETTERS)
    yield from _arrows(layout)
    for y, spans in shown:
        yield from _labels(layout, spans, y)
    if layout.hidden:
        yield f'<text class="faint" x="{_n(layout.left)}" y="{height - 12}">and {layout.hidden:,} more</text>'
    yield "</svg>"


def _legend(layout: _Layout) -> Iterator[str]:
    used = {span.category for span in layout.trace.spans}
    wide = sum(35 + len(text) * _LETTER for category, text in _LEGENDS.items() if category in used)
    x, y = layout.left if layout.left + wide < layout.right else _MARGIN, _MARGIN + 4
    for category, text in _LEGENDS.items():
        if category in used:
            yield f'<rect class="{category}" x="{_n(x)}" y="{y}" width="12" height="12" rx="2"/>'
            yield f'<text x="{_n(x + 17)}" y="{y + 10}">{text}</text>'
            x += 17 + len(text) * _LETTER + 18
    whole = layout.unit.text(layout.whole)
    if x + len(whole) * _LETTER < layout.right:
        yield f'<text x="{_n(layout.right)}" y="{y + 10}" text-anchor="end">{whole}</text>'
    if not layout.trace.timed:
        yield f'<text class="faint" x="{_n(layout.left)}" y="{y + 10 + _HEAD}">This is the order of events, not time.</text>'
    for head, top in layout.heads.items():
        yield f'<text class="faint" x="{_n(layout.left - 8)}" y="{_n(top + 14)}" text-anchor="end">{head}</text>'


def _steps(layout: _Layout, y: float) -> Iterator[str]:
    """Each step from its first device to its last, with its name where there is room."""
    found: dict[str, Span] = {}
    for span in layout.trace.spans:
        if span.category == "run":
            old = found.get(span.name, span)
            start, end = min(old.start_seconds, span.start_seconds), max(old.end_seconds, span.end_seconds)
            found[span.name] = dataclasses.replace(old, start_seconds=start, end_seconds=end)
    ordered = sorted(found.values(), key=lambda span: (span.start_seconds, span.end_seconds))
    spans = [_before(layout, span, after) for span, after in zip(ordered, [*ordered[1:], None], strict=True)]
    yield from _few_bars(layout, [(y, spans)], _MOST_LETTERS_OF_STEPS)
    yield from _labels(layout, spans, y)


def _before(layout: _Layout, span: "Span", after: "Span | None") -> "Span":
    """A step up to the next one, which the first devices may begin while the last ones are still in this one."""
    if after is None or span.end_seconds <= after.start_seconds:
        return span
    until = f"{layout.unit.text(span.end_seconds - layout.start)} on the last device"
    return dataclasses.replace(span, end_seconds=after.start_seconds, details=(*span.details, ("until", until)))


def _axis(layout: _Layout) -> Iterator[str]:
    unit, top = layout.unit, min((y for y, _ in layout.rows), default=layout.bottom) - 3
    for value in _ticks(layout.whole / unit.seconds, most=max(int((layout.right - layout.left) / 90), 2)):
        if unit is ORDER and value % 1:
            continue
        x = layout.x(layout.start + value * unit.seconds)
        text = f"{value:g}" if unit is ORDER else f"{value:g} {unit.name}"
        yield f'<path class="grid" d="M{_n(x)} {_n(top)}V{_n(layout.bottom + 3)}"/>'
        yield f'<text class="tick" x="{_n(x)}" y="{_n(layout.bottom + 16)}" text-anchor="middle">{text}</text>'


def _ticks(whole: float, most: int) -> list[float]:
    """Round numbers from 0 to a length, at steps of 1, 2 or 5 times a power of ten."""
    if not whole > 0:
        return [0.0]
    rough = whole / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    return [round(number * step, 12) for number in range(int(whole / step + 1e-9) + 1)]


def _few_bars(layout: _Layout, rows: Sequence[tuple[float, Sequence["Span"]]], most: int) -> list[str]:
    """The bars of rows, in which so many small ones are drawn together that they have at most so many letters."""
    bars: list[str] = []
    for smallest in _SMALLEST:
        bars = [bar for y, spans in rows for bar in _bars(layout, spans, y, smallest)]
        if sum(map(len, bars)) <= most:
            break
    return bars


def _bars(layout: _Layout, spans: Sequence["Span"], y: float, smallest: float) -> Iterator[str]:
    # Steps have a row of their own, above those of devices.
    steps = y == layout.steps
    for holds in (True, False):
        own = [span for span in spans if (span.category == "step") == holds and (steps or span.category != "run")]
        top, height = (y - _STRIP, _STRIP - 1) if holds else (y, _ROW)
        for group in _visible(layout, own, smallest):
            category = _most_of(group)
            left = layout.x(group[0].start_seconds)
            right = layout.x(max(span.end_seconds for span in group))
            # A small gap tells one span from the next, where there is room for it.
            gap = 0.75 if right - left > 3 else 0.0
            yield (
                f'<rect class="{category}" x="{_n(left)}" y="{_n(top)}" width="{_n(max(right - left - gap, 0.75))}" '
                f'height="{height}"><title>{_t(_about(layout, group))}</title></rect>'
            )


def _most_of(group: Sequence["Span"]) -> str:
    """The category that takes most of the time of a group."""
    lengths: dict[str, float] = {}
    for span in group:
        lengths[span.category] = lengths.get(span.category, 0.0) + span.end_seconds - span.start_seconds
    return max(lengths, key=lengths.__getitem__)


def _labels(layout: _Layout, spans: Sequence["Span"], y: float) -> Iterator[str]:
    steps = y == layout.steps
    inner = [span for span in spans if span.category not in _HOLDERS or steps]
    holds = {id(one) for one, after in itertools.pairwise(inner) if after.start_seconds < one.end_seconds}
    for span in spans:
        if id(span) in holds or (span.category == "run" and not steps):
            continue
        left, right = layout.x(span.start_seconds), layout.x(span.end_seconds)
        room = int((right - left - 5) / _SMALL_LETTER)
        line = dict(span.details).get("line", "")
        text = (
            f"{span.name}  {line}"
            if line and len(span.name) + len(str(line)) + 2 <= room
            else _fitting(span.name, room)
        )
        if text:
            down = -3 if span.category == "step" else 13
            yield (
                f'<text class="label label-{span.category}" x="{_n((left + right) / 2)}" y="{_n(y + down)}" '
                f'text-anchor="middle">{_t(text)}</text>'
            )


def _fitting(name: str, letters: int) -> str:
    """As much of a name as has room: all, the number at its end, its first words, its beginning, or nothing."""
    if len(name) <= letters:
        return name
    words = name.split(" ")
    if words[-1].isdigit():
        return words[-1] if len(words[-1]) <= letters else ""
    fewer = (" ".join(words[:count]).removesuffix(",") for count in range(len(words) - 1, 0, -1))
    found = next((text for text in fewer if len(text) <= letters), "")
    return found or (shortened(name, letters) if letters >= 5 else "")


def _shortened_list(name: str, letters: int) -> str:
    """So many letters of the name of a row, which still says that it stands for several tracks."""
    if not name.endswith(", the same"):
        return shortened(name, letters)
    items = name.split(", ")[:-1]
    fewer = (", ".join([*items[:count], "…, the same"]) for count in range(len(items) - 1, 0, -1))
    return next((text for text in fewer if len(text) <= letters), shortened(name, letters - 10) + ", the same")


def _visible(layout: _Layout, spans: Sequence["Span"], smallest: float) -> Iterator[list["Span"]]:
    """Spans one by one, but those together that follow each other and are too small to be told apart.

    Of different categories so many only that the group stays small.
    """
    group: list[Span] = []
    for span in spans:
        left, right = layout.x(span.start_seconds), layout.x(span.end_seconds)
        small = right - left < smallest
        if group and not (
            small
            and left - layout.x(group[-1].end_seconds) < smallest / 2
            and (span.category == group[0].category or right - layout.x(group[0].start_seconds) < 4 * smallest)
        ):
            yield group
            group = []
        group.append(span)
        if not small:
            yield group
            group = []
    if group:
        yield group


def _about(layout: _Layout, group: Sequence["Span"]) -> str:
    start, end = group[0].start_seconds - layout.start, max(span.end_seconds for span in group) - layout.start
    name = group[0].name if len(group) == 1 else f"{len(group):,} spans from {group[0].name} to {group[-1].name}"
    unit = layout.unit
    when = f"{unit.text(end - start)}, from {unit.text(start)} to {unit.text(end)}"
    if unit is ORDER:
        when = f"number {start + 1:,.0f}" if end - start == 1 else f"numbers {start + 1:,.0f} to {end:,.0f}"
    details = [
        f"{name}: {value:,}" if not isinstance(value, str) else f"{name}: {value}" for name, value in group[0].details
    ]
    return "\n".join([name, when, *(details if len(group) == 1 else [])])


def _arrows(layout: _Layout) -> Iterator[str]:
    arrows = between_rows(layout.trace.arrows, layout.every)
    if len(arrows) > _MOST_ARROWS:
        return
    edges = {row.tracks[0]: y for y, row in layout.rows}
    for arrow in arrows:
        if arrow.source_track in edges and arrow.target_track in edges:
            x, y = layout.x(arrow.start_seconds), edges[arrow.source_track] + _ROW / 2
            end, there = layout.x(arrow.end_seconds), edges[arrow.target_track] + _ROW / 2
            yield f'<path class="arrow" d="M{_n(x)} {_n(y)}L{_n(end)} {_n(there)}"/>'


def _name(row: Row) -> str:
    return row.name.replace("link ", "") if row.tracks[0].startswith("link ") else row.name


def _n(pixels: float) -> str:
    return f"{pixels:.2f}".rstrip("0").rstrip(".")


def _t(text: str) -> str:
    return html.escape(text)
