"""The examples of the README run as printed."""

import contextlib
import io
import pathlib
import re

import pytest

README = pathlib.Path(__file__).parent.parent / "README.md"
EXAMPLES = re.findall(r"```python\n(.*?)```\n```text\n(.*?)```", README.read_text(), re.S)


def test_there_are_examples():
    assert len(EXAMPLES) >= 2


@pytest.mark.parametrize(("program", "output"), EXAMPLES)
def test_an_example_prints_what_the_readme_says(program, output):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "README.md", "exec"), {"__name__": "readme"})

    assert output == printed.getvalue()
