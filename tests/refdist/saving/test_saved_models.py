import numpy as np
import pytest

import refdist as tf
from refdist._core.saving.array_file import write_arrays

HOSTILE = [
    "__class__/variables", "__class__/x", "__dict__/x", "__init__", "__setattr__/x", "a/__class__/variables", "a/__dict__/b",
    "variables", "trainable_variables", "name", "name/x", "variables/0", "a/variables", "", "/", "a/", "/a", "a//b",
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE)
def test_a_path_that_is_no_name_of_a_variable_is_not_followed(tmp_path, path):
    before = dict(vars(tf.Module))
    write_arrays(tmp_path / "variables.safetensors", {"good": np.ones(2), path: np.ones(2)})
    with pytest.raises(ValueError, match="expected names that a module has free"):
        tf.saved_model.load(str(tmp_path))

    assert before == dict(vars(tf.Module))


@pytest.mark.parametrize("paths", [("a", "a/b"), ("a/b", "a"), ("a", "a/b/c"), ("x/a/b/c", "x/a")])
def test_a_path_that_is_a_variable_and_has_variables_is_told(tmp_path, paths):
    write_arrays(tmp_path / "variables.safetensors", {path: np.ones(2) for path in paths})
    with pytest.raises(ValueError, match="expected the first to be a variable or to have some, not both"):
        tf.saved_model.load(str(tmp_path))


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    module = tf.Module()
    module.parts = {"name": tf.Variable(1.0)}
    with pytest.raises(ValueError, match="The module has a variable under 'parts/name'"):
        tf.saved_model.save(module, str(tmp_path / "model"))

    assert not (tmp_path / "model").exists()


def test_keys_and_indices_are_names_too(tmp_path):
    module = tf.Module()
    module.parts = [tf.Variable(1.0), {"a/b": tf.Variable(2.0), "_private": tf.Variable(3.0)}]
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))

    assert [1.0, 3.0, 2.0] == [variable.numpy() for variable in loaded.variables]
    assert 2.0 == getattr(getattr(loaded.parts, "1"), "a/b").numpy()


ON_READ, SUM, MEAN = tf.VariableSynchronization.ON_READ, tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN


def test_a_loaded_variable_is_of_the_kind_that_was_saved(tmp_path, any_backend, names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    module = tf.Module()
    with strategy.scope():
        module.total = tf.Variable(2.0, synchronization=ON_READ, aggregation=SUM)
        module.mean = tf.Variable(1.0, synchronization=ON_READ, aggregation=MEAN, trainable=True)
        module.step = tf.Variable(4.0, aggregation=MEAN, trainable=False)
    strategy.run(lambda: module.total.assign_add(3.0))
    tf.saved_model.save(module, str(tmp_path))
    with strategy.scope():
        loaded = tf.saved_model.load(str(tmp_path))
    alone = tf.saved_model.load(str(tmp_path))

    for name in ("total", "mean", "step"):
        old = getattr(module, name)
        for new in (getattr(loaded, name), getattr(alone, name)):
            assert (old.synchronization, old.aggregation, old.trainable, old.numpy()) == (
                new.synchronization,
                new.aggregation,
                new.trainable,
                new.numpy(),
            )
    assert [5.0, 5.0] == [float(copy) for copy in strategy.experimental_local_results(loaded.total)]


@pytest.mark.parametrize(
    "note", ["{", "[]", '{"synchronization": "ON_READ"}', '{"trainable": 1, "synchronization": 3}']
)
def test_a_note_that_is_none_is_refused(tmp_path, note):
    write_arrays(tmp_path / "variables.safetensors", {"good": np.ones(2)}, {"good": note})
    with pytest.raises(ValueError, match="expected what saved_model"):
        tf.saved_model.load(str(tmp_path))
