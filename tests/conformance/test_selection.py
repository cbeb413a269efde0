"""A selection picks by area, id and text, and says what there is when a name is unknown."""

import pytest

from conformance.catalogue import load
from conformance.implementations import UnknownName
from conformance.selection import Selection, one


def ids(**fields: tuple[str, ...]) -> list[str]:
    return [behavior.id for behavior in Selection(**fields).of(load())]  # pyright: ignore[reportArgumentType]


def test_without_restriction_everything_is_selected() -> None:
    assert list(load()) == ids()


def test_areas_are_added_to_each_other() -> None:
    assert {"FUNC", "CONFIG"} == {load()[id].area for id in ids(areas=("func", "CONFIG"))}


def test_an_id_selects_this_behavior_only() -> None:
    assert ["RUN-01"] == ids(keywords=("run-01",))


def test_a_text_selects_by_title_and_statement() -> None:
    found = ids(keywords=("Num_Replicas_In_Sync attribute",))

    assert ["ATTR-03"] == found


def test_ids_and_texts_are_added_and_then_cut_by_area() -> None:
    assert ["ATTR-03", "RUN-01"] == ids(keywords=("RUN-01", "num_replicas_in_sync attribute"))
    assert ["RUN-01"] == ids(keywords=("RUN-01", "num_replicas_in_sync attribute"), areas=("RUN",))


def test_a_text_that_nothing_has_selects_nothing() -> None:
    assert [] == ids(keywords=("zebra crossing",))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"areas": ("RUM",)}, "expected one of ATTR, SCOPE"),
        ({"keywords": ("RUN-99",)}, "expected RUN-01 to RUN-"),
        ({"keywords": ("RUM-01",)}, "expected one of the areas ATTR"),
    ],
)
def test_an_unknown_name_is_an_error_that_says_what_there_is(fields: dict[str, tuple[str, ...]], message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        ids(**fields)


def test_one_wants_an_id() -> None:
    assert "RUN-01" == one("run-01", load()).id
    with pytest.raises(UnknownName, match="expected an id such as ATTR-01"):
        one("gather", load())
