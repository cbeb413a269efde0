"""Tracks on which the same happens at the same times: one row stands for all of them."""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from simulator.recordings.traces import Arrow, Span

_NOISE = 1e-9  # by so much, as a share of them, times may differ that count as equal
_NUMBER = re.compile(r"\d+")


@dataclasses.dataclass(frozen=True)
class Row:
    """One track, or several that are the same but for the devices that their details name."""

    name: str
    tracks: tuple[str, ...]
    spans: tuple["Span", ...]  # of the first track
    named: Mapping[tuple[int, int], tuple[str, ...]]  # of a detail of a span that differs, what each track has

    @property
    def first(self) -> str:
        """The track whose spans these are."""
        return self.tracks[0]

    def shown(self) -> list["Span"]:
        """The spans for the eye: a detail in which the tracks differ lists what they have."""
        return self._with({place: _listed(names, {}) for place, names in self.named.items()})

    def unfolded(self) -> Iterator["Span"]:
        """The spans of every track."""
        for at, track in enumerate(self.tracks):
            own = self._with({place: names[at] for place, names in self.named.items()})
            yield from (dataclasses.replace(span, track=track) for span in own)

    def _with(self, values: Mapping[tuple[int, int], str]) -> list["Span"]:
        found = list(self.spans)
        for (at, detail), value in values.items():
            details = list(found[at].details)
            details[detail] = (details[detail][0], value)
            found[at] = dataclasses.replace(found[at], details=tuple(details))
        return found


def rows_of(tracks: Mapping[str, Sequence["Span"]], *, fold: bool = True) -> list[Row]:
    """The tracks as rows, in the order of the first track of each; only those are folded that are equal.

    >>> from simulator.recordings.traces import Span
    >>> tracks = [f"GPU:{number}" for number in range(8)]
    >>> work = {track: [Span(track, "matmul", 0.0, 2.0 if track == "GPU:5" else 1.0, "compute")] for track in tracks}
    >>> [row.name for row in rows_of(work)]
    ['GPU:0 ... GPU:4, GPU:6, GPU:7, the same', 'GPU:5']
    """
    if not fold:
        return [Row(track, (track,), tuple(spans), {}) for track, spans in tracks.items()]
    alike: dict[Any, list[str]] = {}
    for track, spans in tracks.items():
        alike.setdefault(_kind(track, spans, tracks), []).append(track)
    places = {track: at for at, track in enumerate(tracks)}
    groups = [group for same in alike.values() for group in _at_the_same_times(same, tracks)]
    highest = _highest(tracks)
    return [_row(group, tracks, highest) for group in sorted(groups, key=lambda group: places[group[0]])]


def between_rows(arrows: Sequence["Arrow"], rows: Sequence[Row]) -> list["Arrow"]:
    """Arrows from row to row: of those that only differ in the tracks of a row one, and none inside of a row of several tracks."""
    row_of = {track: row for row in rows for track in row.tracks}
    found: dict[Any, Arrow] = {}
    for at, arrow in enumerate(arrows):
        source, target = row_of[arrow.source_track], row_of[arrow.target_track]
        folded = len(source.tracks) > 1 or len(target.tracks) > 1
        if folded and source is target:
            continue
        ends = source.first, target.first
        key = (*ends, arrow.name, arrow.start_seconds, arrow.end_seconds) if folded else at
        if key not in found:
            found[key] = dataclasses.replace(arrow, source_track=ends[0], target_track=ends[1])
    return list(found.values())


def _kind(track: str, spans: Sequence["Span"], tracks: Mapping[str, Any]) -> Any:
    """What tracks have in common that are the same but for their times, and for the tracks that their details name."""
    return track.startswith("link "), tuple(
        (span.name, span.category, tuple((name, None if value in tracks else value) for name, value in span.details))
        for span in spans
    )


def _at_the_same_times(alike: Sequence[str], tracks: Mapping[str, Sequence["Span"]]) -> Iterator[list[str]]:
    """Groups of tracks whose times are equal up to noise, each in the given order."""
    if len(alike) == 1:
        yield [alike[0]]
        return
    times = np.array([[(span.start_seconds, span.end_seconds) for span in tracks[track]] for track in alike])
    times = times.reshape(len(alike), -1)
    # Equal times have nearly equal sums, so that each track is compared with few others.
    sums, sizes = times.sum(axis=1), np.abs(times).sum(axis=1)
    recent: list[tuple[int, list[int]]] = []
    groups: list[list[int]] = []
    for at in np.argsort(sums, kind="stable").tolist():
        recent = [one for one in recent if sums[at] - sums[one[0]] <= 2 * _NOISE * sizes[at]]
        near = (own for first, own in recent if np.allclose(times[first], times[at], rtol=_NOISE, atol=0.0))
        group = next(near, None)
        if group is None:
            group = []
            groups.append(group)
            recent.append((at, group))
        group.append(at)
    for group in groups:
        yield [alike[at] for at in sorted(group)]


def _row(group: Sequence[str], tracks: Mapping[str, Sequence["Span"]], highest: Mapping[str, Sequence[int]]) -> Row:
    if len(group) == 1:
        return Row(group[0], (group[0],), tuple(tracks[group[0]]), {})
    ordered = sorted(group, key=_numbers)
    named: dict[tuple[int, int], tuple[str, ...]] = {}
    for at, span in enumerate(tracks[ordered[0]]):
        for detail, (_, value) in enumerate(span.details):
            if value in tracks:
                values = tuple(str(tracks[track][at].details[detail][1]) for track in ordered)
                if len(set(values)) > 1:
                    named[at, detail] = values
    return Row(f"{_listed(ordered, highest)}, the same", tuple(ordered), tuple(tracks[ordered[0]]), named)


def _numbers(track: str) -> tuple[str, tuple[int, ...]]:
    """A name without its numbers, and these."""
    return _NUMBER.sub("#", track), tuple(map(int, _NUMBER.findall(track)))


def _highest(tracks: Mapping[str, Any]) -> dict[str, list[int]]:
    """Of the tracks whose names differ in numbers only, the highest number in each place."""
    found: dict[str, list[int]] = {}
    for shape, numbers in map(_numbers, tracks):
        found[shape] = [max(pair) for pair in zip(found.get(shape, numbers), numbers, strict=True)]
    return found


def _listed(names: Sequence[str], highest: Mapping[str, Sequence[int]]) -> str:
    """Names in a list, in which three or more that follow each other are a range."""
    runs: list[list[str]] = []
    for name in names:
        if runs and _follows(runs[-1][-1], name, highest):
            runs[-1].append(name)
        else:
            runs.append([name])
    return ", ".join(f"{run[0]} ... {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def _follows(one: str, other: str, highest: Mapping[str, Sequence[int]]) -> bool:
    """Say whether a name is the next after another: one number is the next, and those behind it begin again."""
    (shape, before), (same, after) = _numbers(one), _numbers(other)
    if shape != same or before == after:
        return False
    at = next(place for place, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1])
    begin_again = not any(after[at + 1 :]) and list(before[at + 1 :]) == list(highest.get(shape, after)[at + 1 :])
    return after[at] == before[at] + 1 and begin_again
