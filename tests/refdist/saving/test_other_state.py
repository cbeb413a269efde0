import jax
import numpy as np
import pytest

import refdist as tf

nnx = pytest.importorskip("flax.nnx")
optax = pytest.importorskip("optax")


class Model(nnx.Module):
    def __init__(self, seed):
        rngs = nnx.Rngs(seed)
        self.layers = nnx.List([nnx.Linear(2, 2, rngs=rngs)])
        self.drop, self.norm = nnx.Dropout(0.5, rngs=rngs), nnx.BatchNorm(2, rngs=rngs)
        self.again = self.layers[0]


def arrays(*objects):
    leaves = jax.tree.leaves([one if isinstance(one, nnx.State) else nnx.state(one) for one in objects])
    return [np.asarray(jax.random.key_data(one) if "key" in str(one.dtype) else one).tolist() for one in leaves]


def made(seed):
    model = Model(seed)
    return model, nnx.Optimizer(model, optax.adam(1e-1), wrt=nnx.Param)


def test_modules_and_optimizers_of_flax_are_saved_and_restored_in_place(tmp_path):
    model, optimizer = made(1)
    optimizer.update(model, nnx.grad(lambda m: m.layers[0](np.ones([1, 2], np.float32)).sum())(model))
    path = tf.train.Checkpoint(model=model, optimizer=optimizer).save(str(tmp_path / "p"))
    other, its_optimizer = made(2)
    kernel = other.layers[0].kernel
    tf.train.Checkpoint(model=other, optimizer=its_optimizer).restore(path).assert_consumed()
    names = [name.removesuffix("/.ATTRIBUTES/VARIABLE_VALUE") for name, _ in tf.train.list_variables(path)]

    assert arrays(model, optimizer) == arrays(other, its_optimizer)
    assert kernel is other.layers[0].kernel
    assert {"model/again/kernel", "model/norm/mean", "model/drop/rngs/key", "optimizer/step"} <= {*names}
    assert "model/layers/0/kernel" not in names  # it was found under its first name


def test_a_state_and_a_variable_of_flax_are_restored_in_place_too(tmp_path):
    state, variable = nnx.state(Model(1)), nnx.Param({"a": jax.numpy.ones(2), "b": 3.0})
    path = tf.train.Checkpoint(state=state, variable=variable).save(str(tmp_path / "p"))
    other, late = nnx.state(Model(2)), nnx.Param({"a": jax.numpy.zeros(2), "b": 0.0})
    tf.train.Checkpoint(state=other, variable=late).restore(path).assert_consumed()

    assert arrays(Model(1)) == arrays(other)
    assert ([1.0, 1.0], 3.0) == (late.get_value()["a"].tolist(), float(late.get_value()["b"]))


def test_a_checkpoint_that_does_not_fit_leaves_everything_as_it_was(tmp_path, monkeypatch):
    path = tf.train.Checkpoint(a=nnx.Linear(2, 2, rngs=nnx.Rngs(0)), b=tf.Variable(1.0)).save(str(tmp_path / "p"))
    layer = nnx.Linear(2, 3, rngs=nnx.Rngs(1))
    with pytest.raises(ValueError, match=r"'a/bias' as float32 of shape \(2,\); expected float32 of shape \(3,\)"):
        tf.train.Checkpoint(a=layer).restore(path)
    same, variable = nnx.Linear(2, 2, rngs=nnx.Rngs(1)), tf.Variable(0.0)
    before = arrays(same)

    def failing(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(tf.Variable, "assign", failing)
    with pytest.raises(KeyboardInterrupt):
        tf.train.Checkpoint(a=same, b=variable).restore(path)

    assert before == arrays(same)


def test_arrays_that_nobody_could_replace_are_refused():
    for value in ({"w": jax.numpy.ones(2)}, [np.ones(2)], optax.adam(1e-3).init({"w": jax.numpy.ones(2)})):
        with pytest.raises(ValueError, match=r"got arrays in value.*tf.VariableTree\(value\)"):
            tf.train.Checkpoint(value=value)


def test_an_iterator_continues_where_it_was_with_another_number_of_replicas(tmp_path):
    dataset = tf.data.Dataset.range(14).batch(8)

    def begun(count):
        with tf.using("simulator", gpus=count):
            strategy = tf.distribute.MirroredStrategy()
        return iter(strategy.experimental_distribute_dataset(dataset))

    iterator, plain = begun(2), iter(tf.data.Dataset.range(5))
    next(iterator), next(plain), next(plain)
    path = tf.train.Checkpoint(iterator=iterator, plain=plain).save(str(tmp_path / "p"))
    other, again = begun(3), iter(tf.data.Dataset.range(5))
    tf.train.Checkpoint(iterator=other, plain=again).restore(path).assert_consumed()

    assert [[8, 9, 10], [11, 12, 13], []] == [part.numpy().tolist() for part in next(other).values]
    assert [2, 3, 4] == [int(element) for element in again]
    with pytest.raises(ValueError, match="where an iterator is to be restored"):
        tf.train.Checkpoint(v=again).restore(tf.train.Checkpoint(v=tf.Variable(1.0)).save(str(tmp_path / "q")))
