"""Errors against public measurements."""

import dataclasses

import pytest

from simulator import libraries
from simulator.predictions.step_timeline import MEASURED_SLOWDOWN
from simulator.validate import FOLDER, collective_rows, main, report, step_rows


@pytest.fixture(scope="module")
def rows():
    return collective_rows()


def mean(rows):
    return sum(abs(row.error) for row in rows) / len(rows)


def test_collectives_of_machines_with_public_constants_are_as_close_as_the_page_says(rows):
    core = [row for row in rows if row.group == "core"]

    assert mean(core) < 0.25
    assert mean([row for row in core if row.size >= 2**30]) < 0.10
    assert len(core) >= 500


def test_steps_of_ddp_are_as_close_as_the_page_says():
    assert mean([row for row in step_rows() if row.group == "PyTorch"]) < 0.05


def test_a_library_with_other_constants_is_further_off(rows, monkeypatch):
    real = libraries.nccl
    monkeypatch.setattr(libraries, "nccl", lambda version: dataclasses.replace(real(version), latency_scale=3.0))

    assert mean([row for row in collective_rows() if row.group == "core"]) > 1.2 * mean(
        [row for row in rows if row.group == "core"]
    )


def test_a_sweep_of_one_machine_predicts_another_of_its_kind():
    import csv

    from simulator import presets
    from simulator.predictions.prediction import predict_all_reduce

    with (FOLDER / "collectives.csv").open(newline="", encoding="utf-8") as file:
        found = [
            row for row in csv.DictReader(file) if row["collective"] == "all_reduce" and row["gpus_per_process"] == "8"
        ]
    boxes = {"a100-sxm4-40-8": [], "a100-sxm4-80-8": []}
    for row in found:
        if row["machine"] in boxes:
            boxes[row["machine"]].append((float(row["bytes"]), float(row["microseconds"]) * 1e-6))
    first, second = boxes.values()
    launch, box = libraries.Launch(8), presets.dgx_a100()

    for known, other in ((first, second), (second, first)):
        library = libraries.nccl().calibrated(box, known, launch=launch)
        errors = [
            abs(predict_all_reduce(box, size, library=library, launch=launch).seconds / time - 1)
            for size, time in other
        ]
        assert sum(errors) / len(errors) < 0.12


def test_every_measurement_names_its_source_and_its_machine(rows):
    import csv

    with (FOLDER / "sources.csv").open(newline="", encoding="utf-8") as file:
        sources = {row["source"] for row in csv.DictReader(file)}
    with (FOLDER / "collectives.csv").open(newline="", encoding="utf-8") as file:
        named = {row["source"] for row in csv.DictReader(file)}

    assert named <= sources
    assert {"core", "other"} == {row.group for row in rows}


def test_the_page_shows_the_tables_that_the_command_prints(rows, capsys, tmp_path):
    page = (FOLDER.parents[1] / "docs" / "accuracy.md").read_text("utf-8")

    assert 0 == main(["--picture", str(tmp_path / "picture.svg")])
    printed = capsys.readouterr().out
    assert printed.strip() in page
    slowed = step_rows(overlap_slowdown=MEASURED_SLOWDOWN)
    assert report(rows, step_rows(), slowed) == printed.strip()
    assert (tmp_path / "picture.svg").read_text("utf-8") == (FOLDER.parents[1] / "docs" / "accuracy.svg").read_text(
        "utf-8"
    )


def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_compared(capsys, tmp_path):
    with pytest.raises(SystemExit, match="2"):
        main(["--picture", str(tmp_path / "nowhere" / "picture.svg")])
    said = capsys.readouterr()
    assert "" == said.out
    assert "expected a file in a folder that exists" in said.err


def test_a_folder_without_measurements_says_where_they_are(capsys, tmp_path):
    assert 2 == main(["--folder", str(tmp_path)])
    assert "Leave --folder out" in capsys.readouterr().err
