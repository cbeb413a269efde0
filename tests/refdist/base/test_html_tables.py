import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as generators

from refdist._core.base.html_tables import folded, page, paragraph, table


@given(text=generators.text(generators.characters(exclude_categories=())))
def test_whatever_a_text_holds_it_is_well_formed(text):
    root = ElementTree.fromstring(page(table(text, [text], [[text], [None]]), paragraph(text)))

    assert {"div", "style", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"} >= {
        one.tag for one in root.iter()
    }


def test_a_missing_text_is_told():
    assert "nothing" in table("", [], [[None]])


@pytest.mark.parametrize("count", [0, 1, 10, 11, 10_000])
def test_few_rows_are_all_shown_and_many_are_folded(count):
    shown = folded(count)

    assert len(shown) == min(count, 10)
    assert (None in shown) == (count > 10)
    assert count == 0 or shown[-1] == count - 1
