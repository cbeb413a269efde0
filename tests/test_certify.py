"""The page on certification prints what its commands print, and its example is as small as it says."""

import doctest
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

from conformance.implementations import FEATURES, GROUP

ROOT = pathlib.Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "certify.md").read_text()
EXAMPLE = ROOT / "examples" / "tiny_implementation"
BLOCKS = [
    re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
]


def test_the_page_has_commands():
    assert [1, 3, 2, 1] == list(map(len, BLOCKS))


@pytest.mark.parametrize("commands", BLOCKS, ids=[block[0][0] for block in BLOCKS])
def test_commands_print_what_the_page_says(tmp_path, commands):
    folder = shutil.copytree(EXAMPLE, tmp_path / "tiny")
    paths = os.pathsep.join([str(folder), str(ROOT), *sys.path])
    settings = {"PYTHONPATH": paths, "XDG_CACHE_HOME": str(tmp_path), "COLUMNS": "80"}
    for command, output in commands:
        done = subprocess.run(
            ["bash", "-c", command.replace("python -m", f"'{sys.executable}' -m")],
            cwd=folder,
            env={**os.environ, **settings},
            capture_output=True,
            text=True,
            check=False,
        )

        assert "" == done.stderr
        assert doctest.OutputChecker().check_output(output, done.stdout, doctest.ELLIPSIS), done.stdout


def test_the_page_shows_the_files_of_the_example():
    blocks = dict(re.findall(r"```(python|toml)\n(.*?)```", PAGE, re.DOTALL))
    project = (EXAMPLE / "pyproject.toml").read_text()

    assert (EXAMPLE / "tiny_conformance.py").read_text().endswith(blocks["python"])
    assert blocks["toml"] in project
    assert {"tiny": "tiny_conformance:tiny"} == tomllib.loads(project)["project"]["entry-points"][GROUP]


def test_the_page_names_every_feature():
    assert all(f"`{feature}`" in PAGE for feature in FEATURES - {"core"})


def test_the_example_is_tiny():
    lines = (EXAMPLE / "tiny.py").read_text().splitlines()

    assert len(lines) <= 200
    assert not any("refdist" in line or "conformance" in line for line in lines)
