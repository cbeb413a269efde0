import itertools
import signal
import sys

import pytest

from refdist_bench import command
from refdist_bench.benchmark_case import Case, Side, Who
from refdist_bench.saved_run import load
from refdist_bench.timers import StepTimer
from refdist_command.subcommands import main
from tests.refdist_bench.measured_data import measured, result, run

TINY = ["bench", "-k", "run, all_reduce, 2 virtual", "--quick"]


def test_one_case_from_the_command_line_to_table_json_and_page(tmp_path, capsys):
    saved, page = tmp_path / "run.json", tmp_path / "run.html"

    assert 0 == main([*TINY, "--json", str(saved), "--html", str(page)])
    found = load(str(saved))
    assert ["run, all_reduce, 2 virtual"] == [one.name for one in found.results]
    assert [Who.REFDIST, Who.LIMIT] == [side.who for side in found.results[0].sides]
    assert {"jax", "numpy", "python", "processor", "devices", "date"} <= found.surroundings.keys()
    said = capsys.readouterr().out
    assert "run, all_reduce, 2 virtual" in said
    assert "None of these has a goal." in said
    assert "run, all_reduce, 2 virtual" in page.read_text()


INTERRUPTED = """
import itertools, signal

calls = itertools.count()


def step(strategy):
    def run():
        if next(calls) == 5:
            signal.raise_signal(signal.SIGINT)
        return strategy.run(lambda: 1)

    return run, 8
"""


def test_ctrl_c_between_rounds_keeps_the_cases_before_it(tmp_path, monkeypatch, capsys):
    def interrupted():
        if next(calls) == 20:
            signal.raise_signal(signal.SIGINT)

    def case(name, step):
        return Case(name, name, "group", (Side(Who.RAW, "a", lambda: StepTimer(lambda: step)),))

    calls = itertools.count()
    quick = case("quick", lambda: None)
    monkeypatch.setattr(command, "_cases", lambda _: [quick, case("interrupted", interrupted), quick])
    saved, page = tmp_path / "run.json", tmp_path / "run.html"

    assert 130 == main(["bench", "--json", str(saved), "--html", str(page)])
    assert ["quick"] == [one.name for one in load(str(saved)).results]
    assert "quick" in page.read_text()
    assert "cancelled after 1 of 3 cases" in capsys.readouterr().err
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)  # the handler is as it was


def test_ctrl_c_before_anything_is_measured_says_so(tmp_path, monkeypatch, capsys):
    (tmp_path / "interrupted_step.py").write_text(INTERRUPTED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    assert 130 == main(["bench", "interrupted_step:step", "--replicas", "1,2", "--backend", "simulator", "--quick"])
    assert "cancelled" in capsys.readouterr().err


def test_a_slow_down_since_a_saved_run_is_an_exit_code_of_one(tmp_path, capsys):
    before, now = str(tmp_path / "before.json"), str(tmp_path / "now.json")
    run(result("a", measured(Who.REFDIST, 1.0))).save(before)
    run(result("a", measured(Who.REFDIST, 1.2))).save(now)
    shown = ["bench", "--from", now, "--compare", before]

    assert 1 == main([*shown, "--fail-above", "1.1"])
    assert "1 became slower by more than 1.1x" in capsys.readouterr().out
    assert 0 == main([*shown, "--fail-above", "1.3"])
    assert 0 == main(shown)


def test_a_folder_of_saved_runs_is_a_trend(tmp_path):
    for month in (1, 2):
        run(result("a"), date=f"2026-0{month}-01").save(str(tmp_path / f"{month}.json"))
    last = tmp_path / "last"
    last.mkdir()
    run(result("a"), date="2026-03-01").save(str(last / "3.json"))

    assert 0 == main(
        ["bench", "--from", str(last / "3.json"), "--trend", str(tmp_path), "--html", str(tmp_path / "page.html")]
    )
    assert "a: ratio to raw JAX" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--fail-above", "1.1"], "without --compare"),
        (["--compare", "nothing.json"], "cannot be read"),
        (["-k", "no such case"], "leaves no case"),
        ([*TINY[1:], "--peer", "tensorflow=no/such/python"], "cannot be started"),
        ([*TINY[1:], "--peer", f"tensorflow={sys.executable}"], "expected a Python that has TensorFlow"),
        (["nothing"], "expected module:function"),
    ],
)
def test_what_cannot_be_done_is_said_with_an_exit_code_of_two(capsys, arguments, said):
    assert 2 == main(["bench", *arguments])
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--replicas", "0"],
        ["-k", "("],
        ["--backend", "cuda"],
        ["--peer", "torch=python"],
        ["--fail-above", "0.5"],
        ["--devices", "x"],
        ["--json", "no/such/folder/run.json"],
        ["--html", "."],
        ["--html", "/proc/page.html"],
    ],
)
def test_a_wrong_option_says_what_was_expected(capsys, arguments):
    with pytest.raises(SystemExit, match="2"):
        main(["bench", *arguments])
    assert "expected" in capsys.readouterr().err


def test_a_step_of_a_user_is_measured_on_the_simulator(tmp_path, monkeypatch, capsys):
    (tmp_path / "measured_step.py").write_text("def step(strategy):\n    return lambda: strategy.run(lambda: 1), 8\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    assert 0 == main(["bench", "measured_step:step", "--replicas", "1,2", "--backend", "simulator", "--quick"])
    heads, first, second = capsys.readouterr().out.splitlines()[1:]
    assert ["replicas", "step", "strong"] == [heads.split()[index] for index in (0, 1, -1)]
    assert ("1", "2") == (first.split()[0], second.split()[0])


def test_a_step_of_a_user_is_compared_with_a_saved_run(tmp_path, monkeypatch, capsys):
    (tmp_path / "compared_step.py").write_text("def step(strategy):\n    return lambda: strategy.run(lambda: 1), 8\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    measure = ["bench", "compared_step:step", "--replicas", "1", "--backend", "simulator", "--quick"]
    main([*measure, "--json", "run.json"])

    assert 0 == main([*measure, "--compare", "run.json"])
    said, _, row = capsys.readouterr().out.splitlines()[-3:]
    assert "Compared 1 cases." == said
    assert row.startswith("1 x compared_step:step on simulator ")
