"""The catalogue holds every documented behavior, and refuses entries that break its rules."""

from collections.abc import Mapping

import pytest

from conformance.catalogue import AREAS, KINDS, LEVELS, CatalogueError, load, parse


def entry(id: str = "RUN-01", **changes: str) -> str:
    fields = {
        "id": f'"{id}"',
        "title": '"a title"',
        "statement": '"A statement."',
        "observe": '"How to see it."',
        "sources": '["page#run"]',
        "applies_to": '["Mirrored"]',
        "level": '"must"',
        **changes,
    }
    return "[[behavior]]\n" + "".join(f"{name} = {value}\n" for name, value in fields.items() if value)


def test_the_packaged_catalogue_has_375_behaviors_in_the_order_of_its_areas() -> None:
    catalogue = load()

    assert 375 == len(catalogue)
    assert list(AREAS) == list(dict.fromkeys(behavior.area for behavior in catalogue.values()))
    assert {behavior.level for behavior in catalogue.values()} <= set(LEVELS)
    assert {kind for behavior in catalogue.values() for kind in behavior.applies_to} == set(KINDS)


def test_every_behavior_has_texts_and_sources() -> None:
    assert all(
        behavior.title and behavior.statement and behavior.observe and behavior.sources and behavior.applies_to
        for behavior in load().values()
    )


def test_the_catalogue_is_read_once_and_cannot_be_changed() -> None:
    assert load() is load()
    assert not hasattr(load(), "__setitem__")


def test_an_entry_becomes_a_behavior_with_all_its_fields() -> None:
    texts = {"RUN": entry("RUN-01", conflicts_with='["RUN-02"]') + entry("RUN-02", conflicts_with='["RUN-01"]')}

    behavior = parse(texts)["RUN-01"]

    assert ("RUN", "a title", ("page#run",)) == (behavior.area, behavior.title, behavior.sources)
    assert (("Mirrored",), "must", ("RUN-02",)) == (behavior.applies_to, behavior.level, behavior.conflicts_with)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"RUN": entry() + entry()}, "a second time"),
        ({"RUN": entry(level='"maybe"')}, "expected one of must"),
        ({"RUN": entry(applies_to='["Mirored"]')}, "expected one of Strategy"),
        ({"VAR": entry("RUN-01")}, "expected VAR- and a number"),
        ({"RUN": entry("RUN-one")}, "expected RUN- and a number"),
        ({"RUN": entry(title="")}, r"Add \['title'\]"),
        ({"RUN": entry(extra='"word"')}, r"remove \['extra'\]"),
        ({"RUN": entry(conflicts_with='["RUN-99"]')}, "expected the id of an entry"),
        ({"RUN": entry(conflicts_with='["RUN-02"]') + entry("RUN-02")}, "expected both to name each other"),
        ({"RUN": "[[behavior"}, "is not TOML"),
    ],
)
def test_an_entry_that_breaks_a_rule_is_refused(texts: Mapping[str, str], message: str) -> None:
    with pytest.raises(CatalogueError, match=message):
        parse(texts)
