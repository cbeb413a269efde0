import collections

import pytest
from hypothesis import given

from refdist._core.base import nest
from tests.generators import nests


@given(structure=nests())
def test_a_structure_is_rebuilt_from_its_leaves(structure):
    assert structure == nest.pack_sequence_as(structure, nest.flatten(structure))


@given(structure=nests())
def test_mapping_keeps_the_structure(structure):
    doubled = nest.map_structure(lambda leaf: leaf * 2, structure)

    nest.assert_same_structure(structure, doubled)
    assert [leaf * 2 for leaf in nest.flatten(structure)] == nest.flatten(doubled)


def test_none_is_a_leaf():
    assert [None, 1] == nest.flatten([None, (1,)])


def test_a_named_tuple_stays_one():
    Pair = collections.namedtuple("Pair", "left right")

    assert Pair(2, 3) == nest.map_structure(lambda leaf: leaf + 1, Pair(1, 2))
    assert isinstance(nest.map_structure(lambda leaf: leaf, Pair(1, 2)), Pair)


def test_a_wrong_number_of_leaves_is_refused():
    with pytest.raises(ValueError, match="got 3 leaves; expected 1"):
        nest.pack_sequence_as([0], [1, 2, 3])


def test_different_structures_are_refused():
    with pytest.raises(ValueError, match="differ"):
        nest.assert_same_structure([1], (1,))


def test_mapping_over_nothing_is_refused():
    with pytest.raises(ValueError, match="no structure"):
        nest.map_structure(lambda: 0)


def test_leaves_have_names():
    Pair = collections.namedtuple("Pair", "left right")

    assert [(("a", "left"), 1), (("a", "right", "0"), 2), (("b",), None)] == nest.named_leaves(
        {"b": None, "a": Pair(1, [2])}
    )
    assert [((), 3)] == nest.named_leaves(3)
