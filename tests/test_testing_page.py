"""The programs of docs/testing.md run as printed."""

import contextlib
import importlib.metadata
import io
import pathlib
import re
import subprocess
import sys

import pytest

from refdist._core.backends import choosing

ROOT = pathlib.Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "testing.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", PAGE, re.S)
FRAGMENTS = re.findall(r"```py\n(.*?)```", PAGE, re.S)  # of programs that are not shown as a whole
FILES = re.findall(r'```python title="(\w+\.py)"\n(.*?)```', PAGE, re.S)


def test_there_are_examples_and_files():
    assert len(EXAMPLES) >= 1
    assert ["train.py", "test_train.py", "test_workers.py"] == [name for name, _ in FILES]
    assert PAGE.count("```python") == len(EXAMPLES) + len(FILES)


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_a_fragment_is_python(fragment):
    compile(fragment, "testing.md", "exec")


@pytest.mark.filterwarnings("ignore:Replica.*got no rows")  # the page shows how the ledger tells it
@pytest.mark.parametrize(("program", "output"), EXAMPLES)
def test_an_example_prints_what_the_page_says(program, output):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "testing.md", "exec"), {"__name__": "testing"})

    assert output == printed.getvalue()
    assert choosing.current().name == "simulator"


def test_the_tests_of_the_page_pass(tmp_path):
    for name, text in FILES:
        (tmp_path / name).write_text(text)
    # Where the project is installed, pytest finds the plugin by itself, and takes no second one.
    installed = importlib.metadata.entry_points(group="pytest11", name="refdist")
    plugin = [] if installed else ["-p", "refdist_pytest.plugin"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        *plugin,
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
    ]
    done = subprocess.run([*command, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=120)

    assert "4 passed" in done.stdout, done.stdout + done.stderr


def test_the_test_of_the_page_takes_ten_lines():
    assert dict(FILES)["test_train.py"].count("\n") <= 10
