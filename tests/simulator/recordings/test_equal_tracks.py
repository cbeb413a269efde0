"""Tracks that are the same become one row, from which all of them can be made again; those that differ stay apart."""

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

from simulator import Arrow, Span, Trace
from simulator.recordings.equal_tracks import between_rows

# Several tracks share a pattern: when spans begin, how long they take, and what they are.
PATTERNS = generators.lists(
    generators.tuples(
        generators.integers(0, 3), generators.sampled_from([1.0, 0.3, 7.0]), generators.sampled_from("ab")
    ),
    min_size=1,
    max_size=4,
)


@generators.composite
def traces(draw):
    patterns = draw(generators.lists(PATTERNS, min_size=1, max_size=3))
    devices = draw(generators.integers(1, 9))
    spans = []
    for number in range(devices):
        now = 0.0
        for gap, length, name in draw(generators.sampled_from(patterns)):
            details = (("for", f"GPU:{(number + 1) % devices}"), ("bytes", 8))
            spans.append(Span(f"GPU:{number}", name, now + gap, now + gap + length, "compute", details))
            now += gap + length
    return Trace(tuple(draw(generators.permutations(spans))))


@given(trace=traces())
@settings(deadline=None, max_examples=60)
def test_folding_loses_nothing(trace):
    unfolded = {}
    for row in trace.rows():
        for span in row.unfolded():
            unfolded.setdefault(span.track, []).append(span)

    assert trace.by_track() == unfolded


@given(trace=traces())
@settings(deadline=None, max_examples=60)
def test_no_two_rows_are_the_same(trace):
    def times(row):
        return [(span.name, span.start_seconds, span.end_seconds) for span in row.spans]

    rows = trace.rows()

    assert all(times(one) != times(other) for at, one in enumerate(rows) for other in rows[:at])
    assert trace.rows(fold=False) == [row for row in trace.rows(fold=False) if len(row.tracks) == 1]


def tracks_of(names, seconds=lambda name: 1.0):
    return Trace(tuple(Span(name, "work", 0.0, seconds(name), "compute") for name in names))


@pytest.mark.parametrize(
    ("names", "row"),
    [
        (["GPU:0"], "GPU:0"),
        (["GPU:0", "GPU:1"], "GPU:0, GPU:1, the same"),
        ([f"GPU:{number}" for number in range(64)], "GPU:0 ... GPU:63, the same"),
        (["GPU:10", "GPU:9", "GPU:8"], "GPU:8 ... GPU:10, the same"),
        (["GPU:0", "GPU:2", "GPU:4"], "GPU:0, GPU:2, GPU:4, the same"),
        (["left", "right"], "left, right, the same"),
        ([f"link up {number}" for number in range(5)], "link up 0 ... link up 4, the same"),
        (
            [f"worker {task} TPU:{number}" for task in range(3) for number in range(4)],
            "worker 0 TPU:0 ... worker 2 TPU:3, the same",
        ),
        (
            ["worker 0 TPU:0", "worker 0 TPU:1", "worker 1 TPU:1"],
            "worker 0 TPU:0, worker 0 TPU:1, worker 1 TPU:1, the same",
        ),
    ],
)
def test_rows_are_named_by_ranges_and_lists(names, row):
    assert [row] == [one.name for one in tracks_of(names).rows()]


def test_devices_and_links_never_share_a_row():
    assert ["GPU:0", "link up 0"] == [row.name for row in tracks_of(["GPU:0", "link up 0"]).rows()]


@pytest.mark.parametrize(("slower", "rows"), [(1 + 1e-12, 1), (1 + 1e-6, 2), (2.0, 2)])
def test_a_slow_device_is_not_folded_but_noise_is(slower, rows):
    trace = tracks_of([f"GPU:{number}" for number in range(64)], lambda name: slower if name == "GPU:5" else 1.0)

    assert rows == len(trace.rows())
    assert [("GPU:5",)] * (rows - 1) == [row.tracks for row in trace.rows()[1:]]


@pytest.mark.parametrize("change", [{"name": "other"}, {"category": "wait"}, {"details": (("bytes", 9),)}])
def test_tracks_that_differ_in_anything_else_stay_apart(change):
    one = Span("GPU:0", "work", 0.0, 1.0, "compute", (("bytes", 8),))

    assert 2 == len(Trace((one, dataclasses.replace(one, track="GPU:1", **change))).rows())


def test_details_in_which_tracks_differ_list_what_they_have():
    spans = [Span(f"GPU:{at}", "wait", 0.0, 1.0, "wait", (("for", f"GPU:{(at + 3) % 4}"),)) for at in range(4)]
    (row,) = Trace(tuple(spans)).rows()

    assert [(("for", "GPU:3, GPU:0 ... GPU:2"),)] == [span.details for span in row.shown()]
    assert "GPU:3, GPU:0 ... GPU:2" in Trace(tuple(spans)).to_json()


def test_arrows_go_from_row_to_row():
    spans = tuple(Span(f"GPU:{at}", "a" if at < 2 else "b", 0.0, 1.0, "compute") for at in range(4))
    ends = [("GPU:0", "GPU:1"), ("GPU:0", "GPU:2"), ("GPU:1", "GPU:3")]
    trace = Trace(spans, tuple(Arrow("m", source, target, 0.0, 1.0, 8) for source, target in ends))

    assert [Arrow("m", "GPU:0", "GPU:2", 0.0, 1.0, 8)] == between_rows(trace.arrows, trace.rows())
    assert list(trace.arrows) == between_rows(trace.arrows, trace.rows(fold=False))


def test_files_for_perfetto_have_one_thread_for_tracks_that_are_the_same():
    trace = tracks_of([f"GPU:{number}" for number in range(64)])
    for fold, expected in ((True, ["GPU:0 ... GPU:63, the same"]), (False, list(trace.devices))):
        events = json.loads(trace.to_json(fold=fold))["traceEvents"]
        assert expected == [event["args"]["name"] for event in events if event["name"] == "thread_name"]
        assert len(expected) == sum(event["ph"] == "X" for event in events)
