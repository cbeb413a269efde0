import functools
import subprocess
import sys

import numpy as np
import pytest

import refdist as tf

nnx = pytest.importorskip("flax.nnx")
optax = pytest.importorskip("optax")

ONES = np.ones([2, 2], np.float32)
METRIC = nnx.metrics.Average()


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=3):
        return tf.distribute.MirroredStrategy()


def number():
    return tf.distribute.get_replica_context().replica_id_in_sync_group


class Trainer:
    def __init__(self):
        self.model = nnx.Linear(2, 1, rngs=nnx.Rngs(0))
        self.optimizer = nnx.Optimizer(self.model, optax.sgd(0.1), wrt=nnx.Param)

    def step(self):
        gradients = nnx.grad(lambda model: model(ONES).sum())(self.model)
        total = tf.distribute.get_replica_context().all_reduce("SUM", gradients)
        self.optimizer.update(self.model, total)


def test_an_optimizer_that_every_replica_updates_is_told_and_is_as_it_was(strategy):
    trainer = Trainer()
    kernel = trainer.model.kernel.get_value()
    with pytest.raises(RuntimeError, match=r"Replicas 0 and 1 have both changed 'self\.(model|optimizer)'") as caught:
        strategy.run(trainer.step)
    text = str(caught.value)

    assert all(
        part in text for part in ("Trainer.step (", "test_captured_state.py:", "expected at most one", "VariableTree")
    )
    assert kernel is trainer.model.kernel.get_value()
    assert 0 == int(trainer.optimizer.step.get_value())


def in_a_closure():
    metric = nnx.metrics.Average()
    return lambda: metric.update(values=ONES)


def in_a_partial():
    return functools.partial(lambda metric: metric.update(values=ONES), nnx.metrics.Average())


def in_a_dict_of_a_helper():
    parts = {"metric": nnx.metrics.Average()}

    def helper():
        parts["metric"].update(values=ONES)

    return lambda: helper()


def in_a_default():
    return lambda metric=nnx.metrics.Average(): metric.update(values=ONES)  # noqa: B008


def in_a_global():
    return lambda: METRIC.update(values=ONES)


def in_an_object_that_is_called():
    class Step:
        def __init__(self):
            self.norm = nnx.BatchNorm(2, rngs=nnx.Rngs(0))

        def __call__(self):
            return self.norm(ONES)

    return Step()


def in_a_variable():
    count = nnx.Variable(np.float32(0))

    def step():
        count.set_value(count.get_value() + 1)

    return step


MADE = [
    in_a_closure,
    in_a_partial,
    in_a_dict_of_a_helper,
    in_a_default,
    in_a_global,
    in_an_object_that_is_called,
    in_a_variable,
]


@pytest.mark.parametrize("made", MADE, ids=lambda one: one.__name__)
def test_shared_state_is_found_wherever_a_function_has_it(strategy, made):
    with pytest.raises(RuntimeError, match="have both changed"):
        strategy.run(made())


def test_it_is_found_among_the_arguments(strategy):
    metric = nnx.metrics.Average()
    with pytest.warns(UserWarning, match="Average"), pytest.raises(RuntimeError, match="both changed 'the argument'"):
        strategy.run(lambda metric: metric.update(values=ONES), args=(metric,))


def test_what_one_replica_changes_is_in_order(strategy):
    metric = nnx.metrics.Average()

    def step():
        for _ in range(2):
            if number() == 1:
                metric.update(values=ONES)
            tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))

    strategy.run(step)

    assert 8 == int(metric.count.get_value())


def test_every_replica_may_read_and_may_draw_random_numbers(strategy):
    model, drop = nnx.Linear(2, 2, rngs=nnx.Rngs(0)), nnx.Dropout(0.5, rngs=nnx.Rngs(0))
    result = strategy.run(lambda: drop(model(ONES)))

    assert 3 == len(result.values)


def test_one_replica_alone_may_change_what_it_likes():
    with tf.using("simulator"):
        strategy = tf.distribute.MirroredStrategy()
    trainer = Trainer()
    strategy.run(trainer.step)

    assert 1 == int(trainer.optimizer.step.get_value())


def test_an_error_that_may_come_from_it_says_so(strategy):
    metric = nnx.metrics.Average()

    def step():
        if number() == 1:
            raise KeyError("odd")
        metric.update(values=ONES)

    with pytest.raises(KeyError, match="odd") as caught:
        strategy.run(step)

    assert any("replica 0 has changed 'metric', which all replicas share" in note for note in caught.value.__notes__)


def test_a_program_that_would_change_it_is_told_what_to_do(strategy):
    metric = nnx.metrics.Average()
    with pytest.raises(Exception, match="different trace level") as caught:
        tf.function(lambda: strategy.run(lambda: metric.update(values=ONES)))()

    assert any("tf.VariableTree" in note for note in caught.value.__notes__)
    assert 0 == int(metric.count.get_value())


def test_the_state_in_a_tree_is_updated_once(strategy):
    with strategy.scope():
        tree = tf.VariableTree(nnx.state(nnx.Linear(2, 1, rngs=nnx.Rngs(0))))
    before = tree.read()
    strategy.run(lambda: tree.assign(tf.nest.map_structure(lambda leaf: leaf - 1.0, tree.read())))

    assert np.allclose(np.asarray(before["kernel"].get_value()) - 1.0, np.asarray(tree.read()["kernel"].get_value()))


def test_flax_is_not_loaded_to_find_out():
    code = "import sys, refdist as tf; tf.use('simulator', gpus=2); tf.distribute.MirroredStrategy().run(lambda: 1)"

    assert (
        0 == subprocess.run([sys.executable, "-c", f"{code}; assert 'flax' not in sys.modules"], check=False).returncode
    )
