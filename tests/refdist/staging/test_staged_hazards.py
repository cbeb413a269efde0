"""Programs in which staged execution could quietly give something else than eager execution: it gives the same, or says no."""

import contextvars
import copy
import functools
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
from tests.refdist import staged_programs
from tests.refdist.staged_programs import MEAN, NONE, ON_READ, SUM, ctx, numbers

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures


def number():
    return ctx().replica_id_in_sync_group


def looped(strategy):
    data = tf.data.Dataset.from_tensor_slices(np.ones(12, np.float32)).batch(4)
    return iter(strategy.experimental_distribute_dataset(data))


def test_a_plain_variable_is_not_written_once_in_place_of_once_per_replica(strategy):
    plain = tf.Variable(1.0)

    with pytest.raises(RuntimeError, match="outside of every scope"):
        strategy.run(tf.function(lambda: plain.assign_add(1.0)))
    assert 1.0 == plain.numpy()


def test_no_update_is_lost_between_threads(names):
    v = tf.Variable(0.0)
    add = tf.function(lambda: v.assign_add(1.0))
    add()
    # A thread starts with the backend of the process; this one is chosen for a block.
    contexts = [contextvars.copy_context() for _ in range(4)]
    workers = [threading.Thread(target=one.run, args=(lambda: [add() for _ in range(100)],)) for one in contexts]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()

    assert 401.0 == v.numpy()


def test_helpers_that_jax_remembers_see_what_was_written(names):
    v = tf.Variable(1.0)
    helper = jax.jit(lambda y: y + v.read_value())

    def body(carry, _):
        return carry + v.read_value(), None

    @tf.function
    def twice(x):
        before = helper(x), jax.lax.scan(body, x, None, length=1)[0]
        v.assign_add(1.0)
        return *before, helper(x), jax.lax.scan(body, x, None, length=1)[0]

    assert [1.0, 1.0, 2.0, 2.0] == [float(value) for value in twice(tf.constant(0.0))]


def test_functions_that_changed_are_other_functions(strategy):
    state = {"k": 0.0}

    @tf.function
    def epoch(iterator):
        totals = []
        for k in (1.0, 2.0):
            state["k"] = k

            def scaled(x, *, k=k):
                return x * k

            x = next(iterator)
            totals += [strategy.run(scaled, args=(x,)), strategy.run(lambda x: x * state["k"], args=(x,))]
        return [strategy.reduce("SUM", total, axis=0) for total in totals]

    assert [4.0, 4.0, 8.0, 8.0] == [float(total) for total in epoch(looped(strategy))]


def test_copied_objects_have_methods_of_their_own(names):
    class Model:
        def __init__(self, factor):
            self.factor = factor

        @tf.function
        def call(self, x):
            return x * self.factor

        @classmethod
        @tf.function
        def name(cls, x):
            return x + 1.0

    first = Model(2.0)
    first.call(tf.constant(1.0))
    shallow, deep = copy.copy(first), copy.deepcopy(first)
    shallow.factor = deep.factor = 10.0

    assert [2.0, 10.0, 10.0] == [float(model.call(tf.constant(1.0))) for model in (first, shallow, deep)]
    assert 2.0 == float(Model.name(tf.constant(1.0)))


def test_one_copy_of_a_variable_can_be_written(strategy):
    with strategy.scope():
        own = tf.Variable(2.0, synchronization=ON_READ, aggregation=SUM)
        mirrored = tf.Variable(2.0)
    tf.function(lambda: strategy.experimental_local_results(own)[1].assign(tf.constant(5.0)))()

    assert [2.0, 5.0] == numbers(strategy, own)
    with pytest.raises(RuntimeError, match="by itself"):
        tf.function(lambda: strategy.experimental_local_results(mirrored)[1].assign(tf.constant(5.0)))()
    with strategy.scope():
        strategy.extended.update(own, tf.function(lambda copy, x: copy.assign(x)), args=(7.0,))
    assert [7.0, 7.0] == numbers(strategy, own)


def test_wide_numbers_are_kept_wherever_they_come_from():
    with tf.using("simulator", gpus=2):
        whole, real = tf.Variable(np.int64(2**40)), tf.Variable(np.float64(0.1))

        assert 2**40 == int(tf.function(lambda: tf.constant(2**40) + 0)())
        assert 1 + 1e-12 == float(tf.function(lambda x: tf.cast(x, tf.float64) + 1e-12)(tf.constant(1.0)))
        assert 2**40 + 1 == int(tf.function(lambda: whole.assign_add(1) + 0)())
        assert 0.6 == float(tf.function(lambda: real.assign_add(0.5) + 0.0)())


def test_numbers_that_do_not_fit_are_refused_on_jax():
    with tf.using("jax", cpus=8), pytest.raises(OverflowError):
        tf.function(lambda: tf.constant(2**40) + 0)()


def test_zeros_of_different_sign_are_different_numbers(strategy):
    signs = strategy.run(tf.function(lambda x: jnp.copysign(x, -0.0 if number() else 0.0)), args=(tf.constant(1.0),))
    divided = tf.function(lambda x, y: x / jnp.copysign(1.0, y))

    assert [1.0, -1.0] == numbers(strategy, signs)
    assert [1.0, -1.0] == [float(divided(tf.constant(1.0), y)) for y in (0.0, -0.0)]


def test_what_is_written_and_overwritten_is_compared_all_the_same(strategy):
    with strategy.scope():
        v = tf.Variable(0.0, aggregation=NONE)

    def replica(x):
        v.assign(x)
        seen = v.read_value() * 1.0
        v.assign(tf.constant(0.0))
        return seen

    with pytest.raises(ValueError, match="different values"):
        strategy.run(tf.function(replica), args=(numbered_scalars(strategy),))


def numbered_scalars(strategy):
    return strategy.run(lambda: tf.constant(1.0) * (number() + 1))


def test_a_number_is_no_sum_in_a_single_trace_either(strategy):
    with strategy.scope():
        v = tf.Variable(0.0, aggregation=SUM)

    with pytest.raises(ValueError, match="not clear whether"):
        strategy.run(tf.function(lambda: v.assign_add(2.0), trace_once=True))


def test_slices_beyond_the_end_are_refused(names):
    v = tf.Variable([0.0, 0.0])

    with pytest.raises(ValueError, match="expected 0 to 1"):
        tf.function(lambda: v.scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.constant([5]))))()


def test_devices_are_those_of_eager_code(strategy):
    seen = []

    @tf.function
    def look():
        seen.append((strategy.extended.worker_devices, strategy.extended.parameter_devices))
        strategy.run(lambda: seen.append((ctx().devices[0], tf.device_name(tf.constant(1.0)))))

    look()

    devices = strategy.extended.worker_devices
    assert [(devices, devices), (devices[0], devices[0]), (devices[1], devices[1])] == seen


def test_a_device_around_a_call_gets_the_result(names):
    with tf.device(names[1]):
        result = tf.function(lambda x: x * 2)(tf.constant(1.0))
        assert names[1] in tf.device_name(result)


def test_two_functions_may_each_make_their_variable(strategy):
    made = [], []

    def replica(place, x):
        if not made[place]:
            made[place].append(tf.Variable(place + 1.0, aggregation=MEAN))
        return x * made[place][0]

    first, second = (functools.partial(replica, place) for place in (0, 1))

    @tf.function
    def step(iterator):
        x = next(iterator)
        return [strategy.reduce("SUM", strategy.run(fn, args=(x,)), axis=0) for fn in (first, second)]

    assert [4.0, 8.0] == [float(total) for total in step(looped(strategy))]


def test_values_of_no_tensors_pass(strategy):
    assert ["r0", "r1"] == list(strategy.run(tf.function(lambda: f"r{number()}")).values)
    with pytest.raises(ValueError, match="one kind of value"):
        strategy.run(tf.function(lambda x: None if number() else x), args=(tf.constant(1.0),))


def test_random_keys_are_arguments(names):
    if "GPU" in names[0]:
        pytest.skip("keys are tensors of JAX")

    drawn = tf.function(lambda key: jax.random.uniform(key))(jax.random.key(0))

    assert 0.0 <= float(drawn) < 1.0


def test_copies_of_variables_are_known_to_functions(names):
    v = copy.deepcopy(tf.Variable(2.0))

    assert 3.0 == float(tf.function(lambda: v + 1.0)())


def test_runs_inside_transformations_are_refused(strategy):
    def outer(x):
        return jax.grad(lambda y: strategy.reduce("SUM", strategy.run(lambda z: z * z, args=(y,)), axis=None))(x)

    with pytest.raises(RuntimeError, match="inside a transformation"):
        tf.function(outer)(tf.constant(3.0))


def test_values_of_a_trace_cannot_be_used_after_it(strategy):
    kept = []
    tf.function(lambda x: kept.append(strategy.run(lambda y: y * 1, args=(x,))))(tf.constant(1.0))

    with pytest.raises(RuntimeError, match="after the function"):
        strategy.experimental_local_results(kept[0])


def test_generators_and_bare_specs_are_refused():
    def generator(x):
        yield x

    with pytest.raises(TypeError, match="generator"):
        tf.function(generator)
    with pytest.raises(TypeError, match="list or tuple"):
        tf.function(lambda x: x, input_signature=tf.TensorSpec([]))


def test_signatures_compare_keys_and_convert_arrays(names):
    step = tf.function(lambda d: d["a"] + d["b"], input_signature=[{"a": tf.TensorSpec([]), "b": tf.TensorSpec([])}])

    assert 3.0 == float(step({"a": np.array(1.0), "b": 2.0}))
    with pytest.raises(TypeError, match="another nest"):
        step({"a": 1.0, "c": 2.0})


def test_equal_arguments_are_traced_once(names):
    calls = []

    @tf.function
    def step(x, y):
        calls.append(1)
        return x

    for value in range(3):
        step(np.float64(value), float("nan"))

    assert 1 == len(calls)


def test_a_function_with_variables_is_refused_inside_a_transformation(names):
    v = tf.Variable(1.0)
    step = tf.function(lambda x: v.assign_add(x) + x)
    pure = tf.function(lambda x: x * x)
    for _ in range(2):  # before and after there is a program
        with pytest.raises(RuntimeError, match="JAX"):
            jax.jit(step)(jnp.float32(1.0))
        assert 6.0 == float(jax.grad(pure)(jnp.float32(3.0)))
        step(jnp.float32(1.0))
        pure(jnp.float32(1.0))

    assert 3.0 == v.numpy()


@pytest.mark.parametrize("around", ["grad", "scan"])
def test_gathering_and_merging_work_inside_transformations(strategy, around):
    def both(x):
        gathered = ctx().all_gather(x, axis=0).sum()
        merged = ctx().merge_call(lambda s, y: s.extended.reduce_to("SUM", y, y), args=(x,)).sum()
        return gathered + merged

    def replica(x):
        if around == "grad":
            return jax.grad(both)(x)
        return jax.lax.scan(lambda carry, _: (carry + both(x), None), 0.0, None, length=2)[0]

    result = strategy.run(tf.function(replica), args=(staged_programs.numbered(strategy),))

    # The sum over both replicas of 1, 2 and 2, 4 is 9, twice; a gradient counts both replicas' results.
    expected = [[4.0, 4.0]] * 2 if around == "grad" else [36.0] * 2
    assert expected == numbers(strategy, result)


def test_a_plain_variable_is_written_once_by_a_merge_function(strategy):
    plain = tf.Variable(1.0)

    def merged(strategy, x):
        plain.assign_add(strategy.reduce("SUM", x, axis=None))

    strategy.run(tf.function(lambda x: ctx().merge_call(merged, args=(x,))), args=(numbered_scalars(strategy),))

    assert 4.0 == plain.numpy()
