"""The notebooks in examples/ show what they showed when they were last kept."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from tests.notebooks import EXAMPLES, NAMES, executed, forms, read, texts


def test_all_notebooks_are_run():
    assert sorted(NAMES) == sorted(path.stem for path in EXAMPLES.glob("*.ipynb"))


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_shows_what_it_has_shown_before(name):
    kept = read(name)
    now = executed(kept)

    assert texts(kept) == texts(now)
    assert forms(kept) == forms(now)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_kept_without_traces_of_the_machine_that_ran_it(name):
    text = (EXAMPLES / f"{name}.ipynb").read_text()

    assert not [trace for trace in ("ipykernel", "/tmp", "/home", "/root", "site-packages", " at 0x") if trace in text]
    assert not re.search(r"\d{5,}\.py", text), "the file that stands for a cell"
    assert ["kernelspec", "language_info"] == sorted(json.loads(text)["metadata"])
    assert all(cell["metadata"] == {} for cell in json.loads(text)["cells"])


@pytest.mark.parametrize("name", NAMES)
def test_every_table_and_picture_in_a_notebook_is_well_formed(name):
    outputs = [output for cell in read(name).cells for output in cell.get("outputs", []) if "data" in output]
    shown = [output.data[form] for output in outputs for form in ("text/html", "image/svg+xml") if form in output.data]

    assert [ElementTree.fromstring(one) for one in shown]


def test_cells_are_run_in_order():
    for name in NAMES:
        counts = [cell.execution_count for cell in read(name).cells if cell.cell_type == "code"]
        assert list(range(1, len(counts) + 1)) == counts
