import collections
import dataclasses
import subprocess
import sys
from typing import Any

import jax
import numpy as np
import pytest

import refdist as tf
from refdist._core.base import nest
from refdist._core.base.pytree_nodes import is_node

Pair = collections.namedtuple("Pair", "left right")


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    kernel: Any
    bias: Any = None
    size: int = dataclasses.field(default=3, metadata={"static": True})


@jax.tree_util.register_pytree_node_class
class Chain:
    """Checks its parts when it is made, and keeps a list beside them, which has no hash."""

    def __init__(self, parts, names):
        self.parts, self.names = list(parts), names

    def tree_flatten(self):
        return self.parts, self.names

    @classmethod
    def tree_unflatten(cls, names, parts):
        return cls(parts, names)


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[:2])


def numbers(tree):
    return [np.asarray(leaf).tolist() for leaf in nest.flatten(tree)]


def test_a_container_of_jax_is_a_nest_and_what_it_keeps_beside_is_its_shape():
    tree = {"b": Layer(1, Chain([2, (3, None)], ["x"])), "a": [Pair(0, 9)]}
    mapped = nest.map_structure(lambda leaf: leaf * 10, tree)

    assert [0, 9, 1, 2, 3] == nest.flatten(tree)  # None says inside that there is nothing, as in JAX
    assert (10, [20, (30, None)]) == (mapped["b"].kernel, mapped["b"].bias.parts)
    assert nest.shape_of(tree) == nest.shape_of(mapped)
    assert hash(nest.shape_of(tree)) == hash(nest.shape_of(mapped))
    assert nest.shape_of(Layer(1, 2)) != nest.shape_of(Layer(1, 2, 4)) != nest.shape_of(Layer(1))
    assert nest.shape_of(Chain([1], ["x"])) != nest.shape_of(Chain([1], ["y"])) != nest.shape_of([1])
    assert Layer(1, 2) == nest.pack_sequence_as(Layer(0, 0), [1, 2])
    assert Layer(3, 5) == nest.map_structure(lambda one, other: one + other, Layer(1, 2), Layer(2, 3))
    assert tf.nest.is_nested(Layer(1))
    with pytest.raises(ValueError, match=r"Layer.*differ|differ.*Layer"):
        nest.assert_same_structure([Layer(1)], [Layer(1, 2)])


def test_arrays_beside_the_parts_make_shapes_differ_unless_they_are_the_same():
    beside = np.array([1, 2])

    assert nest.shape_of(Chain([1], beside)) == nest.shape_of(Chain([1], beside))
    assert nest.shape_of(Chain([1], beside)) != nest.shape_of(Chain([1], beside.copy()))


def test_a_class_can_be_registered_after_an_object_was_met():
    class Late:
        def __init__(self, value):
            self.value = value

    assert not is_node(Late(1))
    jax.tree_util.register_pytree_node(Late, lambda late: ((late.value,), None), lambda _, parts: Late(*parts))

    assert [1] == nest.flatten(Late(1))


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "staged"])
def test_replicas_get_and_return_them_and_reduce_and_gather_them(any_backend, strategy, staged):
    if staged and any_backend.name == "host":
        pytest.skip("the host compiles nothing")

    def step(layer, factor):
        replica = tf.distribute.get_replica_context()
        assert isinstance(layer, Layer)
        assert layer.size == 7
        mine = Layer(layer.kernel * factor, Chain([tf.reshape(factor, [1])], ["x"]), 7)
        return replica.all_reduce("SUM", mine), replica.all_gather(mine.bias, axis=0), mine

    def whole(layer, factor):
        total, joined, mine = strategy.run(step, args=(layer, factor))
        mean = strategy.reduce("MEAN", mine, axis=None)
        return strategy.experimental_local_results(total), joined, mean, strategy.gather(mine.bias, axis=0)

    factor = strategy.experimental_distribute_values_from_function(
        lambda c: tf.constant(c.replica_id_in_sync_group + 1.0)
    )
    if staged:
        whole = tf.function(whole)
    for _ in range(2):
        totals, joined, mean, gathered = whole(Layer(tf.constant([1.0, 2.0]), size=7), factor)

    assert [[[3.0, 6.0], [3.0]]] * 2 == [numbers(total) for total in totals]
    assert [[1.0, 2.0]] * 2 == [np.asarray(part).tolist() for part in joined.parts[0].values]
    assert [[1.5, 3.0], [1.5]] == numbers(mean)
    assert [[1.0, 2.0]] == numbers(gathered)
    assert {Layer, Chain} == {*map(type, totals), type(mean), type(gathered)}
    assert not staged or whole.experimental_get_tracing_count() == 1


def test_a_function_tells_calls_apart_by_what_is_beside_the_parts():
    traced = []

    @tf.function
    def double(layer):
        traced.append(layer.size)
        return Layer(layer.kernel * 2, size=layer.size)

    with tf.using("simulator"):
        results = [double(Layer(tf.constant(2.0), size=size)) for size in (1, 2, 1)]

    assert ([1, 2], [4.0] * 3) == (traced, [float(result.kernel) for result in results])
    assert [1, 2, 1] == [result.size for result in results]


def test_replicas_that_return_other_shapes_are_told():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()

        def step():
            number = tf.distribute.get_replica_context().replica_id_in_sync_group
            return Layer(tf.constant(1.0), size=number)

        with pytest.raises(ValueError, match="nests of different shape"):
            strategy.run(step)


def test_a_replica_may_pause_while_one_is_made(strategy):
    @jax.tree_util.register_pytree_node_class
    class Summed(Chain):
        @classmethod
        def tree_unflatten(cls, names, parts):
            replica = tf.distribute.get_replica_context()
            if replica is not None and names == "sum":
                parts = [replica.all_reduce("SUM", part) for part in parts]
            return cls(parts, names)

    result = strategy.run(lambda: tf.nest.map_structure(lambda leaf: leaf, Summed([tf.constant(2.0)], "sum")).parts[0])

    assert [4.0] * 2 == [float(part) for part in result.values]


def test_one_is_no_tensor_and_no_initial_value():
    class Called(Chain):
        def __call__(self, x):
            return x

    jax.tree_util.register_pytree_node(Called, Chain.tree_flatten, Called.tree_unflatten)
    for made in (tf.constant, tf.Variable):
        with pytest.raises(TypeError, match=r"A Called was to become one tensor.*VariableTree"):
            made(Called([1.0], "x"))


def test_what_flax_changes_in_place_stays_one_object():
    nnx = pytest.importorskip("flax.nnx")
    model = nnx.Linear(2, 2, rngs=nnx.Rngs(0))

    assert [model] == nest.flatten(model)
    assert 2 == len(nest.flatten(nnx.state(model)))
    assert isinstance(nest.map_structure(lambda leaf: leaf, nnx.state(model)), nnx.State)


def test_jax_is_not_loaded_to_find_out():
    code = "import sys, refdist; refdist.nest.flatten([object()]); assert 'jax' not in sys.modules"

    assert 0 == subprocess.run([sys.executable, "-c", code], check=False).returncode
