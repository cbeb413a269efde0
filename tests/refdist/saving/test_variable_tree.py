import copy
import dataclasses
from typing import Any

import jax
import numpy as np
import pytest

import refdist as tf


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Layer:
    kernel: Any
    bias: Any = None
    activation: Any = None


def relu(x):
    return x


def made(value):
    return {"first": Layer(np.full([2], value, np.float32), activation=relu), "steps": (int(value), None, "text", True)}


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[:2])


def test_arrays_and_numbers_are_variables_and_everything_else_stays_as_it_is(strategy):
    with strategy.scope():
        tree = tf.VariableTree(made(3), name="model")
    read = tree.value()

    assert ["model/first/kernel:0", "model/steps/0:0"] == [variable.name for variable in tree.variables]
    assert {"MirroredVariable"} == {type(variable).__name__ for variable in tree.variables}
    assert (relu, None) == (read["first"].activation, read["first"].bias)
    assert (None, "text", True) == read["steps"][1:]
    assert [3.0, 3.0] == np.asarray(read["first"].kernel).tolist()
    assert "2 variables" in repr(tree)


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "staged"])
def test_replicas_read_and_write_it(any_backend, strategy, staged):
    if staged and any_backend.name == "host":
        pytest.skip("the host compiles nothing")
    with strategy.scope():
        tree = tf.VariableTree({"w": Layer(tf.ones([2]))}, aggregation=tf.VariableAggregation.MEAN)

    def step():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        tree.assign(tf.nest.map_structure(lambda w: w + tf.cast(number, tf.float32) * 2, tree.read()))
        return tree.read()

    run = tf.function(lambda: strategy.run(step)) if staged else lambda: strategy.run(step)
    run()
    parts = strategy.experimental_local_results(run())

    assert [[3.0, 3.0]] * 2 == [np.asarray(part["w"].kernel).tolist() for part in parts]
    assert [3.0, 3.0] == np.asarray(tree.read()["w"].kernel).tolist()


def test_each_replica_has_its_own_where_it_is_asked_for(strategy):
    options = {"synchronization": tf.VariableSynchronization.ON_READ, "aggregation": tf.VariableAggregation.SUM}
    with strategy.scope():
        tree = tf.VariableTree([0.0], **options)
    strategy.run(lambda: tree.assign_add([1.0]))
    strategy.run(lambda: tree.assign_sub([3.0]))

    assert -4.0 == float(tree.read()[0])
    assert () == tree.trainable_variables


def test_another_structure_or_shape_is_refused_before_anything_is_written():
    tree = tf.VariableTree({"a": tf.zeros([2]), "b": tf.zeros([3])})
    for wrong, words in (({"a": tf.ones([2])}, "another structure"), ({"a": tf.ones([2]), "b": tf.ones([2])}, "shape")):
        with pytest.raises(ValueError, match=rf"(?s){words}.*expected.*Nothing was written"):
            tree.assign(wrong)

    assert [0.0, 0.0] == np.asarray(tree.read()["a"]).tolist()


def test_a_checkpoint_saves_it_by_the_names_of_its_parts(tmp_path, strategy):
    path = tf.train.Checkpoint(model=tf.VariableTree(made(3))).save(str(tmp_path / "p"))
    with strategy.scope():
        other = tf.VariableTree(made(0))
    tf.train.Checkpoint(model=other).restore(path).assert_consumed()
    module = tf.Module()
    status = tf.train.Checkpoint(model=module).restore(path)
    with pytest.raises(AssertionError, match="model/tree/first/kernel, model/tree/steps/0"):
        status.assert_consumed()

    assert [3.0, 3.0] == np.asarray(other.read()["first"].kernel).tolist()
    assert 3 == int(other.read()["steps"][0])


def test_random_keys_are_kept_by_their_numbers(tmp_path, strategy):
    with strategy.scope():
        tree = tf.VariableTree({"key": jax.random.key(5), "old": jax.random.PRNGKey(6)})
    tree.assign({"key": jax.random.key(7), "old": jax.random.PRNGKey(8)})
    path = tf.train.Checkpoint(tree=tree).save(str(tmp_path / "p"))
    tree.assign({"key": jax.random.key(0), "old": jax.random.PRNGKey(0)})
    tf.train.Checkpoint(tree=tree).restore(path)

    assert jax.random.key(7) == tree.read()["key"]
    assert jax.random.PRNGKey(8).tolist() == np.asarray(tree.read()["old"]).tolist()


def test_a_copy_has_values_of_its_own():
    tree = tf.VariableTree([1.0])
    other = copy.deepcopy(tree)
    tree.assign([2.0])

    assert [1.0, 2.0] == [float(one.read()[0]) for one in (other, tree)]


def test_one_array_is_a_tree_too():
    tree = tf.VariableTree(tf.ones([2]))
    tree.assign(tf.zeros([2]))

    assert [0.0, 0.0] == np.asarray(tree.read()).tolist()
