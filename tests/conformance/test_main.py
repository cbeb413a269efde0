"""The command line has the documented exit codes, and its errors say what there is."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from jsonschema import Draft202012Validator

from conformance import badge, html, junit
from conformance.__main__ import main
from conformance.commands import run as command
from conformance.implementations import find
from conformance.report import Report
from conformance.results import Result, Status
from conformance.selection import Selection

RUN = ["run", "--impl", "tests.conformance.fake:fake", "--checks", "tests.conformance.fake:checks"]
ROOT = pathlib.Path(__file__).parents[2]
FOUND = "import dataclasses, tests.conformance.fake as fake; found = dataclasses.replace(fake.plain"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([*RUN, "-k", "RUN-01"], 0),
        ([*RUN, "-k", "RUN-06"], 0),
        ([*RUN, "-k", "RUN-02"], 1),
        ([*RUN, "-k", "RUN-03", "--replicas", "1"], 1),
        ([*RUN, "-k", "RUN-04"], 3),
        ([*RUN, "-k", "zebra crossing"], 5),
        ([*RUN, "-k", "RUN-01", "--replicas", "7"], 5),
        ([*RUN, "-k", "RUN-99"], 2),
        ([*RUN, "--area", "RUM"], 2),
        (["run", "--impl", "simulato"], 2),
        (["list", "-k", "zebra crossing"], 5),
        (["list"], 0),
        (["show", "RUN-01"], 0),
        (["show", "gather"], 2),
        ([*RUN, "-k", "RUN-09"], 5),
        ([*RUN, "-k", "RUN-10", "-k", "RUN-12"], 5),
        ([*RUN, "-k", "RUN-01", "-n", "2"], 0),
        ([*RUN, "-k", "RUN-01", "-n", "auto", "--mode", "quick"], 0),
        ([*RUN, "--lf"], 2),
        ([*RUN, "--failed-of", "no-such-report.json"], 2),
        ([*RUN, "--xfail", "no-such-file"], 2),
        (["list", "--implementations"], 0),
        (["update-xfails", "xfails"], 2),
        ([*RUN, "-k", "RUN-01", "--in-process"], 0),
        ([*RUN, "-k", "RUN-02", "-s"], 1),
        ([*RUN, "-k", "RUN-01", "--pdb", "-n", "2"], 2),
        (["run", "--impl", "tests.conformance.fake:isolated", *RUN[3:], "-k", "RUN-14", "--in-process"], 2),
        (["run", "--impl", "tests.conformance.fake:broken", *RUN[3:], "-k", "RUN-01", "--in-process"], 3),
        (["run", "--impl", "recorded:tensorflow", "--area", "VAR"], 0),
        (["run", "--impl", "recorded:nothing"], 2),
        (["report", "no-such-report.json"], 2),
        (["history", "no-such-report.json"], 2),
    ],
)
def test_exit_codes(arguments: list[str], code: int) -> None:
    assert code == main(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["run", "--replicas", "0"],
        ["run", "--replicas", "two"],
        ["run", "--timeout", "0"],
        ["run", "--timeout", "soon"],
        ["run", "--json", "no/such/folder/report.json"],
        ["run", "--json", "."],
        ["run", "--html", "."],
        ["run", "--html", "x" * 300],  # which no file can be called
        ["run", "--junit-xml", "no/such/folder/report.xml"],
        ["run", "--badge", "."],
        ["run", "-n", "0"],
        ["run", "-n", "many"],
        ["run", "--mode", "slow"],
        ["run", "--lf", "--failed-of", "report.json"],
        ["faults", "--others", "some"],
        ["update-xfails", "no/such/folder/xfails", "--impl", "simulator"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)

    assert 2 == caught.value.code


def test_an_implementation_that_cannot_start_does_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    code = main([*RUN, "--impl", "tests.conformance.fake:broken", "-k", "RUN-01", "--replicas", "1"])

    output = capsys.readouterr()
    assert 3 == code
    assert "RuntimeError: cannot be opened" in output.err
    assert "tests.conformance.fake:fake: 1 PASS of 1 behaviors" in output.out
    assert "not completed" in output.out


def test_the_report_is_written_as_json_too(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "report.json"

    main([*RUN, "-k", "RUN-02", "--replicas", "2", "--json", str(file), "-v"])

    assert ["FAIL"] == [result.status.name for result in Report.from_json(file.read_text()).results]
    assert [2] == json.loads(file.read_text())["selection"]["replicas"]
    assert "RUN-02" in capsys.readouterr().out


def test_the_report_is_written_for_programs_browsers_servers_and_readmes(tmp_path: pathlib.Path) -> None:
    files = {option: tmp_path / option for option in ("json", "html", "junit-xml", "badge")}
    written = [word for option, file in files.items() for word in (f"--{option}", str(file))]

    main([*RUN, "-k", "RUN-02", "-k", "RUN-04", *written])

    report = Report.from_json(files["json"].read_text(encoding="utf-8"))
    schema = json.loads((ROOT / "conformance" / "report.schema.json").read_text(encoding="utf-8"))
    assert [] == list(Draft202012Validator(schema).iter_errors(json.loads(files["json"].read_text(encoding="utf-8"))))
    assert html.render(report) == files["html"].read_text(encoding="utf-8")
    assert junit.render(report) == files["junit-xml"].read_text(encoding="utf-8")
    assert badge.render(report) == files["badge"].read_text(encoding="utf-8")


def report_of(tmp_path: pathlib.Path, *arguments: str) -> Report:
    file = tmp_path / "report.json"
    main([*RUN, *arguments, "--json", str(file)])
    return Report.from_json(file.read_text())


def cases(report: Report) -> list[tuple[str, int | None, str]]:
    return [(result.id, result.replicas, result.status.value) for result in report.results]


def test_results_are_in_the_order_of_the_catalogue_whatever_the_number_of_workers(tmp_path: pathlib.Path) -> None:
    ids = [word for id in ("RUN-09", "RUN-08", "RUN-12", "RUN-02", "RUN-01") for word in ("-k", id)]
    one, three = (cases(report_of(tmp_path, *ids, "-n", count)) for count in ("1", "3"))

    assert one == three
    assert sorted(one, key=lambda case: (case[0], case[1] or 0)) == one


def test_mode_and_seed_are_printed_and_kept_in_the_report(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = report_of(tmp_path, "-k", "RUN-01", "--mode", "quick", "--seed", "7")

    assert ("quick", 7) == (report.selection.mode, report.selection.seed)
    assert capsys.readouterr().out.endswith("mode quick, seed 7\n")


def test_the_last_failures_are_run_again_as_they_were(tmp_path: pathlib.Path) -> None:
    report_of(tmp_path, "-k", "RUN-01", "-k", "RUN-02", "-k", "RUN-03", "--replicas", "1,2", "--seed", "3")

    again = report_of(tmp_path, "--lf")
    fewer = report_of(tmp_path, "--lf", "-k", "RUN-03")

    failures = [("RUN-02", 1, "FAIL"), ("RUN-02", 2, "FAIL"), ("RUN-03", 1, "ERROR"), ("RUN-03", 2, "ERROR")]
    assert failures == cases(again)
    assert failures[2:] == cases(fewer)
    assert 3 == fewer.selection.seed


def test_without_an_implementation_the_last_failures_are_those_of_the_last_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main([*RUN, "-k", "RUN-02", "--replicas", "1"])
    capsys.readouterr()

    code = main(["run", "--checks", "tests.conformance.fake:checks", "--lf"])

    assert 1 == code
    assert "tests.conformance.fake:fake: 1 FAIL of 1 behaviors" in capsys.readouterr().out


def test_when_nothing_failed_there_is_nothing_to_run_again(capsys: pytest.CaptureFixture[str]) -> None:
    main([*RUN, "-k", "RUN-01"])

    assert 5 == main([*RUN, "--lf"])
    assert "nothing failed in that run" in capsys.readouterr().err


def test_failures_of_any_report_can_be_run_again(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "old.json"
    main([*RUN, "-k", "RUN-01", "-k", "RUN-02", "--replicas", "2", "--json", str(file)])
    main([*RUN, "-k", "RUN-01"])

    assert [("RUN-02", 2, "FAIL")] == cases(report_of(tmp_path, "--failed-of", str(file)))


def test_a_report_cannot_name_a_module_to_import(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "planted.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')")
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / "report.json"
    result = Result("RUN-02", "planted:found", 1, Status.FAIL)
    file.write_text(Report((result,), 1.0, Selection(("planted:found",)), {}).to_json())

    assert 2 == main(["run", "--failed-of", str(file)])
    assert "Name it yourself, if you trust it: --impl planted:found" in capsys.readouterr().err
    assert not (tmp_path / "imported").exists()


def test_a_report_of_what_has_a_name_says_what_to_run(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "report.json"
    result = Result("ATTR-05", "host", 1, Status.FAIL)
    file.write_text(Report((result,), 1.0, Selection(("host",)), {}).to_json())

    assert 0 == main(["run", "--failed-of", str(file)])


@pytest.mark.parametrize("command", [["run", "--failed-of"], ["diff"]])
@pytest.mark.parametrize("text", ["[" * 200_000, '{"schema_version": 1, "results": [7]}', '{"schema_version": []}'])
def test_a_forged_report_is_wrong_usage(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], command: list[str], text: str
) -> None:
    file = tmp_path / "report.json"
    file.write_text(text)

    assert 2 == main([*command, str(file)])
    assert "cannot be read as a report" in capsys.readouterr().err


def test_a_cache_that_cannot_be_written_is_said_and_does_no_harm(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))

    assert 0 == main([*RUN, "-k", "RUN-01"])
    assert "cannot be kept for --lf" in capsys.readouterr().err


def test_expected_failures_and_skips_are_read_from_files(tmp_path: pathlib.Path) -> None:
    xfails, skips = tmp_path / "xfails", tmp_path / "skips"
    xfails.write_text("RUN-02 # known\nRUN-01@3 # no longer so\n")
    skips.write_text("RUN-03 # slow\n")
    declared = ["--xfail", str(xfails), "--skip", str(skips), "--replicas", "1,3"]

    found = report_of(tmp_path, "-k", "RUN-01", "-k", "RUN-02", "-k", "RUN-03", *declared)

    assert ["PASS", "FAIL", "XFAIL", "XFAIL", "SKIP", "SKIP"] == [status for _, _, status in cases(found)]
    assert 0 == main([*RUN, "-k", "RUN-02", "-k", "RUN-03", *declared])
    assert 2 == main([*RUN, "--impl", "simulator", *declared])


def test_update_xfails_writes_a_file_with_which_the_run_conforms(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "xfails"
    file.write_text("# ours\nRUN-01 # was broken\nRUN-03 # my reason\n")
    chosen = ["-k", "RUN-01", "-k", "RUN-02", "-k", "RUN-03"]
    update = ["update-xfails", str(file), *RUN[1:], *chosen]

    assert 0 == main(update)
    assert "# ours\nRUN-03 # my reason\nRUN-02  # expected: 7, got: 1\n" == file.read_text()
    assert f"{file}: 2 expected to fail; there were 2\n" == capsys.readouterr().out
    assert 0 == main([*RUN, *chosen, "--xfail", str(file)])


def test_update_xfails_leaves_the_file_alone_when_it_cannot_know(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "xfails"
    broken = ["--impl", "tests.conformance.fake:broken", "--checks", "tests.conformance.fake:checks"]

    assert 3 == main(["update-xfails", str(file), *broken, "-k", "RUN-01"])
    assert 5 == main(["update-xfails", str(file), *broken, "-k", "zebra crossing"])
    assert not file.exists()
    file.write_text("RUN-99 # why\n")
    assert 2 == main(["update-xfails", str(file), *broken, "-k", "RUN-01"])


def test_deep_mode_without_hypothesis_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)

    assert 2 == main([*RUN, "-k", "RUN-01", "--mode", "deep"])
    assert "pip install hypothesis" in capsys.readouterr().err


def test_a_finding_of_deep_mode_shows_how_to_draw_the_same_values_again(capsys: pytest.CaptureFixture[str]) -> None:
    main([*RUN, "-k", "RUN-02", "--replicas", "1", "--mode", "deep", "--seed", "5"])

    assert (
        "-k RUN-02 --replicas 1 --mode deep --seed 5 --checks tests.conformance.fake:checks\n"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("raise RuntimeError('no licence')", 3, "(RuntimeError: no licence, at "),
        ("import sys; sys.exit(4)", 3, "(SystemExit: 4, at "),
        ("found = (", 3, "(SyntaxError: "),
        ("import no_such_module", 2, "cannot be imported (No module named 'no_such_module')"),
        (f"{FOUND}, features=frozenset({{'cor'}}))", 2, "got 'cor' among the features of strange:found"),
        (f"{FOUND}, kinds=frozenset({{'Mirored'}}))", 2, "got 'Mirored' among the kinds of strange:found"),
        (f"{FOUND}, divergences={{'RUN-99@2': 'why'}})", 2, "got 'RUN-99' among the divergences of strange:found"),
    ],
)
def test_a_module_that_fails_or_says_what_no_check_knows_is_refused(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    code: int,
    message: str,
) -> None:
    (tmp_path / "strange.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "strange", raising=False)

    assert code == main(["run", "--impl", "strange:found", "-k", "RUN-01"])
    assert message in capsys.readouterr().err
    monkeypatch.delitem(sys.modules, "strange", raising=False)


def test_implementations_of_installed_packages_are_found_by_name(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "theirs-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\n")
    places = "theirs = tests.conformance.fake:plain\nsimulator = no.such:object\nlost = no.such:object\n"
    (package / "entry_points.txt").write_text(f"[refdist.implementations]\n{places}")
    monkeypatch.syspath_prepend(str(tmp_path))

    assert 0 == main(["run", "--impl", "theirs", *RUN[3:], "-k", "RUN-01"])
    assert 2 == main(["run", "--impl", "lost", *RUN[3:], "-k", "RUN-01"])
    assert 0 == main(["list", "--implementations"])
    output = capsys.readouterr().out
    assert "theirs: 1 PASS of 1 behaviors" in output
    assert "theirs      tests.conformance.fake:plain\n            features: core\n" in output
    assert "simulator   conformance.implementations.simulator:simulator\n" in output
    assert "lost        no.such:object\n            got 'no.such:object', which cannot be imported" in output


def test_our_own_implementations_are_found_without_reading_all_installed_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: pytest.fail("takes 10 ms"))

    assert "simulator" == find("simulator").name


def test_progress_is_not_shown_when_stderr_is_not_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    main([*RUN, "-k", "RUN-01"])

    assert "" == capsys.readouterr().err


def test_list_and_show_print_what_the_catalogue_says(capsys: pytest.CaptureFixture[str]) -> None:
    main(["list", "--area", "config"])
    main(["show", "attr-01"])

    output = capsys.readouterr().out
    assert "CONFIG-01   must     update_config_proto signature\n" in output
    assert "https://www.tensorflow.org/versions/r2." in output
    assert "conformance.checks." in output
    assert all(word in output for word in ("statement", "observe", "conflicts with", "check", "fault"))


@pytest.mark.parametrize(
    ("chosen", "status"),
    [
        (["--replicas", "1,2"], "1 PASS of 1 behaviors"),
        (["--mode", "quick"], "1 PASS of 1 behaviors"),
        ([], "1 NOT RUN of 1 behaviors"),  # one of three counts is owed
        (["-k", "RUN-09"], "1 NOT RUN, 1 UNSUPPORTED of 2 behaviors"),
    ],
)
def test_an_interrupt_prints_what_was_done(
    chosen: list[str], status: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(job: object, started: object) -> object:
        results = list(command_run(job, started))
        yield from [*results[:2], *(result for result in results if result.id == "RUN-09")]
        raise KeyboardInterrupt

    command_run = vars(command)["run"]
    monkeypatch.setattr(command, "run", interrupted)

    code = main([*RUN, "-k", "RUN-01", *chosen])

    assert 130 == code
    assert f"{status}\nThe run was not completed" in capsys.readouterr().out


def test_replica_counts_that_no_check_has_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert 5 == main([*RUN, "-k", "RUN-01", "--replicas", "5"])
    assert "nothing is selected by --replicas 5; expected some of 1, 2, 3" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["list"], [*RUN, "-k", "RUN-01", "-v"]])
def test_a_reader_that_goes_away_causes_no_traceback(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "conformance", *arguments],
            cwd=ROOT,
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
    finally:
        os.close(writing)

    assert (0, b"") == (done.returncode, done.stderr)


def test_importing_the_package_loads_neither_jax_nor_refdist() -> None:
    code = "import conformance, conformance.runner, sys; print({'jax', 'refdist', 'rich'} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "set()\n" == done.stdout
