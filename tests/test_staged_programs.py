"""Small random strategy programs give the same numbers eagerly and staged, on every backend and in every mode."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from tests.test_programs import STEPS, ctx

TURN = np.float32([[0, 1], [1, 0.5]])
ON_READ = tf.VariableSynchronization.ON_READ
AGGREGATION = tf.VariableAggregation
MORE_STEPS = {
    "minus mean": lambda x, i, vs: x - ctx().all_reduce("mean", x),
    "differ in steps": lambda x, i, vs: x * 3.0 if i % 2 else x - 1.0 + x,
    "differ in slices": lambda x, i, vs: x + x[i % 2],
    "update": lambda x, i, vs: ctx().merge_call(updated, args=(vs[0], x)),
    "own only on some": lambda x, i, vs: vs[3].assign_add(x) if i and type(vs[3]).__name__ == "SyncOnReadVariable" else x,
    "product": lambda x, i, vs: x @ TURN + ctx().all_reduce("mean", x @ TURN),
    "nested": lambda x, i, vs: tf.function(lambda y: y * 2.0)(x),
    "write own mean": lambda x, i, vs: vs[4].assign_sub(x * (i + 1)) + vs[4],
    "write own first": lambda x, i, vs: vs[5].assign(x + i),
    "write the same": lambda x, i, vs: the_same(vs[6], ctx().all_reduce("mean", x)),
}  # fmt: skip
ALL_STEPS = STEPS | MORE_STEPS
programs = generators.lists(generators.sampled_from(sorted(ALL_STEPS)), min_size=1, max_size=6)


def the_same(variable, value):
    """Write a value that is the same on all replicas; where there is one copy for all, that needs an aggregation."""
    return value if type(variable).__name__ == "CentralVariable" else variable.assign(value) + variable


def updated(strategy, variable, value):
    mean = strategy.extended.reduce_to("MEAN", value, variable)
    strategy.extended.update(variable, lambda copy, delta: copy.assign_sub(delta), args=(mean,))
    return value


def opened(backend, kind, count):
    options = {"cpus": 8} if backend == "jax" else {"gpus": 8}
    device = "CPU" if backend == "jax" else "GPU"
    names = [f"{device}:{index}" for index in range(count)]
    with tf.using(backend, **options):
        if kind == "one":
            return tf.distribute.OneDeviceStrategy(names[-1])
        if kind == "central":
            return tf.distribute.experimental.CentralStorageStrategy(names, "CPU:0")
        return tf.distribute.MirroredStrategy(names)


def execute(backend, kind, count, program, mode):
    strategy = opened(backend, kind, count)
    start = np.float32([1, -2])
    with strategy.scope():
        first = [AGGREGATION.SUM, AGGREGATION.MEAN, AGGREGATION.ONLY_FIRST_REPLICA]
        variables = [tf.Variable(start, aggregation=aggregation) for aggregation in first]
        zero = np.float32([0, 0])
        variables += [tf.Variable(zero, synchronization=ON_READ, aggregation=aggregation) for aggregation in first]
        variables.append(tf.Variable(start, aggregation=AGGREGATION.NONE))

    def body(value):
        index = ctx().replica_id_in_sync_group
        for name in program:
            value = ALL_STEPS[name](value, index, variables) * 0.5
        return {"value": value, "number": index}

    def made(context):
        return tf.constant(start + np.float32(context.replica_id_in_sync_group))

    def around(value):
        result = strategy.run(body, args=(value,))
        return result, strategy.reduce("MEAN", result["value"], axis=None), [v.read_value() for v in variables]

    run = {"eager": around, "around": tf.function(around), "inside": around}[mode]
    if mode == "inside":
        body = tf.function(body)
    value = strategy.experimental_distribute_values_from_function(made)
    for _ in range(2):
        result, mean, read = run(value)
    parts = strategy.experimental_local_results(result)
    numbers = [np.asarray(part["value"]) for part in parts] + [np.asarray(part["number"]) for part in parts]
    copies = [[copy.numpy() for copy in strategy.experimental_local_results(variable)] for variable in variables]
    return [*numbers, np.asarray(mean), *map(np.asarray, read), *(c for group in copies for c in group)]


def differences(expected, got):
    """The pairs of arrays that are not equal up to the order of floating-point operations."""
    pairs = [(np.asarray(mine, float), np.asarray(theirs, float)) for mine, theirs in zip(expected, got, strict=True)]
    return [(mine, theirs) for mine, theirs in pairs if not np.allclose(theirs, mine, rtol=1e-4, atol=1e-4)]


@pytest.mark.parametrize("backend", ["simulator", "jax"])
@given(
    count=generators.sampled_from([1, 2, 3]),
    kind=generators.sampled_from(["mirrored", "central", "one"]),
    program=programs,
    mode=generators.sampled_from(["around", "inside"]),
)
@settings(max_examples=40)
def test_staged_programs_give_what_eager_ones_give(backend, count, kind, program, mode):
    expected = execute("host", kind, count, program, "eager")

    assert [] == differences(expected, execute(backend, kind, count, program, mode))


@pytest.mark.parametrize("backend", ["simulator", "jax"])
@given(
    count=generators.sampled_from([1, 2, 3]),
    size=generators.integers(1, 9),
    batch=generators.sampled_from([2, 4, 5]),
    op=generators.sampled_from(["SUM", "MEAN"]),
    mode=generators.sampled_from(["around", "inside"]),
)
@settings(max_examples=12)
def test_uneven_last_batches_give_what_eager_ones_give(backend, count, size, batch, op, mode):
    strategy = opened(backend, "mirrored", count)
    with strategy.scope():
        seen = [tf.Variable(0.0, synchronization=ON_READ, aggregation=AGGREGATION.SUM) for _ in range(2)]
    data = tf.data.Dataset.from_tensor_slices(np.arange(size, dtype=np.float32)).batch(batch)

    def body(variable, x):
        variable.assign_add(tf.reduce_sum(x))
        return x * 2.0

    def around(variable, x):
        return strategy.reduce(op, strategy.run(lambda y: body(variable, y), args=(x,)), axis=0)

    inside = tf.function(lambda x: body(seen[1], x))
    staged = {
        "around": tf.function(lambda x: around(seen[1], x)),
        "inside": lambda x: strategy.reduce(op, strategy.run(inside, args=(x,)), axis=0),
    }[mode]
    for x in strategy.experimental_distribute_dataset(data):
        assert [] == differences([around(seen[0], x)], [staged(x)])

    assert float(seen[0].read_value()) == float(seen[1].read_value()) == sum(range(size))
