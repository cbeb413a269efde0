import re
import threading

import jax
import pytest

import refdist as tf
from refdist._core.base import errors
from refdist.distribute import get_replica_context, get_strategy, has_strategy, in_cross_replica_context


def replica_id():
    return get_replica_context().replica_id_in_sync_group


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[:3])


def test_outside_all_scopes_the_code_is_in_the_default_replica():
    assert get_replica_context().replica_id_in_sync_group == 0
    assert not has_strategy()
    assert not in_cross_replica_context()
    assert get_strategy() is get_strategy()


def test_the_contexts_follow_each_other(strategy):
    seen = []

    def note():
        seen.append(
            (get_strategy() is strategy, has_strategy(), in_cross_replica_context(), get_replica_context() is None)
        )

    with strategy.scope():
        note()
        strategy.run(note)
        note()
    note()

    assert [(True, True, True, True)] + [(True, True, False, False)] * 3 + [
        (True, True, True, True),
        (False, False, False, False),
    ] == seen


def test_merge_call_gets_everybodys_arguments_once_in_cross_replica_context(strategy):
    calls = []

    def merge(given, x, y, z=None):
        calls.append(
            (
                given is strategy,
                in_cross_replica_context(),
                get_replica_context(),
                given.experimental_local_results(x),
                y,
                z,
            )
        )
        return x

    result = strategy.run(lambda: get_replica_context().merge_call(merge, args=(replica_id(), "same"), kwargs={"z": 3}))

    assert [(True, True, None, (0, 1, 2), "same", 3)] == calls
    assert (0, 1, 2) == strategy.experimental_local_results(result)


def test_merge_call_works_in_the_default_replica():
    assert (1, True) == get_replica_context().merge_call(lambda strategy, x: (x, in_cross_replica_context()), args=(1,))


def test_collectives_take_nests(strategy):
    def body():
        one = tf.constant(float(replica_id()))
        return get_replica_context().all_reduce("sum", {"a": one, "b": [one + 1, (one * 2,)]})

    result = strategy.experimental_local_results(strategy.run(body))[1]

    assert (3, 6, 6) == (result["a"], result["b"][0], result["b"][1][0])


def test_a_method_of_a_variable_can_be_the_replica_function_itself(strategy):
    with strategy.scope():
        variable = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
    strategy.run(variable.assign_add, args=(tf.constant(2.0),))

    assert 6.0 == float(variable.numpy())


def test_an_empty_nest_reduces_to_an_empty_nest(strategy):
    assert ([], {}) == strategy.run(lambda: get_replica_context().all_reduce("sum", ([], {})))


def test_a_number_is_reduced_as_a_tensor(strategy):
    result = strategy.run(lambda: get_replica_context().all_reduce("mean", 2.0))

    assert [2.0] * 3 == [float(part) for part in strategy.experimental_local_results(result)]


def test_the_same_tensor_from_every_replica_counts_every_time(strategy):
    one = tf.constant(1.0)
    result = strategy.run(lambda: get_replica_context().all_reduce("sum", one))

    assert [3.0] * 3 == [float(part) for part in strategy.experimental_local_results(result)]


def test_all_gather_joins_uneven_parts_in_replica_order(strategy):
    def body():
        return get_replica_context().all_gather(tf.ones([replica_id()]) * replica_id(), axis=0)

    result = strategy.run(body)

    assert [[1, 2, 2]] * 3 == [part.tolist() for part in strategy.experimental_local_results(result)]


MISMATCHES = {
    "operator": lambda ctx, i: ctx.all_reduce("sum" if i else "mean", 1.0),
    "shape": lambda ctx, i: ctx.all_reduce("sum", tf.ones([i + 1])),
    "dtype": lambda ctx, i: ctx.all_reduce("sum", tf.ones([], tf.int32 if i else tf.float32)),
    "kind": lambda ctx, i: ctx.all_reduce("sum", tf.ones([1])) if i else ctx.all_gather(tf.ones([1]), axis=0),
    "axis": lambda ctx, i: ctx.all_gather(tf.ones([1, 1]), axis=i % 2),
    "nest": lambda ctx, i: ctx.all_reduce("sum", [1.0] if i else (1.0,)),
    "function": lambda ctx, i: ctx.merge_call((lambda s: 1) if i else (lambda s: 2)),
    "absence": lambda ctx, i: None if i else ctx.all_reduce("sum", 1.0),
}


@pytest.mark.parametrize("case", MISMATCHES)
def test_replicas_that_disagree_are_an_error_at_once(strategy, case):
    with pytest.raises(errors.MeetingError, match="do not meet"):
        strategy.run(lambda: MISMATCHES[case](get_replica_context(), replica_id()))


def test_reductions_in_swapped_order_are_an_error_also_through_one_helper(strategy):
    def sync(value):
        return get_replica_context().all_reduce("sum", value)

    def body():
        if replica_id() == 1:
            return sync(1.0), sync(2.0)
        first = sync(2.0)
        return sync(1.0), first

    with pytest.raises(errors.MeetingError, match="called from"):
        strategy.run(body)


def test_a_collective_of_unequal_sizes_in_the_other_dimensions_is_refused(strategy):
    with pytest.raises(ValueError, match="do not join along axis 0"):
        strategy.run(lambda: get_replica_context().all_gather(tf.ones([1, replica_id() + 1]), axis=0))


@pytest.mark.parametrize("axis", [1, -2, None, "x"])
def test_gathering_along_a_dimension_that_is_not_there_is_refused(strategy, axis):
    with pytest.raises(ValueError, match="axis"):
        strategy.run(lambda: get_replica_context().all_gather(tf.ones([2]), axis=axis))


def test_a_context_is_of_no_use_outside_its_replica(strategy):
    kept = []
    strategy.run(lambda: kept.append(get_replica_context()))

    with pytest.raises(RuntimeError, match="from outside that replica"):
        kept[0].all_reduce("sum", 1.0)


def test_a_collective_inside_a_trace_is_refused_and_everything_works_afterwards(strategy):
    def body():
        return jax.grad(lambda x: get_replica_context().all_reduce("sum", x * x))(1.0)

    with pytest.raises(RuntimeError, match="while JAX is tracing"):
        strategy.run(body)

    assert 3.0 == float(strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)), axis=None))


def test_an_assignment_inside_a_trace_is_refused(strategy):
    variable = tf.Variable(1.0)

    def function(x):
        variable.assign(x)
        return x

    with pytest.raises(RuntimeError, match="while JAX is tracing"):
        jax.grad(function)(1.0)
    assert 1.0 == variable.numpy()


def test_a_thread_does_not_see_the_scope_of_another(strategy):
    seen = []
    with strategy.scope():
        thread = threading.Thread(target=lambda: seen.append((has_strategy(), type(tf.Variable(1.0)) is tf.Variable)))
        thread.start()
        thread.join()

    assert [(False, True)] == seen


def test_two_threads_can_be_in_two_scopes(names):
    strategies = [tf.distribute.MirroredStrategy(names[:2]), tf.distribute.MirroredStrategy(names[2:4])]
    barrier, seen = threading.Barrier(2), {}

    def work(index):
        with strategies[index].scope():
            barrier.wait(timeout=60)
            seen[index] = get_strategy() is strategies[index]
            barrier.wait(timeout=60)

    threads = [threading.Thread(target=work, args=(index,)) for index in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {0: True, 1: True} == seen


def test_a_device_scope_in_a_replica_survives_a_meeting(names, strategy):
    def body():
        before = tf.device_name(tf.constant(1.0))
        with tf.device(names[7]):
            inside = tf.device_name(tf.constant(1.0))
            get_replica_context().all_reduce("sum", 1.0)
            still = tf.device_name(tf.constant(1.0))
        return before, inside, still, tf.device_name(tf.constant(1.0))

    results = strategy.experimental_local_results(strategy.run(body))

    full = [str(tf.distribute.MirroredStrategy([name]).extended.worker_devices[0]) for name in names]
    assert [(full[i], full[7], full[7], full[i]) for i in range(3)] == list(results)


def test_creators_are_called_from_the_inside_out():
    order = []

    def creator(label):
        def create(following, **kwargs):
            order.append(label)
            return following(**kwargs)

        return create

    with tf.variable_creator_scope(creator("outer")), tf.variable_creator_scope(creator("inner")):
        tf.Variable(1.0)

    assert ["inner", "outer"] == order


def test_a_creator_can_change_what_is_made():
    with tf.variable_creator_scope(lambda following, **kwargs: following(**{**kwargs, "name": "other"})):
        assert "other:0" == tf.Variable(1.0, name="mine").name


@pytest.mark.parametrize("count", [1, 3])
def test_arrays_of_other_libraries_are_destinations_where_their_replica_is(count):
    with tf.using("simulator", gpus=3):
        strategy = tf.distribute.MirroredStrategy([f"GPU:{index}" for index in range(count)])

    def body():
        x = jax.numpy.ones([2])
        merged = get_replica_context().merge_call(lambda s, y: s.extended.reduce_to("SUM", y, y), args=(x,))
        return merged, tf.device_name(merged)

    values, devices = strategy.run(body)

    assert [[count] * 2] * count == [part.tolist() for part in strategy.experimental_local_results(values)]
    assert list(strategy.extended.worker_devices) == list(strategy.experimental_local_results(devices))


@pytest.mark.parametrize("scope", [None, 2, 4])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_merge_function_makes_tensors_on_the_host_wherever_its_replicas_are(names, any_backend, count, scope):
    strategy, places = tf.distribute.MirroredStrategy(names[1 : 1 + count]), []

    def merge(strategy, value):
        places.extend(tf.device_name(tensor) for tensor in (tf.constant(1.0), tf.constant([2]), tf.ones([2])))
        return tf.constant(1.0)

    def body():
        with tf.device(None if scope is None else names[scope]):
            merged = get_replica_context().merge_call(merge, args=(tf.constant(0.0),))
        return merged + 0.0

    result = strategy.run(body)

    assert ["/job:localhost/replica:0/task:0/device:CPU:0"] * 3 == places
    assert names[1 : 1 + count] == [tf.device_name(part)[-5:] for part in strategy.experimental_local_results(result)]


def test_after_a_merge_a_replica_makes_tensors_on_its_own_device_again(names, any_backend):
    strategy = tf.distribute.MirroredStrategy(names[1:4])
    made = strategy.run(lambda: (get_replica_context().merge_call(lambda _: None), tf.constant(1.0))[1])

    assert names[1:4] == [tf.device_name(part)[-5:] for part in made.values]


@pytest.mark.parametrize("count", [1, 2])
def test_a_merge_function_computes_where_the_code_around_run_does(count):
    with tf.using("jax", cpus=3):
        strategy = tf.distribute.MirroredStrategy(["CPU:1", "CPU:2"][:count])
        made = []

        def merged(strategy):
            made.extend([jax.numpy.ones(2), tf.constant(1.0), tf.constant(1.0) + 1.0])

        strategy.run(lambda: get_replica_context().merge_call(merged))
        with tf.device("CPU:2"), tf.device(None):
            made.append(jax.numpy.ones(2))

        assert {"CPU:0"} == {tf.device_name(array)[-5:] for array in made}


def takes_no_strategy(own):
    return own


@pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("kwargs", [{}, {"own": 1.0}])
def test_a_merge_function_without_the_strategy_is_told_that_it_comes_first(strategy, mode, kwargs):
    args = () if kwargs else (1.0,)
    called = re.escape("merge_fn(strategy, own=)" if kwargs else "merge_fn(strategy, args[0])")

    with pytest.raises(
        TypeError, match=rf"the parameters \(own\); expected to call it as {called}. Take the strategy as the"
    ):
        mode(lambda: strategy.run(lambda: get_replica_context().merge_call(takes_no_strategy, args, kwargs)))()


@pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
def test_an_error_in_a_merge_function_stays_as_it_is(strategy, mode):
    with pytest.raises(TypeError, match="unsupported operand"):
        mode(lambda: strategy.run(lambda: get_replica_context().merge_call(lambda strategy: 1 + "")))()


@pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
def test_named_arguments_of_a_merge_that_are_no_dict_are_refused(strategy, mode):
    with pytest.raises(
        TypeError, match=r"merge_call\(\) got .* and kwargs=5; expected a function, a tuple of arguments, and a"
    ):
        mode(lambda: strategy.run(lambda: get_replica_context().merge_call(takes_no_strategy, (), 5)))()
