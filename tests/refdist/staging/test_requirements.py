"""What a compiled program finds when it runs is the error that it is outside of programs, and nothing is written."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.variables.sharded_variable import ShardedVariable

SUM = tf.VariableAggregation.SUM
DTYPES = ["int8", "uint8", "int16", "int32", "int64"]


@pytest.fixture(params=["host", "simulator", "jax"])
def strategy(request):
    kind, options = ("CPU", {"cpus": 3}) if request.param == "jax" else ("GPU", {"gpus": 3})
    with tf.using(request.param, **options):
        yield tf.distribute.MirroredStrategy([f"{kind}:{number}" for number in range(3)])


@pytest.fixture
def virtual():
    with tf.using("simulator", gpus=2):
        yield tf.distribute.MirroredStrategy()


def numbers(value):
    array = np.asarray(value)
    return array.dtype.name, array.tolist()


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("verb", ["scatter_add", "scatter_sub", "scatter_update"])
@pytest.mark.parametrize("index", [4, -1])
def test_rows_that_are_not_there_are_refused(strategy, staged, verb, index):
    first = tf.VariableAggregation.ONLY_FIRST_REPLICA
    with strategy.scope():
        variable = tf.Variable(np.arange(4, dtype=np.float32), aggregation=first)
        other = tf.Variable(0.0, aggregation=SUM)

    def replica(at):
        other.assign_add(tf.constant(1.0))
        getattr(variable, verb)(tf.IndexedSlices(tf.constant([9.0]), at))

    step = (tf.function if staged else lambda fn: fn)(lambda at: strategy.run(replica, args=(at,)))
    with pytest.raises(ValueError, match=rf"{verb}\(\).*expected 0 to 3"):
        step(tf.constant([index]))

    assert [0, 1, 2, 3] == np.asarray(variable).tolist()
    if staged:
        assert 0.0 == float(other)


def test_the_replicas_that_have_found_something_are_named(strategy):
    indices = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(4 * (context.replica_id_in_sync_group == 1))
    )
    row = tf.function(lambda at: strategy.run(lambda at: tf.range(4.0)[at], args=(at,)))

    with pytest.raises(IndexError, match=r"4 elements of axis 0.*replica 1 of 3"):
        row(indices)


def test_rows_of_shards_are_refused_and_found():
    whole = ShardedVariable([tf.Variable([0.0, 0.0]), tf.Variable([0.0])])

    @tf.function
    def add(at):
        whole.scatter_add(tf.IndexedSlices(tf.constant([1.0]), at))

    add(tf.constant([2]))
    with pytest.raises(ValueError, match="expected 0 to 2"):
        add(tf.constant([3]))

    assert [0.0, 0.0, 1.0] == whole.numpy().tolist()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("staged", [False, True])
def test_means_of_integers_have_one_dtype_in_all_modes(virtual, dtype, staged):
    value = tf.cast(tf.constant([1, 2]), dtype)
    wrap = tf.function if staged else lambda fn: fn
    kind = "float64" if dtype in ("int32", "int64") else "float32"

    def mean(value):
        return tf.distribute.get_replica_context().all_reduce("MEAN", value)

    each = wrap(lambda: virtual.run(mean, args=(value,)))()
    total = wrap(lambda: virtual.reduce("MEAN", virtual.run(lambda: value + 0), axis=None))()
    rows = wrap(lambda: virtual.reduce("MEAN", virtual.run(lambda: value + 0), axis=0))()

    assert (kind, [1.0, 2.0]) == numbers(each.values[1]) == numbers(total)
    assert (kind, 1.5) == numbers(rows)


def test_a_python_number_leaves_bfloat16_what_it_is(virtual):
    value = tf.cast(tf.constant([1.0, 2.0]), tf.bfloat16)
    for compute in (lambda x: 1.5 * x + 1, lambda x: 2 - x, lambda x: x**2):
        eager, staged = compute(value), tf.function(compute)(value)

        assert ("bfloat16", np.asarray(eager).tolist()) == numbers(staged)
        assert "bfloat16" == eager.dtype.name


def test_an_element_of_text_keeps_its_dtype_and_its_zero_bytes(virtual):
    element = tf.constant(["a\0"])[0]

    assert ("object", b"a\0") == (element.dtype.name, element.numpy())


def test_what_merge_call_gives_to_all_is_one_value_in_every_mode(strategy):
    ctx = tf.distribute.get_replica_context

    def bare():
        return ctx().merge_call(lambda s, x: s.reduce("SUM", x, axis=None), args=(tf.constant(1.0),))

    for wrap in (lambda fn: fn, tf.function, tf.function(trace_once=True)):
        one = wrap(lambda: strategy.run(bare))()
        each = wrap(lambda: strategy.run(lambda: bare() + tf.constant(1.0)))()
        mirrored = wrap(
            lambda: strategy.run(
                lambda: ctx().merge_call(lambda s, x: s.extended.reduce_to("SUM", x, x), args=(tf.constant(1.0),))
            )
        )()

        assert 3.0 == float(one)
        assert [4.0] * 3 == [float(value) for value in each.values]
        assert [3.0] * 3 == [float(value) for value in mirrored.values]


@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_a_write_to_central_storage_answers_on_the_device_of_the_replica(backend):
    kind, options = ("CPU", {"cpus": 2}) if backend == "jax" else ("GPU", {"gpus": 2})
    with tf.using(backend, **options):
        strategy = tf.distribute.experimental.CentralStorageStrategy([f"{kind}:0", f"{kind}:1"])
        with strategy.scope():
            variable = tf.Variable(1.0, aggregation=SUM)
        result = strategy.run(lambda: variable.assign_add(tf.constant(1.0)) + tf.constant(1.0))
        devices = [tf.device_name(value) for value in result.values]

    assert [4.0, 4.0] == [float(value) for value in result.values]
    assert [f"device:{kind}:0", f"device:{kind}:1"] == [name.rpartition("/")[2] for name in devices]


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize(("dtype", "expected"), [("int32", 0), ("uint8", 0), ("float32", "nan"), ("bfloat16", "nan")])
def test_the_mean_of_nothing_is_told_with_the_replica(strategy, staged, dtype, expected):
    empty = tf.cast(tf.constant(np.zeros((0, 2), np.float32)), dtype)
    wrap = tf.function if staged else lambda fn: fn

    def replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return tf.reduce_mean(empty if number == 1 else tf.cast(tf.ones([3, 2]), dtype), axis=0)

    with pytest.warns(
        RuntimeWarning, match=r"mean of no numbers was taken in replica 1 of 3, at .* of a tensor of shape \(0, 2\)"
    ):
        result = wrap(lambda: strategy.run(replica))()

    found = [np.asarray(value).astype(np.float32).tolist() for value in result.values]
    assert [[1.0, 1.0], [float(expected)] * 2, [1.0, 1.0]] == [pytest.approx(one, nan_ok=True) for one in found]


def test_on_jax_a_float_that_is_too_large_is_refused_as_an_integer_is():
    with tf.using("jax", cpus=1):
        for value in (np.float64(1e300), np.array([1.0, -1e300]), np.int64(1) << 40):
            with pytest.raises(OverflowError, match="expected what fits"):
                tf.constant(value, dtype=value.dtype)
        assert np.inf == float(tf.constant(np.float64(np.inf)))


@pytest.mark.parametrize("staged", [False, True])
def test_central_storage_refuses_what_differs_between_replicas(staged):
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.experimental.CentralStorageStrategy()
    with strategy.scope():
        variable = tf.Variable(1.0)
    values = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(float(context.replica_id_in_sync_group))
    )
    with pytest.raises(ValueError, match="different values"):
        (tf.function if staged else lambda fn: fn)(lambda value: variable.assign(value))(values)

    assert 1.0 == float(variable)


def test_a_batch_with_a_plain_value_keeps_it_as_a_single_reduction_does(virtual):
    value = tf.constant([1, 2], tf.int16)
    with virtual.scope():
        (batched,) = virtual.extended.batch_reduce_to("MEAN", [(value, "GPU:0")])
        single = virtual.extended.reduce_to("MEAN", value, "GPU:0")

    assert ("int16", [1, 2]) == numbers(batched) == numbers(single)


@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_workers_take_what_the_first_replica_says(backend):
    def worker(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        first = tf.VariableAggregation.ONLY_FIRST_REPLICA
        with strategy.scope():
            written = tf.Variable(0.0, aggregation=first)
            own = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=first)

        def replica():
            value = tf.constant(1.0 + index)
            written.assign_sub(value)
            own.assign(value)

        strategy.run(replica)
        strategy.run(replica)
        return float(written), float(own)

    with tf.using(backend, cpus=2):
        assert [(-2.0, 1.0)] * 2 == tf.cluster.run_workers(worker, 2)


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 2)])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_tensors_and_variables_without_elements_pass_through_programs_on_jax(shape, count):
    with tf.using("jax", cpus=3):
        strategy = tf.distribute.MirroredStrategy([f"CPU:{number}" for number in range(count)])
    with strategy.scope():
        variable = tf.Variable(np.zeros(shape, np.float32), aggregation=SUM)
    values = [
        strategy.experimental_distribute_values_from_function(lambda _: tf.constant(np.zeros(shape, np.float32)))
        for _ in range(2)
    ]

    @tf.function
    def step(first, second):
        results = strategy.run(lambda a, b: (a, b), args=(first, second))
        strategy.extended.update(variable, lambda copy, value: copy.assign(value), args=(results[0],))
        return results

    for result in step(*values):
        assert [shape] * count == [tuple(part.shape) for part in strategy.experimental_local_results(result)]
    assert shape == variable.numpy().shape
