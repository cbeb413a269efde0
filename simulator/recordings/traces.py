"""What happened when: spans on the tracks of devices and links, and arrows between devices for messages."""

import bisect
import dataclasses
import gzip
import math
import pathlib
from collections.abc import Sequence

from simulator.recordings import chrome_trace, timeline
from simulator.recordings.equal_tracks import Row, rows_of

CATEGORIES = ("run", "step", "compute", "collective", "wait")

Details = tuple[tuple[str, str | int | float], ...]
_SUFFIXES = (".json", ".json.gz", ".svg")


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """Something that takes time on a track.

    A track whose name begins with "link " is that of a link; all others are those of devices. Spans of one track follow
    each other or lie inside each other. Of the categories, "run" is a step of a strategy and "step" is one collective of it:
    both hold other spans. "compute" and "collective" are work, and "wait" is idle time.
    """

    track: str
    name: str
    start_seconds: float
    end_seconds: float
    category: str
    details: Details = ()


@dataclasses.dataclass(frozen=True, slots=True)
class Arrow:
    """A message: when its sender let go of it, and when its receiver had it."""

    name: str
    source_track: str
    target_track: str
    start_seconds: float
    end_seconds: float
    bytes: float


@dataclasses.dataclass(frozen=True)
class Trace:
    """Spans and arrows. Those that do not nest are refused, since viewers drop them without a word.

    >>> step = Span("GPU 0", "step 1", 0.0, 3e-6, "step")
    >>> work, wait = Span("GPU 0", "matmul", 0.0, 2e-6, "compute"), Span("GPU 0", "wait", 2e-6, 3e-6, "wait")
    >>> print(Trace((step, work, wait)).summary())
    track                                      busy         waiting     of 3.000 us
    GPU 0                                  2.000 us        1.000 us     66.7 % busy
    """

    spans: tuple[Span, ...]
    arrows: tuple[Arrow, ...] = ()
    timed: bool = True  # otherwise there is an order of events only, in which a second stands for an event

    def __post_init__(self) -> None:
        for span in self.spans:
            _require_span(span)
        outer = {track: _outer(spans) for track, spans in self.by_track().items()}
        for arrow in self.arrows:
            _require_arrow(arrow, outer)

    def __repr__(self) -> str:
        return f"<Trace of {len(self.spans)} spans and {len(self.arrows)} arrows on {len(self.by_track())} tracks>"

    @property
    def start_seconds(self) -> float:
        """When the first span begins."""
        return min((span.start_seconds for span in self.spans), default=0.0)

    @property
    def end_seconds(self) -> float:
        """When the last span ends."""
        return max((span.end_seconds for span in self.spans), default=0.0)

    @property
    def devices(self) -> tuple[str, ...]:
        """The tracks of devices, in the order in which their first spans are given."""
        return tuple(track for track in self._tracks() if not _is_link(track))

    @property
    def links(self) -> tuple[str, ...]:
        """The tracks of links, in the order in which their first spans are given."""
        return tuple(track for track in self._tracks() if _is_link(track))

    def by_track(self) -> dict[str, list[Span]]:
        """The spans of each track in the order of time, the outer before the inner; devices first, then links."""
        found: dict[str, list[Span]] = {track: [] for track in (*self.devices, *self.links)}
        for span in self.spans:
            found[span.track].append(span)
        for spans in found.values():
            spans.sort(key=lambda span: (span.start_seconds, -span.end_seconds, CATEGORIES.index(span.category)))
        return found

    def rows(self, *, fold: bool = True) -> list[Row]:
        """The tracks, of which those that are the same are one row, such as "GPU:1 ... GPU:63, the same".

        They are the same where names, categories and times of all spans are, up to a relative 1e-9, and their details too, but for
        the tracks that these name.
        """
        return rows_of(self.by_track(), fold=fold)

    def to_json(self, *, fold: bool = True) -> str:
        """The trace in Chrome's trace event format, which https://ui.perfetto.dev opens.

        Args:
            fold: let one row stand for all tracks that are the same; messages between these are left out.
        """
        return chrome_trace.rendered(self, fold=fold)

    def to_svg(self, width: int = 960, *, fold: bool = True) -> str:
        """A timeline that needs nothing else, of at most 32 rows.

        Args:
            fold: let one row stand for all tracks that are the same.
        """
        return timeline.rendered(self, width, fold=fold)

    def to_html(self) -> str:
        """The same as part of a page, where, unlike in an image, a span tells about itself when it is pointed at."""
        return f'<div style="overflow-x:auto">{self.to_svg()}</div>'

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _repr_html_(self) -> str:
        return self.to_html()

    def save(self, path: str | pathlib.Path, *, fold: bool = True) -> None:
        """Write a file of the kind that its suffix says: .json, .json.gz or .svg.

        Args:
            fold: let one row stand for all tracks that are the same.
        """
        name = pathlib.Path(path).name.lower()
        if not name.endswith(_SUFFIXES):
            raise ValueError(
                f"save() got {str(path)!r}; expected a name that ends with .json, .json.gz or .svg. "
                f"Use .json or .json.gz for Perfetto, .svg for a picture."
            )
        text = (self.to_svg(fold=fold) if name.endswith(".svg") else self.to_json(fold=fold)).encode()
        # Without the time of writing, equal traces are equal files.
        pathlib.Path(path).write_bytes(gzip.compress(text, mtime=0) if name.endswith(".gz") else text)

    def summary(self) -> str:
        """How long each track worked and waited, as text of at most 80 columns."""
        whole = self.end_seconds - self.start_seconds
        unit = timeline.Unit.of(whole) if self.timed else timeline.ORDER
        lines = [f"{'track':<31}{'busy':>16}{'waiting':>16}{'of ' + unit.text(whole):>16}"]
        for track, spans in self.by_track().items():
            own = _own_seconds(spans)
            busy = sum(own[at] for at, span in enumerate(spans) if span.category in ("compute", "collective"))
            waiting = sum(own[at] for at, span in enumerate(spans) if span.category == "wait")
            share = 100 * busy / whole if whole else 0.0
            cells = f"{unit.text(busy):>16}{unit.text(waiting):>16}{f'{share:.1f} % busy':>16}"
            lines.append(f"{timeline.shortened(track, 31):<31}{cells}")
        return "\n".join(lines)

    def _tracks(self) -> dict[str, None]:
        return dict.fromkeys(span.track for span in self.spans)


def _is_link(track: str) -> bool:
    return track.startswith("link ")


def _own_seconds(spans: Sequence[Span]) -> list[float]:
    """How long each span of a track is the innermost one."""
    own = [span.end_seconds - span.start_seconds for span in spans]
    around: list[int] = []
    for at, span in enumerate(spans):
        while around and spans[around[-1]].end_seconds <= span.start_seconds:
            around.pop()
        if around:
            own[around[-1]] -= span.end_seconds - span.start_seconds
        around.append(at)
    return [max(seconds, 0.0) for seconds in own]


def _outer(spans: Sequence[Span]) -> tuple[list[float], list[float]]:
    """When the spans of a track that are in no other begin and end."""
    starts: list[float] = []
    ends: list[float] = []
    around: list[Span] = []
    for span in spans:
        while around and around[-1].end_seconds <= span.start_seconds:
            around.pop()
        if around and span.end_seconds > around[-1].end_seconds:
            raise ValueError(
                f"On the track {span.track!r}, {span.name!r} from {span.start_seconds!r} s to {span.end_seconds!r} s begins inside "
                f"{around[-1].name!r} and ends after it, at {around[-1].end_seconds!r} s; expected spans that lie inside each "
                f"other or apart. Cut one in two, or put it on a track of its own."
            )
        if not around:
            starts.append(span.start_seconds)
            ends.append(span.end_seconds)
        around.append(span)
    return starts, ends


def _require_span(span: Span) -> None:
    if span.category not in CATEGORIES:
        raise ValueError(
            f"The category of {span.name!r} is {span.category!r}; expected one of {', '.join(CATEGORIES)}. Use one of these."
        )
    if not -math.inf < span.start_seconds <= span.end_seconds < math.inf:
        raise ValueError(
            f"{span.name!r} on {span.track!r} goes from {span.start_seconds!r} s to {span.end_seconds!r} s; expected two finite "
            f"times, the first not after the second. Look at the clock that gave them."
        )


def _require_arrow(arrow: Arrow, outer: dict[str, tuple[list[float], list[float]]]) -> None:
    if not arrow.start_seconds <= arrow.end_seconds:
        raise ValueError(
            f"The arrow {arrow.name!r} goes from {arrow.start_seconds!r} s to {arrow.end_seconds!r} s; expected a message that "
            f"arrives after it was sent. Exchange the two."
        )
    for track, seconds in ((arrow.source_track, arrow.start_seconds), (arrow.target_track, arrow.end_seconds)):
        starts, ends = outer.get(track, ([], []))
        at = bisect.bisect_right(starts, seconds) - 1
        if at < 0 or ends[at] < seconds:
            raise ValueError(
                f"The arrow {arrow.name!r} touches {track!r} at {seconds!r} s, where it has no span; expected both ends inside "
                f"spans, which hold them in a viewer. Add a span there, or correct the time."
            )
