"""Small random strategy programs give the same numbers on every backend, and as one plain computation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf

AGGREGATIONS = [tf.VariableAggregation.SUM, tf.VariableAggregation.MEAN, tf.VariableAggregation.ONLY_FIRST_REPLICA]
ctx = tf.distribute.get_replica_context


def averaged(strategy, value):
    return strategy.extended.reduce_to("MEAN", value, value)


# Each step changes the value that a replica carries, given the replica's number and the variables of the program.
STEPS = {
    "scale": lambda x, i, vs: x * (i + 2),
    "shift": lambda x, i, vs: x + float(i),
    "sum": lambda x, i, vs: ctx().all_reduce("sum", x),
    "mean": lambda x, i, vs: ctx().all_reduce("mean", x * (i + 1)),
    "nest": lambda x, i, vs: ctx().all_reduce("sum", {"a": x, "b": [x + 1.0]})["b"][0],
    "gather": lambda x, i, vs: ctx().all_gather(x[None], axis=0)[ctx().num_replicas_in_sync - 1 - i],
    "merge": lambda x, i, vs: ctx().merge_call(averaged, args=(x * i,)),
    "read": lambda x, i, vs: x + vs[0],
    "write sum": lambda x, i, vs: vs[0].assign_add(x),
    "write mean": lambda x, i, vs: vs[1].assign(x),
    "write first": lambda x, i, vs: vs[2].assign_sub(x * (i + 1)),
    "write own": lambda x, i, vs: vs[3].assign_add(x * (i + 1)),
    "read own": lambda x, i, vs: x + vs[3],
}  # fmt: skip
programs = generators.lists(generators.sampled_from(sorted(STEPS)), min_size=1, max_size=7)


def execute(backend, count, program, start):
    options = {"cpus": 8} if backend == "jax" else {"gpus": 8}
    kind = "CPU" if backend == "jax" else "GPU"
    with tf.using(backend, **options):
        strategy = tf.distribute.MirroredStrategy([f"{kind}:{index}" for index in range(count)])
    with strategy.scope():
        variables = [tf.Variable(np.float32([1, 2]), aggregation=aggregation) for aggregation in AGGREGATIONS]
        on_read = tf.VariableSynchronization.ON_READ
        variables.append(tf.Variable(np.float32([0, 0]), synchronization=on_read, aggregation=AGGREGATIONS[0]))

    def body():
        index = ctx().replica_id_in_sync_group
        value = tf.constant(np.float32(start)) + float(index)
        for name in program:
            value = STEPS[name](value, index, variables) * 0.5
        return value

    results = [np.asarray(part) for part in strategy.experimental_local_results(strategy.run(body))]
    state = [[copy.numpy() for copy in strategy.experimental_local_results(variable)] for variable in variables]
    return results, state, [variable.numpy() for variable in variables]


@given(
    count=generators.sampled_from([1, 2, 3, 7]),
    program=programs,
    start=generators.lists(generators.integers(-4, 4), min_size=2, max_size=2),
)
@settings(max_examples=60)
def test_every_backend_gives_the_same_results_and_leaves_the_same_variables(count, program, start):
    expected = execute("host", count, program, start)

    for got, exact in [
        (execute("simulator", count, program, start), True),
        (execute("jax", count, program, start), False),
    ]:
        for mine, theirs in zip(expected, got, strict=True):
            for one, other in zip(np.ravel(np.array(mine)), np.ravel(np.array(theirs)), strict=True):
                assert one == other if exact else one == pytest.approx(other, rel=1e-4, abs=1e-4)


@given(count=generators.sampled_from([2, 3, 5]), program=programs)
@settings(max_examples=30)
def test_mirrored_copies_are_equal_after_every_program(count, program):
    _, state, _ = execute("simulator", count, program, [1, 2])

    for copies in state[:3]:
        assert 1 == len({copy.tobytes() for copy in copies})


@given(program=programs)
@settings(max_examples=20)
def test_a_program_repeats_bit_for_bit(program):
    first, second = execute("simulator", 3, program, [1, 2]), execute("simulator", 3, program, [1, 2])

    for mine, theirs in zip(first, second, strict=True):
        assert np.array(mine).tobytes() == np.array(theirs).tobytes()
