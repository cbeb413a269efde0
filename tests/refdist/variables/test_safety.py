"""What must never go wrong silently: shared memory, frozen values, half-applied changes, leaks."""

import contextlib
import copy
import functools
import gc
import sys
import threading
import weakref

import greenlet
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
from refdist._core.replicas import lockstep
from refdist._core.replicas.values import PerReplica
from refdist._core.variables.sharded_variable import ShardedVariable

ctx = tf.distribute.get_replica_context


def replica_id():
    return ctx().replica_id_in_sync_group


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[:2])


def make(strategy, value=1.0, **options):
    with strategy.scope():
        return tf.Variable(value, **options)


def virtual(count=2):
    with tf.using("simulator", gpus=count):
        return tf.distribute.MirroredStrategy()


CHANGES = [
    lambda t: np.asarray(t).__setitem__(0, 9),
    lambda t: t.fill(9),
    lambda t: t.sort(),
    lambda t: t.put(0, 9),
    lambda t: np.add(t, 1, out=t),
    lambda t: np.copyto(t, 9),
    lambda t: t.flat.__setitem__(0, 9),
    lambda t: t.partition(0),
]


@pytest.mark.parametrize("change", CHANGES)
def test_no_replica_can_change_what_others_share(change):
    strategy = virtual()
    variable = make(strategy, [2.0, 1.0])
    shared = [
        strategy.run(lambda: ctx().all_reduce("sum", tf.constant([2.0, 1.0]))).values[0],
        variable.read_value(),
        tf.constant([2.0, 1.0]),
    ]
    for tensor in shared:
        with pytest.raises((ValueError, TypeError)):
            change(tensor)

    assert [[2.0, 1.0]] * 2 == [part.numpy().tolist() for part in variable.values]


def test_a_variable_does_not_follow_the_tensor_it_was_made_of():
    tensor = tf.constant([1.0, 2.0]) + 0.0  # a fresh array, which numpy may still write to
    variable = tf.Variable(tensor)
    with pytest.raises(ValueError, match="read-only"):
        np.add(tensor, 1, out=tensor)

    assert [1.0, 2.0] == variable.numpy().tolist()


def test_a_numpy_argument_cannot_be_changed_by_one_replica_for_the_others():
    def body(x):
        x += 1

    with pytest.raises(ValueError, match="read-only"):
        virtual().run(body, args=(np.zeros(2),))


def test_what_is_read_inside_jit_would_be_frozen_and_is_refused(strategy):
    variable = make(strategy)
    for body in (jax.jit(lambda: variable.read_value() * 1.0), jax.jit(lambda: replica_id() * 1.0)):
        with pytest.raises(RuntimeError, match="frozen into the compiled program"):
            strategy.run(body)

    gradient = strategy.run(lambda: jax.grad(lambda x: x * x * variable.read_value())(jnp.float32(3.0)))
    assert [6.0, 6.0] == [float(part) for part in gradient.values]


def test_run_inside_a_trace_is_refused(strategy):
    with pytest.raises(RuntimeError, match="while JAX is tracing"):
        jax.jit(lambda x: strategy.run(lambda: x))(1.0)


@pytest.mark.parametrize("value", [[True, False], ["a", "b"]])
def test_truth_values_and_text_are_not_added_up(value):
    strategy = virtual()
    for axis in (None, 0):
        with pytest.raises(TypeError, match="expected numbers"):
            strategy.reduce("SUM", strategy.run(lambda: tf.constant(value)), axis=axis)
    with pytest.raises(TypeError, match="expected numbers"):
        strategy.run(lambda: ctx().all_reduce("mean", tf.constant(value)))


def test_sums_of_many_sixteen_bit_numbers_are_exact():
    strategy = virtual()

    assert 2000.0 == float(strategy.reduce("SUM", strategy.run(lambda: tf.ones([1000], tf.bfloat16)), axis=0))
    assert 1000.0 == float(tf.reduce_sum(tf.ones([1000], tf.bfloat16)))
    assert (1.0, tf.bfloat16) == (
        float(tf.reduce_mean(tf.ones([1000], tf.bfloat16))),
        tf.reduce_mean(tf.ones([2], tf.bfloat16)).dtype,
    )


def test_jax_does_not_cut_integers_to_32_bits():
    with tf.using("jax", cpus=2):
        with pytest.raises(OverflowError, match="JAX_ENABLE_X64"):
            tf.constant(2**40)
        assert 5 == int(tf.constant(np.int64(5)))


def test_an_update_that_fails_or_lets_copies_come_apart_changes_nothing(strategy):
    variable = make(strategy, 0.0)
    different = PerReplica([tf.constant(0.0), tf.constant(1.0)])
    with pytest.raises(ValueError, match="different values"):
        strategy.extended.update(variable, lambda copy, x: copy.assign_sub(x), args=(different,))

    def second_fails(one):
        one.assign(5.0)
        if one.name != "Variable:0":
            raise OSError

    with pytest.raises(OSError):
        strategy.extended.update(variable, second_fails)
    with pytest.raises(RuntimeError, match="works on one copy"):
        strategy.extended.update(variable, lambda one: strategy.scope().__enter__())

    assert [0.0, 0.0] == [float(part.numpy()) for part in variable.values]


def test_a_device_scope_around_a_write_leaves_every_copy_at_home(names, strategy):
    variable = make(strategy, aggregation=tf.VariableAggregation.SUM)
    reading = make(strategy, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM)
    with tf.device(names[1]):
        variable.assign_add(1.0)
        results = strategy.run(lambda: variable.assign_add(tf.constant(1.0)))
        reading.assign(4.0)

    home = list(strategy.extended.worker_devices)
    assert home == [tf.device_name(part) for part in results.values]
    assert home == [tf.device_name(part.read_value()) for part in variable.values]
    assert home == [tf.device_name(part.read_value()) for part in reading.values]


def test_an_integer_sum_reads_as_it_was_assigned():
    variable = make(
        virtual(), 0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
    )
    for given in (5, -5, 0):
        variable.assign(given)
        assert given == variable.numpy()


def test_slices_that_replace_each_other_are_not_averaged():
    strategy = virtual()
    variable = make(strategy, [0.0, 0.0], aggregation=tf.VariableAggregation.MEAN)
    with pytest.raises(NotImplementedError, match="cannot be combined"):
        strategy.run(lambda: variable.scatter_update(tf.IndexedSlices([4.0], [0])))
    with pytest.raises(TypeError, match="indices of dtype float64"):
        variable.scatter_add(tf.IndexedSlices([4.0], [0.5]))
    with pytest.raises(TypeError, match="losing"):
        tf.Variable([1, 2]).scatter_add(tf.IndexedSlices([1.7], [0]))


def test_a_mean_of_an_integer_variable_is_refused_when_it_is_made():
    with pytest.raises(ValueError, match="mean of integers"):
        make(virtual(), 1, aggregation=tf.VariableAggregation.MEAN)


def test_merge_call_takes_partials_and_callable_objects_and_compares_how_they_are_called(strategy):
    class Callable:
        def __call__(self, given, x):
            return 7

    def merge(given, x, scale=1):
        return 3

    assert 3 == strategy.run(lambda: ctx().merge_call(functools.partial(merge, scale=2), args=(1,)))
    assert 7 == strategy.run(lambda: ctx().merge_call(Callable(), args=(1,)))
    with pytest.raises(tf.errors.MeetingError, match="1 arguments"):
        strategy.run(lambda: ctx().merge_call(merge, args=(1,) * (replica_id() + 1)))
    for wrong in (lambda: ctx().merge_call(None), lambda: ctx().merge_call(merge, args=5)):
        with pytest.raises(TypeError, match="expected a function, a tuple of arguments"):
            strategy.run(wrong)
    with pytest.raises(ValueError, match="3 components"):
        strategy.run(lambda: ctx().merge_call(lambda given: PerReplica([1, 2, 3])))


def test_an_error_in_a_meeting_names_the_meeting_and_the_users_line(strategy):
    with pytest.raises(ZeroDivisionError) as raised:
        strategy.run(lambda: ctx().merge_call(lambda given: 1 // 0))

    (note,) = raised.value.__notes__
    assert "raised while 2 replicas met in merge_call at" in note
    assert "test_safety.py" in note


def test_own_cross_device_ops_that_return_something_else_are_named():
    class Wrong(tf.distribute.ReductionToOneDevice):
        def reduce_implementation(self, reduce_op, per_replica_value, destinations, options):
            return None

    with tf.using("host", gpus=2):
        strategy = tf.distribute.MirroredStrategy(cross_device_ops=Wrong())
    with pytest.raises(ValueError, match=r"Correct Wrong\.reduce_implementation"):
        strategy.run(lambda: ctx().all_reduce("sum", 1.0))


def test_a_greenlet_of_a_replica_is_not_taken_for_no_replica(strategy):
    with pytest.raises(RuntimeError, match="in a greenlet that the replica's function has made"):
        strategy.run(lambda: greenlet.greenlet(lambda: ctx().all_reduce("sum", 1.0)).switch())


def test_a_failed_creation_can_be_repeated(strategy):
    attempts = []

    def initial():
        attempts.append(1)
        if len(attempts) == 1:
            raise OSError
        return 4.0

    def body():
        for _ in range(2):
            try:
                return tf.Variable(initial)
            except OSError:
                pass
        return None

    assert 4.0 == float(strategy.run(body).numpy())


def test_a_creator_that_returns_nothing_is_named(strategy):
    with (
        tf.variable_creator_scope(lambda following, **kwargs: None),
        strategy.scope(),
        pytest.raises(TypeError, match="next_creator"),
    ):
        tf.Variable(1.0)


def test_a_deep_copy_of_a_variable_belongs_to_the_same_strategy(strategy):
    variable = make(strategy)
    clone = copy.deepcopy(variable)
    clone.assign(5.0)

    assert (1.0, 5.0) == (float(variable.numpy()), float(clone.numpy()))
    assert clone.strategy is variable.strategy is copy.deepcopy(strategy)
    assert clone is strategy.extended.value_container(clone.values[1])


def test_equal_text_is_equal():
    variable = make(virtual(), "a")
    virtual_strategy = variable.strategy
    virtual_strategy.run(lambda: variable.assign(tf.constant("b")))

    assert b"b" == variable.numpy()


def test_the_default_strategy_of_another_backend_is_none_in_particular():
    with tf.distribute.get_strategy().scope(), tf.using("host", gpus=2):
        assert not tf.distribute.has_strategy()
        with tf.distribute.MirroredStrategy().scope():
            assert tf.distribute.has_strategy()


def test_backends_and_their_default_strategies_are_forgotten():
    seen = []
    for _ in range(3):
        with tf.using("host") as backend:
            tf.distribute.get_strategy()
            seen.append(weakref.ref(backend))
        del backend
    gc.collect()

    assert [None] * 3 == [reference() for reference in seen]


def test_runners_end_with_their_thread():
    before = sum(isinstance(thing, lockstep._Runner) for thing in gc.get_objects())
    for _ in range(3):
        thread = threading.Thread(target=lambda: virtual(50).run(lambda: ctx().all_reduce("sum", 1.0)))
        thread.start()
        thread.join()
    gc.collect()

    assert before >= sum(isinstance(thing, lockstep._Runner) for thing in gc.get_objects())


def test_a_failed_run_keeps_nothing_alive():
    class Thing:
        pass

    def body():
        thing = Thing()
        seen.append(weakref.ref(thing))
        raise KeyError

    seen = []
    with contextlib.suppress(KeyError):
        virtual(3).run(body)
    gc.collect()

    assert [None] == [reference() for reference in seen]


@pytest.mark.parametrize("kind", ["generator", "coroutine"])
def test_a_function_whose_body_would_never_run_is_refused(kind):
    def generator():
        yield 1

    async def coroutine():
        return 1

    with pytest.raises(TypeError, match="would never run"):
        virtual().run({"generator": generator, "coroutine": coroutine}[kind])


def test_arrays_of_foreign_byte_order_are_reduced():
    strategy = virtual()
    value = strategy.run(lambda: tf.constant(np.array([1.0, 2.0], dtype=">f4")))

    assert [2.0, 4.0] == strategy.reduce("SUM", value, axis=None).tolist()


def test_values_of_different_rank_are_refused_with_their_shapes():
    strategy = virtual()
    value = strategy.run(lambda: tf.ones([2] * (2 - replica_id())))
    with pytest.raises(ValueError, match=r"\(2, 2\), \(2,\)"):
        strategy.reduce("SUM", value, axis=-1)


def test_a_strategy_is_set_and_unset_in_two_threads():
    def work():
        tf.distribute.experimental_set_strategy(virtual())
        tf.distribute.experimental_set_strategy(None)

    tf.distribute.experimental_set_strategy(virtual())
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    tf.distribute.experimental_set_strategy(None)
    with pytest.raises(TypeError, match="expected a strategy"):
        tf.distribute.experimental_set_strategy(42)


class Plain:
    pass


def test_checkpoints_find_private_attributes_and_refuse_what_they_cannot_see(tmp_path):
    module = tf.Module()
    module._hidden = tf.Variable(1.0)
    tricky = {"a/b": tf.Variable(1.0), "a": {"b": tf.Variable(2.0)}}
    checkpoint = tf.train.Checkpoint(module=module, tricky=tricky)
    path = checkpoint.save(str(tmp_path / "p"))
    variables = module._hidden, tricky["a/b"], tricky["a"]["b"]
    for variable in variables:
        variable.assign(9.0)
    checkpoint.restore(path).assert_consumed()

    assert [1.0, 1.0, 2.0] == [float(variable.numpy()) for variable in variables]
    with pytest.raises(ValueError, match="Derive the class"):
        tf.train.Checkpoint(model=Plain())
    with pytest.raises(TypeError, match="Nothing was written"):
        tf.train.Checkpoint(text=tf.Variable("a")).save(str(tmp_path / "q"))


def test_a_waiting_value_that_does_not_fit_is_still_missed(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable([1.0, 2.0])).save(str(tmp_path / "p"))
    checkpoint = tf.train.Checkpoint()
    status = checkpoint.restore(path)
    with pytest.raises(ValueError, match="shape"):
        checkpoint.v = tf.Variable(1.0)
    with pytest.raises(AssertionError, match="found no variable"):
        status.assert_consumed()


@pytest.mark.parametrize("attempt", [
    lambda: tf.use("jax", fpgas=2), lambda: tf.device_name(jax.device_put(jnp.ones(8), jax.devices()[7])),
])  # fmt: skip
def test_what_the_jax_backend_has_not_is_named(attempt):
    with tf.using("jax", cpus=2), pytest.raises((TypeError, ValueError), match="expected"):
        attempt()


@pytest.fixture
def hasty_threads():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(work, count=4):
    failures = []

    def guarded():
        try:
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == failures


@pytest.mark.parametrize("kind", ["plain", "mirrored", "on_read", "staged", "update", "sharded"])
def test_additions_of_several_threads_are_all_kept(kind, hasty_threads):
    strategy, times = virtual(), 50
    add = tf.function(lambda: variable.assign_add(1.0))
    if kind == "sharded":
        variable = ShardedVariable([tf.Variable([0.0]), tf.Variable([0.0])])
    elif kind == "on_read":
        options = {"synchronization": tf.VariableSynchronization.ON_READ, "aggregation": tf.VariableAggregation.MEAN}
        variable = make(strategy, 0.0, **options)
    else:
        variable = tf.Variable(0.0) if kind == "plain" else make(strategy, 0.0)

    def work():
        for _ in range(times):
            if kind == "staged":
                add()
            elif kind == "update":
                strategy.extended.update(variable, lambda copy: copy.assign_add(1.0))
            else:
                variable.assign_add([1.0, 1.0] if kind == "sharded" else 1.0)

    if kind == "staged":
        variable.assign(float(add()) - 1.0)  # written before the threads start
    in_threads(work)

    assert [4.0 * times] == sorted(set(np.ravel(variable.numpy())))


def test_additions_of_several_runs_at_once_are_all_kept(hasty_threads):
    strategy = virtual()
    variable = make(strategy, 0.0, aggregation=tf.VariableAggregation.SUM)
    in_threads(lambda: [strategy.run(lambda: variable.assign_add(tf.constant(1.0))) for _ in range(25)])

    assert 4 * 25 * 2 == float(variable)
