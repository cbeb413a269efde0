"""The files of the tutorial and the how-tos, put into an empty folder, do what the pages show of them."""

import doctest
import os
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

from tests.thorough import THOROUGH

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
LONG = ("refdist launch", "refdist bench")  # some seconds each: for who asks for thorough tests


def files(page):
    """The blocks with a title, by their names; one that is shown again is a later version."""
    return re.findall(r'^```\w+ title="([\w./-]+)"\n(.*?)^```', page.read_text(), re.DOTALL | re.MULTILINE)


def commands(page):
    """The commands of which the page shows the output; those without any set something up."""
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    found = [pair for block in blocks for pair in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)]
    return [(command, output) for command, output in found if output and (THOROUGH or not command.startswith(LONG))]


RUN = [page for page in PAGES if commands(page)]


def test_pages_show_what_commands_print():
    assert {"tutorial", "survive-a-lost-worker", "write-a-backend"} <= {page.stem for page in RUN}
    assert all(files(page) for page in RUN)


@pytest.mark.parametrize("page", RUN, ids=[page.stem for page in RUN])
def test_commands_print_what_the_page_says(page, tmp_path):
    for name, text in files(page):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    install(tmp_path)
    for command, output in commands(page):
        done = run(command, tmp_path)

        assert doctest.OutputChecker().check_output(output, done.stdout, doctest.ELLIPSIS), done.stdout + done.stderr


@pytest.mark.parametrize(
    ("given", "mended"), [('"sum"', '"mean"'), (r"tf.reduce_mean\((.*)\)(?=  #)", r"tf.reduce_sum(\1) / 8")]
)
def test_what_the_tutorial_says_mends_its_mistake(given, mended, tmp_path):
    page = ROOT / "docs" / "tutorial.md"
    assert all(f"`{word}`" in page.read_text() for word in ('"mean"', "tf.reduce_sum(...) / 8"))
    for name, text in files(page):
        (tmp_path / name).write_text(re.sub(given, mended, text) if name == "train.py" else text)

    assert "4 passed" in run("python -m pytest -q", tmp_path).stdout


def install(folder):
    """Let Python find the project of a folder under its entry points, as pip does; a folder without one has none."""
    if (folder / "pyproject.toml").exists():
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        installed = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        installed.mkdir()
        (installed / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
        lines = [
            f"[{group}]\n" + "".join(f"{name} = {target}\n" for name, target in entries.items())
            for group, entries in project["entry-points"].items()
        ]
        (installed / "entry_points.txt").write_text("\n".join(lines))


def run(command, folder):
    own = {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT), *sys.path]), "COLUMNS": "80"}
    own |= {"XDG_CACHE_HOME": str(folder), "PYTEST_ADDOPTS": "-p no:cacheprovider", "PYTHONWARNINGS": "error"}
    written = re.sub(r"\bPYTHONPATH=\S+ ", "", command).replace("python -m refdist", "refdist")
    written = re.sub(r"\bpython (?=[-\w])", f"'{sys.executable}' ", written)
    written = re.sub(r"^refdist (?=\w)", f"'{sys.executable}' -m refdist ", written)
    settings = {name: value for name, value in os.environ.items() if name not in {"XLA_FLAGS", "JAX_NUM_CPU_DEVICES"}}
    return subprocess.run(
        ["bash", "-c", written], cwd=folder, env={**settings, **own}, capture_output=True, text=True, timeout=200
    )
