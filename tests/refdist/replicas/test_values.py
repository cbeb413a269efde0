import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

import refdist as tf
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


@pytest.mark.parametrize(
    "make",
    [lambda: float("1.5"), lambda: int("12345678901"), lambda: "".join(["a", "b"]), lambda: bytes([1, 2]), lambda: 1j],
)
def test_equal_python_values_that_each_replica_has_made_stay_bare(make):
    with tf.using("host", gpus=3):
        result = tf.distribute.MirroredStrategy().run(lambda: {"x": [make()]})

    assert {"x": [make()]} == result


@pytest.mark.parametrize(
    "make", [lambda: tf.constant(1.0), lambda: tf.constant([1.0, 1.0]), lambda: np.ones(2), object, list]
)
def test_equal_tensors_and_objects_that_each_replica_has_made_stay_apart(make):
    with tf.using("host", gpus=3):
        strategy = tf.distribute.MirroredStrategy()
        result = strategy.run(lambda: (make(),))[0]

    assert [] == result if make is list else 3 == len(strategy.experimental_local_results(result))


def test_equal_numbers_of_different_type_stay_apart():
    with tf.using("host", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        first = lambda: tf.distribute.get_replica_context().replica_id_in_sync_group == 0  # noqa: E731
        result = strategy.run(lambda: 1 if first() else 1.0), strategy.run(lambda: True if first() else 1)

    assert [[int, float], [bool, int]] == [[type(part) for part in one.values] for one in result]
