import pytest
from hypothesis import given
from hypothesis import strategies as st

from refdist._core.processes.common_ledger import ASSIGNMENT, Ledger, assignments_of_one, first_difference

THINGS = st.sampled_from(["all_reduce(SUM)", "a new variable", "a compiled program (1)", "a compiled program (2)"])


def ledger_of(things):
    ledger = Ledger()
    for thing in things:
        ledger.add(thing)
    return ledger


def test_things_are_numbered():
    ledger = Ledger()

    assert [0, 1, 2] == [ledger.add("a") for _ in range(3)]
    assert 3 == ledger.count


@given(st.lists(THINGS, max_size=80), st.integers(0, 80))
def test_workers_that_did_the_same_do_not_differ_however_far_each_is(things, far):
    assert first_difference(ledger_of(things).entries(), ledger_of(things[:far]).entries()) is None


@given(st.lists(THINGS, min_size=1, max_size=30), st.data())
def test_the_first_thing_that_differs_is_found(things, data):
    place = data.draw(st.integers(0, len(things) - 1))
    others = [*things[:place], "something else", *things[place + 1 :]]

    mine, theirs = first_difference(ledger_of(things).entries(), ledger_of(others).entries())

    assert (place, things[place], "something else") == (mine.number, mine.what, theirs.what)


@pytest.mark.parametrize("length", [300, 5000])
def test_an_early_difference_is_found_much_later_too(length):
    things = ["step"] * length

    found = first_difference(ledger_of(things).entries(), ledger_of(["other", *things[1:]]).entries())

    assert found is not None
    assert found[0].what in ("step", "other")


def test_a_thing_with_an_identity_is_compared_by_it_and_not_by_what_is_shown():
    one, other, third = Ledger(), Ledger(), Ledger()
    one.add("set at a.py:1", "w 5")
    other.add("set at b.py:2", "w 5")
    third.add("set at a.py:1", "w 6")

    assert first_difference(one.entries(), other.entries()) is None
    assert first_difference(one.entries(), third.entries()) is not None


def test_what_one_worker_assigned_alone_is_still_known_long_after():
    alone, without = Ledger(), Ledger()
    alone.add(f"{ASSIGNMENT}: 'w:0' set to 5.0", "w 5")
    for ledger in (alone, without):
        for _ in range(3000):
            ledger.add("step")

    assert [f"{ASSIGNMENT}: 'w:0' set to 5.0"] == assignments_of_one(alone.entries(), without.entries())
    assert (
        []
        == assignments_of_one(without.entries(), alone.entries())
        == assignments_of_one(alone.entries(), alone.entries())
    )


def test_what_the_other_has_not_come_to_is_not_missing():
    ahead, behind = ledger_of(["step"] * 5), ledger_of(["step", "other"])
    ahead.add(f"{ASSIGNMENT}: 'w:0' set to 5.0", "w 5")

    assert [] == assignments_of_one(ahead.entries(), behind.entries())


def test_what_is_published_does_not_grow():
    assert len(ledger_of(["step"] * 100_000).entries()) <= 48
