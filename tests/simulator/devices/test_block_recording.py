"""Recordings of many devices stay small, say what happened on which line, and show themselves."""

import json

import pytest

import refdist as tf
import simulator

ctx = tf.distribute.get_replica_context
KIND = simulator.DeviceKind("GPU", 1e9, 1e12, 1e11)


def star(devices):
    return tf.using("simulator", cluster=simulator.Cluster.star(devices, 12.7e9, 513e-9, KIND))


def recorded(step, devices, **options):
    with star(devices):
        strategy = tf.distribute.MirroredStrategy()
        with simulator.trace(**options) as recording:
            strategy.run(step)
    return recording


def reduce_twice():
    ctx().all_reduce("sum", tf.ones([1000]))
    ctx().all_reduce("mean", tf.ones([10]))


def line_of(function, ahead):
    return f"test_block_recording.py:{function.__code__.co_firstlineno + ahead}, in {function.__name__}"


@pytest.mark.parametrize(
    ("devices", "messages", "arrows"), [(8, None, 224), (9, None, 0), (9, True, 288), (2, False, 0)]
)
def test_messages_are_recorded_for_few_devices_or_when_asked_for(devices, messages, arrows):
    assert arrows == len(recorded(reduce_twice, devices, messages=messages).trace().arrows)


def test_without_messages_spans_are_what_the_clock_counts():
    def step():
        simulator.busy(1e-5 * (ctx().replica_id_in_sync_group == 3))
        reduce_twice()

    with star(12):
        strategy = tf.distribute.MirroredStrategy()
        with simulator.trace() as recording:
            strategy.run(step)
        clock = strategy.extended.backend.clock

    for number, spans in enumerate(recording.trace().by_track()[name] for name in clock.names):
        for category, spent in (
            ("collective", clock.communicating),
            ("wait", clock.waiting),
            ("compute", clock.computing),
        ):
            told = sum(span.end_seconds - span.start_seconds for span in spans if span.category == category)
            assert spent[number] == pytest.approx(told, rel=1e-9, abs=1e-18)


@pytest.mark.parametrize("devices", [8, 12])
def test_links_carry_the_same_bytes_with_and_without_messages(devices):
    def carried(messages):
        found = {}
        for span in recorded(reduce_twice, devices, messages=messages).trace().spans:
            if span.track.startswith("link "):
                found[span.track] = found.get(span.track, 0.0) + dict(span.details)["bytes"]
        return found

    assert carried(True) == pytest.approx(carried(False))
    assert 2 * devices == len(carried(False))


def test_equal_devices_and_links_are_one_row_each():
    rows = recorded(reduce_twice, 64).trace().rows()

    assert ["GPU:0 ... GPU:63, the same", "link down 0 ... link down 63, link up 0 ... link up 63, the same"] == [
        row.name for row in rows
    ]


def test_links_have_rows_however_many_messages_there_are():
    assert 2 * 2048 == len(recorded(lambda: ctx().all_reduce("sum", tf.ones([10])), 2048).trace().links)


def test_all_tracks_are_kept_where_that_is_asked_for(tmp_path):
    recording = recorded(reduce_twice, 16)
    recording.save(tmp_path / "all.json", fold=False)
    recording.save(tmp_path / "all.svg", fold=False)

    assert recording.trace().to_json(fold=False) == (tmp_path / "all.json").read_text()
    assert ">GPU:15<" in (tmp_path / "all.svg").read_text()


def test_a_slow_device_has_a_row_of_its_own():
    def step():
        simulator.busy(1e-5 * (1 + (ctx().replica_id_in_sync_group == 5)))

    assert ["GPU:0 ... GPU:4, GPU:6 ... GPU:15, the same", "GPU:5"] == [
        row.name for row in recorded(step, 16).trace().rows()
    ]


@pytest.mark.parametrize("devices", [4, 16])
def test_steps_and_collectives_and_work_say_the_line_of_the_user(devices):
    def step():
        total = ctx().all_reduce("sum", tf.ones([1024]))
        return total * 2.0

    spans = recorded(step, devices).trace().by_track()["GPU:1"]
    told = {(span.name, dict(span.details).get("line")) for span in spans if span.category in ("run", "compute")}
    told |= {(s.name, dict(s.details).get("line")) for s in spans if s.name.startswith("all_reduce")}

    assert {
        ("step 1", line_of(recorded, 4)),
        ("all_reduce SUM 4.10 kB, ring", line_of(step, 1)),
        ("multiply", line_of(step, 2)),
    } == told


def test_lines_are_in_files_for_perfetto_and_in_the_picture():
    recording = recorded(reduce_twice, 16)
    arguments = [event["args"] for event in json.loads(recording.trace().to_json())["traceEvents"]]

    assert line_of(reduce_twice, 1) in [one.get("line") for one in arguments]
    assert f"line: {line_of(reduce_twice, 1)}" in recording._repr_svg_()


def test_parts_of_a_program_say_the_line_of_the_user():
    def step(x):
        total = ctx().all_reduce("sum", x)
        return tf.matmul(total, total)

    with star(2):
        strategy = tf.distribute.MirroredStrategy()
        with simulator.trace(messages=False) as recording:
            tf.function(lambda x: strategy.run(step, args=(x,)))(tf.ones([32, 32]))

    told = {(span.name, dict(span.details).get("line")) for span in recording.trace().by_track()["GPU:1"]}
    assert {("all_reduce SUM 4.10 kB, ring", line_of(step, 1)), ("dot_general", line_of(step, 2))} <= told


def test_a_write_says_what_its_exchange_is_part_of():
    with star(2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            w = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
        with simulator.trace(messages=False) as recording:
            strategy.run(lambda: w.assign_add(tf.constant(1.0)))

    (span,) = [one for one in recording.trace().by_track()["GPU:0"] if one.category == "collective"]
    assert ("all_reduce 4 B, ring", "assign_add") == (span.name, dict(span.details)["in"])


def test_recordings_of_many_devices_are_small(tmp_path):
    for devices in (64, 512):
        recording = recorded(reduce_twice, devices)
        recording.save(tmp_path / "run.svg")
        recording.save(tmp_path / "run.json")

        assert (tmp_path / "run.svg").stat().st_size < 50_000
        assert (tmp_path / "run.json").stat().st_size < 50_000


def test_a_recording_shows_itself_in_notebooks():
    recording = recorded(reduce_twice, 3)

    assert recording._repr_svg_() == recording.trace().to_svg()
    assert recording._repr_svg_() in recording._repr_html_()
    assert repr(recording.trace()) in repr(recording)
