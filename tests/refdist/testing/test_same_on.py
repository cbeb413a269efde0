"""A program either computes the same on any number of replicas, or is told where it begins not to."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist.testing import ReplicasDiffer, assert_same_on
from tests.children import run_python
from tests.thorough import examples

pytestmark = pytest.mark.filterwarnings(
    "ignore:Replica.*got no rows:RuntimeWarning"
)  # batches that do not divide, on purpose

ROWS = np.arange(1.0, 9.0, dtype=np.float32)


def batches(strategy, rows=ROWS, size=8):
    return strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(rows).batch(size))


def total(strategy, rows=ROWS):
    (values,) = (strategy.run(tf.reduce_sum, args=(x,)) for x in batches(strategy, rows))
    return strategy.reduce("SUM", values, axis=None)


def counting(strategy):
    return {"replicas": strategy.num_replicas_in_sync, "total": total(strategy)}


@pytest.mark.parametrize("replicas", [(1,), (), 4, (1, 1), (0, 1), (1, 2.0), "12"])
def test_numbers_of_replicas_that_cannot_be_compared_are_refused(replicas):
    with pytest.raises(ValueError, match="two or more different numbers"):
        assert_same_on(total, replicas)


@pytest.mark.parametrize("program", [lambda: None, lambda strategy, other: None, 3])
def test_a_program_that_does_not_take_a_strategy_is_refused(program):
    with pytest.raises(TypeError, match=r"program\(strategy\)|takes a strategy"):
        assert_same_on(program)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"except_for": "w"}, TypeError),
        ({"except_for": (1,)}, TypeError),
        ({"rtol": -1.0}, ValueError),
        ({"rtol": "small"}, ValueError),
        ({"backend": "cuda"}, ValueError),
        ({"except_for": ("nothing",)}, ValueError),
        ({"strategy": lambda devices: tf.distribute.OneDeviceStrategy(devices[0])}, ValueError),
    ],
)
def test_wrong_options_are_refused(options, error):
    with pytest.raises(error, match=r"assert_same_on\(\) got"):
        assert_same_on(total, **options)


def test_a_program_that_makes_a_strategy_of_its_own_is_told_to_take_the_one_given():
    with pytest.raises(ValueError, match="expected it to use the strategy that it is given"):
        assert_same_on(lambda strategy: total(tf.distribute.OneDeviceStrategy("GPU:0")))


def test_a_program_that_has_nothing_to_compare_is_told_so():
    with pytest.raises(ValueError, match="expected something to compare"):
        assert_same_on(lambda strategy: strategy.run(lambda: None))


def test_a_program_that_is_not_repeatable_is_told_first():
    numbers = itertools.count()

    with pytest.raises(AssertionError, match="not repeatable"):
        assert_same_on(lambda strategy: total(strategy) + next(numbers))


def test_an_error_in_the_program_says_on_how_many_replicas():
    def program(strategy):
        if strategy.num_replicas_in_sync == 4:
            raise RuntimeError("planted")
        return total(strategy)

    with pytest.raises(RuntimeError, match="planted") as caught:
        assert_same_on(program)
    assert "on 4 replicas" in "".join(caught.value.__notes__)


def test_seeds_are_set_for_each_run_and_restored_afterwards():
    def program(strategy):
        with strategy.scope():
            w = tf.Variable(tf.random.normal([3]), name="w")
        w.assign_add(np.random.normal(size=3).astype(np.float32))
        return w, total(strategy)

    np.random.seed(5)
    assert_same_on(program)
    after = np.random.normal()

    np.random.seed(5)
    assert np.random.normal() == after


def test_pytest_shows_the_test_that_asked_and_the_public_name_of_the_error():
    with pytest.raises(ReplicasDiffer) as caught:
        assert_same_on(counting)

    assert [__file__] == [str(shown.path) for shown in caught.traceback.filter(caught)]
    assert "refdist.testing.ReplicasDiffer" == f"{ReplicasDiffer.__module__}.{ReplicasDiffer.__qualname__}"


def test_what_may_depend_on_the_number_is_left_out():
    with pytest.raises(ReplicasDiffer) as caught:
        assert_same_on(counting)

    assert caught.value.what == "the returned value['replicas']"
    assert_same_on(counting, except_for=("replicas",))
    assert_same_on(counting, except_for=("repl*",))


def test_a_variable_that_may_depend_on_the_number_is_left_out_by_name():
    def program(strategy):
        with strategy.scope():
            tf.Variable(0.0, name="how_many").assign(float(strategy.num_replicas_in_sync))
        return total(strategy)

    with pytest.raises(ReplicasDiffer, match="how_many"):
        assert_same_on(program)
    assert_same_on(program, except_for=("how_many",))


def test_how_many_replicas_there_are_may_be_found_out_on_the_way():
    def program(strategy):
        def step(x):
            replica = tf.distribute.get_replica_context()
            count = replica.all_reduce("SUM", tf.constant(1.0))
            return replica.all_reduce("MEAN", tf.reduce_sum(x)) * count

        return [strategy.experimental_local_results(strategy.run(step, args=(x,)))[0] for x in batches(strategy)]

    assert_same_on(program)


def test_another_number_of_writes_is_told():
    def program(strategy):
        w = tf.Variable(0.0, name="w")
        for _ in range(strategy.num_replicas_in_sync):
            w.assign(1.0)
        return total(strategy)

    with pytest.raises(ReplicasDiffer, match="the number of steps"):
        assert_same_on(program)


def test_a_small_step_of_a_large_variable_is_compared_exactly():
    def program(strategy):
        with strategy.scope():
            w = tf.Variable(1000.0, dtype=tf.float64, name="w", aggregation=tf.VariableAggregation.SUM)
        strategy.run(lambda: w.assign_add(tf.constant(1e-6, tf.float64)))

    with pytest.raises(ReplicasDiffer) as caught:
        assert_same_on(program)
    assert caught.value.factor.name == "N"


@pytest.mark.parametrize(
    "shown",
    [
        lambda strategy, value: value,
        lambda strategy, value: strategy.experimental_local_results(value),
        lambda strategy, value: list(strategy.experimental_local_results(value)),
        lambda strategy, value: {"rows": value},
        lambda strategy, value: strategy.gather(value, axis=0),
    ],
)
def test_what_each_replica_has_of_a_batch_is_the_batch_when_it_is_joined(shown):
    def program(strategy, add):
        return [shown(strategy, strategy.run(lambda x: x + add, args=(x,))) for x in batches(strategy)]

    assert_same_on(lambda strategy: program(strategy, 1.0))
    with pytest.raises(ReplicasDiffer):
        assert_same_on(lambda strategy: program(strategy, float(strategy.num_replicas_in_sync)))


def test_a_gradient_that_is_reduced_on_its_way_is_the_origin_and_not_the_sizes_that_are_gathered_with_it():
    def program(strategy):
        with strategy.scope():
            w = tf.Variable(1.0, name="w", aggregation=tf.VariableAggregation.SUM)

        def step(x):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.distribute.get_replica_context().all_gather(x * w, axis=0) ** 2)
            w.assign_sub(0.001 * tape.gradient(loss, w))

        for x in batches(strategy):
            strategy.run(step, args=(x,))

    with pytest.raises(ReplicasDiffer) as caught:
        assert_same_on(program, (1, 2))
    assert ("all_reduce(SUM)", "N") == (caught.value.what, caught.value.factor.name)


def test_functions_that_compute_something_else_when_they_are_compiled_are_told():
    def program(strategy):
        with strategy.scope():
            w = tf.Variable(0.0, name="w", aggregation=tf.VariableAggregation.MEAN)

        @tf.function
        def call():
            value = 1.0 if tf.executing_eagerly() else 2.0
            strategy.run(lambda: w.assign_add(tf.constant(value)))

        call()
        return total(strategy)

    assert_same_on(program)
    with pytest.raises(ReplicasDiffer, match="compiled") as caught:
        assert_same_on(program, staged=True)
    assert "'w:0'" in caught.value.what


def test_rows_in_another_order_show_what_depends_on_how_they_are_grouped():
    def program(strategy, batch):
        (values,) = (strategy.run(lambda x: x * 1.0, args=(x,)) for x in batches(strategy, batch))
        return strategy.gather(values, axis=0)[0]

    def right(strategy, batch):
        return total(strategy, batch)

    with pytest.raises(ReplicasDiffer, match="rows in order"):
        assert_same_on(program, regroup=ROWS)
    assert_same_on(right, regroup=ROWS)


@pytest.mark.parametrize("backend", ["simulator", "host"])
def test_any_backend_will_do(backend):
    assert_same_on(total, backend=backend)


@settings(max_examples=examples(6, 15), deadline=None)
@given(
    rows=generators.integers(4, 11),
    width=generators.integers(1, 3),
    seed=generators.integers(0, 1000),
    size=generators.sampled_from([3, 4, 8]),
    momentum=generators.sampled_from([0.0, 0.9]),
    wrap=generators.sampled_from([lambda function: function, tf.function]),
)
def test_correct_programs_are_never_told_anything(rows, width, seed, size, momentum, wrap):
    random = np.random.default_rng(seed)
    x, y = random.normal(size=(rows, width)).astype(np.float32), random.normal(size=rows).astype(np.float32)
    start = random.normal(size=width).astype(np.float32)

    def program(strategy):
        own = {"synchronization": tf.VariableSynchronization.ON_READ, "aggregation": tf.VariableAggregation.SUM}
        with strategy.scope():
            w, speed = tf.Variable(start, name="w"), tf.Variable(0 * start, name="speed")
            seen, error = tf.Variable(0.0, name="seen", **own), tf.Variable(0.0, name="error", **own)

        def step(x, y):
            replica = tf.distribute.get_replica_context()
            with tf.GradientTape() as tape:
                squares = (tf.linalg.matvec(x, w) - y) ** 2
                loss = tf.reduce_sum(squares) / size
            gradient = replica.all_reduce("SUM", tape.gradient(loss, w))
            speed.assign(momentum * speed + gradient)
            w.assign_sub(0.05 * speed)
            seen.assign_add(tf.cast(tf.size(y), tf.float32))
            error.assign_add(tf.reduce_sum(squares))
            return loss

        train = wrap(lambda x, y: strategy.reduce("SUM", strategy.run(step, args=(x, y)), axis=None))
        losses = [float(train(a, b)) for a, b in batches(strategy, (x, y), size)]
        return {"losses": losses, "error": float(error.read_value() / seen.read_value()), "w": w}

    assert_same_on(program, replicas=(1, 2, 3))


def test_a_gradient_that_is_zero_but_for_rounding_is_no_difference():
    """That of a bias before a normalization; also in a process that loads Keras in the program, which draws numbers once."""
    program = """
import numpy as np
import refdist as tf

x = np.random.default_rng(0).normal(size=(16, 5)).astype("float32")
layers = lambda: [tf.keras.Input((5,)), tf.keras.layers.Dense(4), tf.keras.layers.BatchNormalization(synchronized=True)]

def program(strategy):
    with strategy.scope():
        model = tf.keras.Sequential([*layers(), tf.keras.layers.Dense(1)])
        optimizer = tf.keras.optimizers.SGD(0.1)

    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((model(x, training=True) - 1.0) ** 2) / 16
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))

    for batch in strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(x).batch(16).repeat(2)):
        strategy.run(step, args=(batch,))

tf.testing.assert_same_on(program)
"""
    done = run_python(program)

    assert 0 == done.returncode, done.stderr


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"strategy": 5}, r"strategy=5; expected a function that makes one"),
        ({"strategy": tf.distribute.get_strategy()}, "Pass the class, such as tf.distribute.MirroredStrategy"),
        ({"except_for": 5}, r"except_for=5; expected a tuple of names"),
        ({"except_for": None}, r"except_for=None; expected a tuple of names"),
        ({"backend": ["simulator"]}, "expected one of simulator, host, jax"),
    ],
)
def test_arguments_of_another_type_are_refused_with_what_to_write(given, said):
    with pytest.raises((TypeError, ValueError), match=said):
        assert_same_on(lambda strategy: 1.0, **given)
