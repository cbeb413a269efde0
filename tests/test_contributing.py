"""What CONTRIBUTING.md says how to add can be added so: each block is put where the page says, and each command succeeds."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
NEEDED = ("refdist", "refdist_bench", "refdist_command", "refdist_pytest", "simulator", "conformance", "tests")
SECTIONS = {
    title: text
    for title, text in re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", PAGE, re.MULTILINE)
    if title.startswith("Add ")
}


class Addition(NamedTuple):
    """A block of the page, and where the sentence before it says that it belongs."""

    place: str
    file: str
    line: str
    text: str


def additions(section):
    places = r"(New\s+file|At\s+the\s+end\s+of|In)\s+`([\w/.]+)`(?:, after the line\s+with `([^`]+)`)?"
    found = re.findall(places + r":\n\n```\w+\n(.*?)```", section, re.DOTALL)
    return [Addition(*rest, re.sub(r"^\+", "", text, flags=re.MULTILINE)) for *rest, text in found]


def commands(section):
    return re.findall(r"^\$ (.*)$", section, re.MULTILINE)


def add(folder, addition):
    path = folder / addition.file
    if addition.place == "New file":
        assert not path.exists()
        path.write_text(addition.text)
    elif addition.line:
        before, line, after = re.split(rf"(.*{re.escape(addition.line)}.*\n)", path.read_text(), maxsplit=1)
        path.write_text(before + line + addition.text + after)
    else:
        gap = "\n" if path.suffix == ".toml" else "\n\n"
        path.write_text(path.read_text() + gap + addition.text)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A copy of the project in which everything was added that the page describes."""
    folder = tmp_path_factory.mktemp("project")
    for name in NEEDED:
        shutil.copytree(ROOT / name, folder / name)  # with its compiled modules, which are those of the copy as well
    shutil.copy(ROOT / "pyproject.toml", folder)
    for section in SECTIONS.values():
        for addition in additions(section):
            add(folder, addition)
    return folder


def run(folder, command):
    settings = {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path]), "XDG_CACHE_HOME": str(folder)}
    return subprocess.run(
        ["bash", "-c", command.replace("python -", f"'{sys.executable}' -")],
        cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_every_block_of_a_section_has_its_place():
    counts = {title: (len(additions(section)), len(commands(section))) for title, section in SECTIONS.items()}

    assert [(5, 1), (3, 2), (2, 1), (3, 2)] == list(counts.values()), counts
    blocks = [re.findall(r"^```(?:python|toml|diff)$", section, re.MULTILINE) for section in SECTIONS.values()]
    assert [len(found) for found in blocks] == [count for count, _ in counts.values()]


@pytest.mark.parametrize("command", [one for section in SECTIONS.values() for one in commands(section)])
def test_a_command_of_the_page_succeeds_after_the_additions(project, command):
    done = run(project, command)

    assert 0 == done.returncode, done.stdout + done.stderr


def test_what_was_added_has_the_style_of_the_project(project):
    files = " ".join({one.file for section in SECTIONS.values() for one in additions(section) if ".py" in one.file})
    done = run(project, f"python -m ruff check {files} && python -m ruff format --check {files}")

    assert 0 == done.returncode, done.stdout + done.stderr


def test_a_strategy_takes_forty_lines():
    assert additions(SECTIONS["Add a strategy"])[0].text.count("\n") <= 40


def test_the_files_that_the_page_names_are_there():
    made = {one.file for section in SECTIONS.values() for one in additions(section) if one.place == "New file"}
    named = set(re.findall(r"`((?:\w+/)+\w*(?:\.\w+)?)`", PAGE)) | set(re.findall(r"\]\(([\w/.]+)\)", PAGE))

    assert [] == sorted(name for name in named - made if not (ROOT / name).exists())
