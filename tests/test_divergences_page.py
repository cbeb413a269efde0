"""The page on where TensorFlow diverges names every declared divergence, and no other."""

import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "explanation" / "where-tensorflow-diverges.md").read_text()
DECLARED = tomllib.loads((ROOT / "conformance" / "implementations" / "tensorflow_divergences.toml").read_text())


def named(text):
    """The ids of a text, which may say NUMPY-04 to NUMPY-16."""
    for area, first, last in re.findall(r"\b([A-Z0-9]+)-(\d+)(?: to \1-(\d+))?", text):
        yield from (f"{area}-{number:02}" for number in range(int(first), int(last or first) + 1))


def test_the_page_names_all_declared_divergences_and_no_other():
    table = PAGE.split("## The pages say otherwise")[1].split("## ")[0]
    declared = {case.partition("@")[0] for one in DECLARED["divergence"] for case in one["cases"]}

    assert declared == set(named(table))
