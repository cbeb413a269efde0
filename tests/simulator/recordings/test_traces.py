"""Traces nest, say when what happened, and are the same whenever they are written."""

import contextlib
import gzip
import json
import pathlib
import re
import xml.etree.ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

from simulator import Arrow, Cluster, Span, Trace, predict_all_reduce, presets, trace_all_reduce
from simulator.algorithms.schedules import ALGORITHMS, ring
from simulator.predictions.recording import record
from simulator.recordings.timeline import Unit
from tests.children import run_python

ROOT = pathlib.Path(__file__).parents[3]
RING = trace_all_reduce(presets.ethernet(2, 4, 100), 2**20, "ring")


def events(trace, *phases):
    return [event for event in json.loads(trace.to_json(fold=False))["traceEvents"] if event["ph"] in phases]


def nanoseconds(event):
    start = round(event["ts"] * 1000)
    return start, start + round(event.get("dur", 0) * 1000)


def texts(trace, *, fold=False):
    root = xml.etree.ElementTree.fromstring(trace.to_svg(fold=fold))
    assert "max-width:100%;height:auto" == root.get("style")  # on a page that is narrower
    return [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_events_have_the_documented_keys():
    found = events(RING, "X", "M", "s", "f")

    assert len(found) == len(events(RING, *"XMsfBEbeniCtI"))
    for event in found:
        assert {"name", "ph", "pid", "tid"} <= event.keys()
    for event in events(RING, "X"):
        assert {"ts", "dur", "cat", "args"} <= event.keys()
        assert event["dur"] >= 0
    for event in events(RING, "s", "f"):
        assert {"ts", "id", "cat"} <= event.keys()
        assert ("e" if event["ph"] == "f" else None) == event.get("bp")


def test_devices_and_links_are_two_processes_with_named_threads():
    named = {(e["name"], e["pid"], e["tid"]): e["args"] for e in events(RING, "M")}
    processes = {pid: args["name"] for (name, pid, _), args in named.items() if name == "process_name"}
    threads = {tid: args["name"] for (name, _, tid), args in named.items() if name == "thread_name"}

    assert {1: "devices", 2: "links"} == processes
    assert [*RING.devices, *RING.links] == [threads[tid] for tid in sorted(threads)]
    assert not threads.keys() & {0, 1, 2}
    assert all(threads[e["tid"]].startswith("link ") == (e["pid"] == 2) for e in events(RING, "X"))


def test_events_are_sorted_by_time():
    times = [event["ts"] for event in events(RING, "X", "s", "f")]

    assert times == sorted(times)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("payload_bytes", [0, 1, 4096, 10**7])
def test_spans_nest_also_as_whole_nanoseconds(algorithm, payload_bytes):
    trace = trace_all_reduce(presets.dgx_b200(hosts=2), payload_bytes, algorithm)
    open_spans = {}
    for event in events(trace, "X"):
        start, end = nanoseconds(event)
        around = open_spans.setdefault(event["tid"], [])
        while around and around[-1] <= start:
            around.pop()
        assert not around or end <= around[-1]
        around.append(end)


def test_arrows_begin_and_end_at_the_spans_of_their_round():
    # A viewer takes the span that was opened last on the thread, in the order of the file.
    latest, sent, names = {}, {}, {}
    for event in events(RING, "X", "s", "f"):
        if event["ph"] == "X":
            latest[event["tid"]] = event
            continue
        names.setdefault(event["id"], set()).add(event["name"])
        around = latest[event["tid"]]
        start, end = nanoseconds(around)
        assert start <= nanoseconds(event)[0] <= end
        assert around["name"] == event["name"]
        sent.setdefault(event["id"], []).append(event["ph"])

    assert {("s", "f")} == set(map(tuple, sent.values()))
    assert len(RING.arrows) == len(sent)


def test_an_arrow_begins_before_it_ends_even_where_it_takes_no_nanosecond():
    trace = trace_all_reduce(Cluster.star(3, 12.5e9, 0.0), 1, "ring")
    found = {}
    for event in events(trace, "s", "f"):
        found.setdefault(event["id"], []).append(event["ph"])

    assert {("s", "f")} == set(map(tuple, found.values()))


def test_a_switch_that_adds_keeps_devices_and_links_busy_at_once():
    cluster = Cluster.star(3, 1e9, 1e-6)
    trace = trace_all_reduce(cluster, 1000, "in_switch")

    assert predict_all_reduce(cluster, 1000, "in_switch").seconds == trace.end_seconds
    assert (3, 6) == (len(trace.devices), len(trace.links))
    assert {1e-6} == {round(s.end_seconds - s.start_seconds, 12) for s in trace.spans if s.track.startswith("link")}
    assert () == trace_all_reduce(Cluster.star(1, 1e9, 1e-6), 1000, "in_switch").spans


def test_times_keep_their_digits():
    trace = trace_all_reduce(Cluster.star(2, 900e9, 3e-9), 64, "ring")
    spans = events(trace, "X")

    assert any(event["dur"] % 1 for event in spans)
    assert {span.end_seconds - span.start_seconds for span in trace.spans} == {e["args"]["seconds"] for e in spans}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_traces_take_as_long_as_predicted(algorithm):
    cluster = presets.ethernet(3, 2, 25)
    predicted = predict_all_reduce(cluster, 1e5, algorithm, envelope_bytes=16)
    trace = trace_all_reduce(cluster, 1e5, algorithm, envelope_bytes=16)

    assert predicted.seconds == pytest.approx(trace.end_seconds, rel=1e-12)
    assert predicted.transfers == len(trace.arrows)
    carried = dict.fromkeys(trace.links, 0.0)
    for span in trace.spans:
        if span.track in carried:
            carried[span.track] += dict(span.details)["bytes"]
    for number, size in enumerate(predicted.link_bytes):
        assert size == pytest.approx(carried.get(f"link {cluster.link_name(number)}", 0.0))


def test_links_are_never_used_beyond_their_bandwidth():
    for algorithm in ALGORITHMS:
        trace = trace_all_reduce(presets.dgx_h100(hosts=2), 1e6, algorithm)
        shares = [dict(span.details)["share of bandwidth"] for span in trace.spans if span.track in trace.links]

        assert max(shares) <= 1.0
        assert min(shares) > 0.0


def test_who_waits_says_for_whom():
    waits = [dict(span.details) for span in RING.spans if span.category == "wait" and span.track == "device 1"]

    # Inside a host, a device waits for the neighbour that has the network between it and the next.
    assert {"device 0"} == {details["for"] for details in waits}


def test_the_fastest_algorithm_is_found_and_one_device_does_nothing():
    assert trace_all_reduce(presets.dgx_h100(), 8, "auto").spans
    assert Trace(()) == trace_all_reduce(presets.pcie_box(1), 8, "ring")
    with pytest.raises(ValueError, match="'rings'; expected"):
        trace_all_reduce(presets.dgx_h100(), 8, "rings")


def test_devices_are_called_by_their_names_or_kinds():
    links = [("left", "switch", 1e9, 1e-6), ("right", "switch", 1e9, 1e-6)]

    assert ("left", "right") == trace_all_reduce(Cluster.of_links(["left", "right"], links), 8, "ring").devices
    assert "H100 0" == trace_all_reduce(presets.dgx_h100(), 8, "ring").devices[0]


def test_some_devices_that_begin_at_different_times():
    names = [f"GPU:{number}" for number in range(8)]
    begin = np.array([1e-6, 0.0, 5e-6])
    trace = record(presets.dgx_h100(), ring(3), 1e6, devices=np.array([1, 4, 6]), begin=begin, names=names)

    assert ("GPU:1", "GPU:4", "GPU:6") == trace.devices
    first = {track: spans[0].start_seconds for track, spans in trace.by_track().items()}
    assert list(begin) == [first[track] for track in trace.devices]
    assert all(arrow.start_seconds >= 1e-6 for arrow in trace.arrows)


SCRIPT = """
from simulator import *
trace = trace_all_reduce(presets.ethernet(2, 3, 100), 12345, "double_tree")
print(trace.to_json(), trace.to_svg(), trace.summary())
"""


def test_the_same_input_gives_the_same_bytes_in_any_process():
    outputs = {run_python(SCRIPT, PYTHONHASHSEED=seed).stdout for seed in ("1", "2")}

    assert 1 == len(outputs)
    assert len(outputs.pop()) > 10_000


def test_files_are_of_the_kind_that_their_names_say(tmp_path):
    for name in ("a.json", "a.json.gz", "a.svg", "B.SVG"):
        RING.save(tmp_path / name)
    RING.save(str(tmp_path / "again.json.gz"))

    assert RING.to_json() == (tmp_path / "a.json").read_text()
    assert RING.to_json() == gzip.decompress((tmp_path / "a.json.gz").read_bytes()).decode()
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "again.json.gz").read_bytes()
    assert RING.to_svg() == (tmp_path / "a.svg").read_text() == (tmp_path / "B.SVG").read_text()
    with pytest.raises(ValueError, match=r"got '.*a\.png'; expected .*\.svg\. Use"):
        RING.save(tmp_path / "a.png")


def test_the_picture_has_a_row_for_each_track_up_to_32():
    assert {*RING.devices} <= {*texts(RING)}
    assert not any("more" in text for text in texts(RING))

    many = texts(trace_all_reduce(presets.dgx_h100(hosts=4), 8, "ring"))
    assert "H100 31" in many
    assert "up 0" not in many
    assert "and 72 more" in many


def test_the_picture_has_one_row_for_tracks_that_are_the_same():
    found = texts(RING, fold=True)

    assert {"device 1, device 5, the same", "device 2, device 6, the same"} <= {*found}
    assert "down 0, down 4, up 3, up 7, the same" in found
    assert not {*RING.devices} & {*found}


def test_the_picture_can_be_read_whatever_the_names_are():
    odd = '<a> & "b"'
    spans = (Span(odd, odd, 0.0, 1.0, "compute", ((odd, odd),)), Span(odd * 9, "none", 0.5, 0.5, "wait"))

    assert odd in texts(Trace(spans))
    assert Trace(spans).to_svg() == Trace(spans)._repr_svg_()
    assert Trace(spans).to_svg() in Trace(spans)._repr_html_()
    assert xml.etree.ElementTree.fromstring(Trace(()).to_svg()) is not None
    assert xml.etree.ElementTree.fromstring(Trace((Span("a", "b", 1.0, 1.0, "step"),)).to_svg()) is not None


def test_many_small_spans_are_drawn_together():
    count = 20_000
    spans = tuple(Span("GPU 0", f"op {at}", at * 1e-6, (at + 1) * 1e-6, "compute") for at in range(count))
    picture = Trace(spans).to_svg()

    assert len(picture) < 5_000
    assert "20,000 spans from op 0 to op 19999" in picture


def test_pictures_stay_small_whatever_is_in_them():
    kinds = ("compute", "wait", "collective")
    spans = tuple(
        Span(
            f"GPU {track}",
            "a name of some letters",
            at + track / 100,
            at + 1,
            kinds[at % 3],
            (("line", "a_long_name.py:123"),),
        )
        for track in range(40)
        for at in range(600)
    )

    assert len(Trace(spans).to_svg()) < 500_000


@pytest.mark.parametrize(
    ("width", "name"), [(960, "GPU 0, GPU 2, GPU 4, GPU 6, …, the same"), (390, "GPU 0, …, the same")]
)
def test_long_names_of_rows_are_cut_between_tracks(width, name):
    spans = [Span(f"GPU {track}", "work", 0.0, 1.0 + track % 2, "compute") for track in range(16)]

    assert f">{name}<title>GPU 0, GPU 2, " in Trace(tuple(spans)).to_svg(width=width)


def test_steps_that_overlap_are_drawn_up_to_the_next_one():
    spans = [Span("GPU 0", "step 1", 0.0, 1.0, "run"), Span("GPU 1", "step 1", 0.0, 2.0, "run")]
    picture = Trace((*spans, Span("GPU 0", "step 2", 1.0, 3.0, "run"))).to_svg()

    assert "step 1\n1.000 s, from 0.000 s to 1.000 s\nuntil: 2.000 s on the last device" in picture
    assert {"step 1", "step 2"} <= {*texts(Trace((*spans, Span("GPU 0", "step 2", 1.0, 3.0, "run"))))}


@pytest.mark.parametrize(
    ("letters", "expected"),
    [(30, "all_reduce SUM 4.20 MB, ring"), (25, "all_reduce SUM 4.20 MB"), (11, "all_reduce"), (6, "all_r…"), (4, "")],
)
def test_labels_say_as_much_as_has_room(letters, expected):
    width = letters * 6.1 + 6
    whole = (960 - 26 - (12 + 7 * 6.6 + 10)) / width
    found = texts(
        Trace((Span("GPU 0", "all_reduce SUM 4.20 MB, ring", 0.0, 1.0, "collective"), span(0.0, whole, track="GPU 1")))
    )

    assert expected in [*found, ""]
    assert sum(text.startswith("all_") for text in found) == bool(expected)


def test_the_width_of_a_picture_is_checked():
    assert 'width="640"' in RING.to_svg(width=640)
    for width in (100, 640.0, True):
        with pytest.raises(ValueError, match=r"to_svg\(\) got width=.*; expected an int of at least 320\. Give"):
            RING.to_svg(width=width)


@pytest.mark.parametrize(
    ("seconds", "unit"), [(0, "ns"), (9.99e-7, "ns"), (1e-6, "us"), (0.02, "ms"), (1.0, "s"), (5000, "s")]
)
def test_units_are_chosen_well(seconds, unit):
    assert unit == Unit.of(seconds).name


@given(whole=generators.floats(1e-12, 1e6))
@settings(max_examples=50)
def test_axes_have_a_few_round_numbers(whole):
    picture = Trace((Span("a", "b", 0.0, whole, "compute"),)).to_svg()
    ticks = re.findall(r'<text class="tick" [^>]*>([^<]*)</text>', picture)

    assert 3 <= len(ticks) <= 14
    assert len(ticks) == len(set(ticks))


def test_a_summary_says_how_long_each_track_worked_and_waited():
    lines = RING.summary().splitlines()

    assert 1 + len(RING.devices) + len(RING.links) == len(lines)
    assert max(map(len, lines)) <= 80
    assert lines[0].split()[-3:] == ["of", "333.725", "us"]
    assert all(line.endswith("% busy") for line in lines[1:])
    busy, waiting = (float(lines[2].split()[at]) for at in (2, 4))
    last = next(span.end_seconds for span in RING.spans if span.track == "device 1")
    assert last * 1e6 == pytest.approx(busy + waiting, abs=0.002)
    assert len(Trace((Span("a" * 90, "b", 0.0, 1.0, "compute"),)).summary().splitlines()[1]) <= 80
    assert "0.0 % busy" in Trace((Span("a", "b", 1.0, 1.0, "compute"),)).summary()


def span(start, end, category="compute", track="GPU 0", name="work"):
    return Span(track, name, start, end, category)


@pytest.mark.parametrize(
    ("spans", "arrows", "text"),
    [
        ([span(0, 1, "idle")], [], "category of 'work' is 'idle'; expected one of run, step, compute"),
        ([span(1, 0)], [], "goes from 1 s to 0 s; expected two finite"),
        ([span(0, float("nan"))], [], "to nan s; expected two finite"),
        ([span(0, 2, name="first"), span(1, 3)], [], "'work' from 1 s to 3 s begins inside 'first' and ends after it"),
        ([span(0, 1)], [Arrow("m", "GPU 0", "GPU 1", 0, 1, 8)], "touches 'GPU 1' at 1 s, where it has no span"),
        ([span(1, 2)], [Arrow("m", "GPU 0", "GPU 0", 0, 1, 8)], "touches 'GPU 0' at 0 s"),
        ([span(0, 1), span(2, 3)], [Arrow("m", "GPU 0", "GPU 0", 0, 1.5, 8)], "touches 'GPU 0' at 1.5 s"),
        ([span(0, 1)], [Arrow("m", "GPU 0", "GPU 0", 1, 0, 8)], "from 1 s to 0 s; expected a message"),
    ],
)
def test_what_a_viewer_would_drop_is_refused(spans, arrows, text):
    with pytest.raises(ValueError, match=text):
        Trace(tuple(spans), tuple(arrows))


def test_details_that_json_does_not_know_are_written_as_text():
    trace = Trace((Span("GPU 0", "work", 0.0, 1.0, "compute", (("size", float("inf")), ("count", 3), ("of", 0.5))),))

    assert {"seconds": 1, "size": "inf", "count": 3, "of": 0.5} == events(trace, "X")[0]["args"]


def test_the_picture_of_the_guide_is_what_its_command_makes(tmp_path):
    page = (ROOT / "docs/guide/time.md").read_text()
    command = re.search(r"^    python -c '(.*docs/all_reduce\.svg.*)'$", page, re.M)
    assert command
    (tmp_path / "docs").mkdir()
    with contextlib.chdir(tmp_path):
        exec(command[1], {})

    assert (tmp_path / "docs/all_reduce.svg").read_text() == (ROOT / "docs/all_reduce.svg").read_text()
    assert "(../all_reduce.svg)" in page
