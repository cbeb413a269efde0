import os
import subprocess
import sys

import pytest

from refdist_command import shadows
from refdist_command.subcommands import main
from tests.packages import ROOT


def ran(folder, *words):
    """What a Python says that looks for modules in a folder first."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr.strip().splitlines()[-1] if done.stderr else ""


def said(name, found, kind):
    return (
        f"`import {name}` finds {found}; expected the package of refdist, {ROOT / name}, which the {kind} hides. Rename the "
        f"{kind}, or start in another folder."
    )


@pytest.mark.parametrize(
    "use",
    ["tf.use('simulator', gpus=2)", "tf.constant(1.0)", "tf.simulator", "with tf.using('simulator', gpus=2): pass"],
)
def test_a_file_that_hides_the_simulator_is_named_at_its_first_use(tmp_path, use):
    (tmp_path / "simulator.py").write_text("")
    code, last = ran(tmp_path, "-c", f"import refdist as tf\n{use}")

    assert (1, True) == (code, last.endswith(said("simulator", tmp_path / "simulator.py", "file"))), last


def test_a_folder_that_hides_the_suite_is_named(tmp_path):
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance" / "__init__.py").touch()
    expected = said("conformance", tmp_path / "conformance", "folder")

    assert ran(tmp_path, "-c", "import refdist; refdist.conformance")[1].endswith(expected)
    assert (2, f"refdist: {expected}") == ran(tmp_path, "-m", "refdist", "conformance", "list")


def test_a_file_called_refdist_is_named_by_the_command(tmp_path):
    (tmp_path / "refdist.py").write_text("")
    program = "import sys\nfrom refdist_command.subcommands import main\nsys.exit(main(['bench', '--list']))"

    expected = said("refdist", tmp_path / "refdist.py", "file")
    assert (2, f"refdist: {expected}") == ran(tmp_path, "-c", program)


def test_a_file_beside_a_program_of_the_user_is_named_by_the_command_that_looks_there(tmp_path, monkeypatch):
    (tmp_path / "refdist_bench.py").write_text("")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "refdist_bench", raising=False)

    with pytest.raises(shadows.Shadowed, match=r"refdist_bench\.py; expected the package of refdist"):
        shadows.look_in(str(tmp_path))


@pytest.mark.parametrize("hiding", ["conformance.py", "conformance/__init__.py"])
def test_a_file_that_hides_the_suite_from_its_processes_only_is_named(tmp_path, monkeypatch, capsys, hiding):
    (tmp_path / hiding).parent.mkdir(exist_ok=True)
    (tmp_path / hiding).write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    assert 2 == main(["conformance", "run", "-k", "REDUCE-10"])
    found = tmp_path / "conformance"
    found, kind = (found, "folder") if found.is_dir() else (found.with_suffix(".py"), "file")
    assert f"refdist conformance: {said('conformance', found, kind)}\n" == capsys.readouterr().err


def test_a_folder_without_modules_of_such_a_name_hides_nothing(tmp_path):
    (tmp_path / "simulator").mkdir()
    (tmp_path / "simulator" / "notes.txt").touch()

    assert (0, "") == ran(tmp_path, "-c", "import refdist as tf\ntf.use('simulator', gpus=2)\ntf.simulator.presets")
    shadows.require_own(*shadows.OURS)
