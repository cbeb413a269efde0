"""What was recorded during a block of code: kept as it comes, and made into a trace when somebody looks."""

import dataclasses
import pathlib
from collections.abc import Iterator, Sequence

from simulator.predictions.recording import joined
from simulator.recordings.traces import Details, Span, Trace

MOST_WITH_MESSAGES = 8  # devices of an exchange whose messages are recorded without being asked for


@dataclasses.dataclass(frozen=True, slots=True)
class Alike:
    """Spans on several tracks that differ in their times only; there may be thousands, so they are made when they are needed."""

    tracks: Sequence[str]
    starts: Sequence[float]
    ends: Sequence[float]
    name: str
    category: str
    details: Details = ()

    def spans(self) -> Iterator[Span]:
        """One on each track, but where it takes no time."""
        for track, start, end in zip(self.tracks, self.starts, self.ends, strict=True):
            if start < end:
                yield Span(track, self.name, start, end, self.category, self.details)


class Recording:
    """What devices did during a block of code. Notebooks show it as a picture."""

    def __init__(self, messages: bool | None = None, *, timed: bool = True) -> None:
        self.parts: list[Alike | Trace] = []
        self._messages, self._timed = messages, timed

    def __repr__(self) -> str:
        return f"<Recording of {self.trace()!r}>"

    def with_messages(self, devices: int) -> bool:
        """Whether an exchange between so many devices is recorded message by message."""
        return devices <= MOST_WITH_MESSAGES if self._messages is None else self._messages

    def trace(self) -> Trace:
        """All of it so far."""
        traces = [part for part in self.parts if isinstance(part, Trace)]
        alike = (span for part in self.parts if isinstance(part, Alike) for span in part.spans())
        spans = [*alike, *(span for trace in traces for span in trace.spans)]
        return joined(spans, [arrow for trace in traces for arrow in trace.arrows], timed=self._timed)

    def save(self, path: str | pathlib.Path, *, fold: bool = True) -> None:
        """Write it to a file: .json or .json.gz for Perfetto, .svg for a picture.

        Args:
            fold: let one row stand for all tracks that are the same.
        """
        self.trace().save(path, fold=fold)

    def _repr_svg_(self) -> str:
        return self.trace().to_svg()

    def _repr_html_(self) -> str:
        return self.trace().to_html()
