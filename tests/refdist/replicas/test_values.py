import pytest
from hypothesis import given
from hypothesis import strategies as generators

from refdist._core.base import nest
from refdist._core.replicas.values import DistributedValues, Mirrored, PerReplica, regroup, select
from tests.generators import nests


@given(structure=nests(), count=generators.integers(2, 5))
def test_selecting_from_what_was_regrouped_gives_each_replica_its_own(structure, count):
    mine = [nest.map_structure(lambda leaf, i=index: (leaf, i)[1] * 10, structure) for index in range(count)]
    merged = regroup(mine)

    assert mine == [select(merged, index) for index in range(count)]


def test_equal_python_values_stay_bare_and_equal_objects_do_not():
    one, other = [1.5], [1.5]
    tensor = object()

    assert 4 == regroup([4, 4])
    assert "a" == regroup(["a", "a"])
    assert tensor is regroup([tensor, tensor])
    assert isinstance(regroup([object(), object()]), PerReplica)
    assert [1.5] == regroup([one, other])
    assert isinstance(regroup([1, 1.0]), PerReplica)
    assert isinstance(regroup([True, 1]), PerReplica)


def test_one_value_is_itself():
    value = object()

    assert value is regroup([value])


def test_it_prints_as_a_block():
    assert "PerReplica:{\n  0: 'a',\n  1: 'b'\n}" == repr(PerReplica(["a", "b"]))
    assert "Mirrored:{\n  0: a,\n  1: a\n}" == str(Mirrored(["a", "a"]))


def test_nests_of_different_shape_are_refused_and_the_replicas_named():
    with pytest.raises(ValueError, match=r"replica 0 has .*; replica 2 has .*"):
        regroup([(1, 2), (1, 3), [1, 4]])
    with pytest.raises(ValueError, match="a single value"):
        regroup([1, (1,)])
    with pytest.raises(ValueError, match="different shape"):
        regroup([{"a": 1}, {"b": 1}])


def test_what_is_not_distributed_is_passed_on():
    assert {"a": 1} == select({"a": 1}, 3)
    assert (1, [3]) == select((1, [DistributedValues([2, 3])]), 1)
