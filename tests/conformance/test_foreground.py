"""A check runs in the foreground, where it prints and can be debugged, and as a test of pytest."""

import io
import os
import pathlib
from typing import Any

import pytest

from conformance.__main__ import main
from conformance.expectations import Expectations
from conformance.foreground import at_check
from conformance.implementations import find
from tests.conformance.test_main import RUN

pytest_plugins = ("pytester",)


def test_what_a_check_prints_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    main([*RUN, "-k", "RUN-03", "--replicas", "1", "-s"])

    assert "what a check prints is not part of the protocol" in capsys.readouterr().out


def test_the_first_failure_ends_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    code = main([*RUN, "-k", "RUN-01", "-k", "RUN-02", "-k", "RUN-03", "--in-process", "-x"])

    output = capsys.readouterr().out
    assert 1 == code
    assert "1 PASS, 1 FAIL of 2 behaviors\nThe run was not completed" in output


def test_a_debugger_opens_in_the_check_that_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("p ('replicas', world.replicas)\nc\n"))

    main([*RUN, "-k", "RUN-02", "--replicas", "2", "--pdb"])

    assert "('replicas', 2)" in capsys.readouterr().out


def test_what_is_declared_opens_no_debugger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pdb.post_mortem", lambda _: pytest.fail("it is declared"))

    assert 0 == main([*RUN, "-k", "RUN-06", "--pdb"])


@pytest.mark.parametrize(
    ("check", "last"),
    [
        (lambda world: world.equal([1, 2], [1, 3]), "<lambda>"),  # what compares is some calls further in
        (lambda world: world.array(1 // 0), "<lambda>"),
        (lambda world: world.array(object_that_is_no_array()), "__array__"),  # in the implementation
    ],
)
def test_a_traceback_ends_in_the_check_or_in_the_implementation_not_in_what_compares(check: Any, last: str) -> None:
    with pytest.raises(Exception) as raised:
        check(Expectations())
    place = at_check(raised.value)
    assert place is not None
    while place.tb_next is not None:
        place = place.tb_next

    assert last == place.tb_frame.f_code.co_name


def object_that_is_no_array() -> Any:
    class Tensor:
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise OSError("no array")

    return Tensor()


def test_settings_that_come_too_late_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    import jax  # as a program would that has used it

    assert jax is not None
    name = next(name for name in find("jax").environment if os.environ.get(name) is None)
    assert 2 == main(["run", "--impl", "jax", "-k", "ATTR-01", "--in-process"])
    assert f"{name} must be set before" in capsys.readouterr().err


def test_pytest_runs_each_case_as_a_test(pytester: pytest.Pytester, tmp_path: pathlib.Path) -> None:
    (tmp_path / "xfails").write_text("RUN-03 # known\n")
    (tmp_path / "skips").write_text("RUN-04 # ends the process\nRUN-05 # hangs\nRUN-11 # kills\nRUN-14 # one process\n")
    files = ["--xfail", str(tmp_path / "xfails"), "--skip", str(tmp_path / "skips")]
    options = ["-p", "no:randomly", "--pyargs", "conformance", *RUN[1:], *files, "-rA"]

    done = pytester.runpytest_inprocess(*options)
    again = pytester.runpytest_inprocess(*options, "--lf")

    # RUN-01 and two of RUN-08 pass; RUN-02, RUN-07 (declared, but passes) fail; RUN-03, RUN-06, RUN-08@2 are declared
    done.assert_outcomes(passed=5, failed=6, skipped=18, xfailed=7)
    done.stdout.fnmatch_lines(["*versions/r2.*/api_docs/python/tf*", "FAILED*pytest_front.py::RUN-02[[]fake-2[]]*"])
    again.assert_outcomes(failed=6)


def test_without_an_implementation_pytest_collects_no_case(pytester: pytest.Pytester) -> None:
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "--pyargs", "conformance")

    assert pytest.ExitCode.NO_TESTS_COLLECTED == done.ret
