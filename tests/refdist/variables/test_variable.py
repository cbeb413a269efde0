import contextlib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.replicas.values import PerReplica

NONE, SUM, MEAN, FIRST = tf.VariableAggregation
AUTO, UNSYNCHRONIZED, ON_WRITE, ON_READ = tf.VariableSynchronization
ctx = tf.distribute.get_replica_context


def replica_id():
    return ctx().replica_id_in_sync_group


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[:3])


def make(strategy, value=1.0, **options):
    with strategy.scope():
        return tf.Variable(value, **options)


def copies(variable):
    return [float(copy.numpy()) for copy in variable.values]


@pytest.mark.parametrize(("aggregation", "expected"), [(SUM, 6.0), (MEAN, 2.0), (FIRST, 1.0)])
@pytest.mark.parametrize("synchronization", [AUTO, ON_WRITE])
def test_what_replicas_write_is_aggregated_into_all_copies(strategy, synchronization, aggregation, expected):
    variable = make(strategy, 10.0, synchronization=synchronization, aggregation=aggregation)
    for method, result in [("assign", expected), ("assign_add", 2 * expected), ("assign_sub", expected)]:
        strategy.run(lambda method=method: getattr(variable, method)(tf.constant(1.0) * (replica_id() + 1)))
        assert [result] * 3 == copies(variable)


def test_without_aggregation_equal_values_are_written_and_different_ones_are_refused(strategy):
    variable = make(strategy)
    strategy.run(lambda: variable.assign(tf.constant(5.0)))
    assert [5.0] * 3 == copies(variable)
    with pytest.raises(ValueError, match="different values from replica 0 and replica 1"):
        strategy.run(lambda: variable.assign(tf.constant(1.0) * replica_id()))

    assert [5.0] * 3 == copies(variable)


def test_a_write_by_some_replicas_only_is_an_error_and_changes_nothing(strategy):
    variable = make(strategy, aggregation=SUM)
    with pytest.raises(tf.errors.MeetingError, match="assign_add of 'Variable:0'"):
        strategy.run(lambda: variable.assign_add(tf.constant(1.0)) if replica_id() else None)

    assert [1.0] * 3 == copies(variable)


def test_writes_to_two_variables_in_another_order_are_an_error(strategy):
    one, other = make(strategy, aggregation=SUM, name="one"), make(strategy, aggregation=SUM, name="other")

    def body():
        for variable in [one, other] if replica_id() else [other, one]:
            variable.assign_add(tf.constant(1.0))

    with pytest.raises(tf.errors.MeetingError, match=r"'other:0'[\s\S]*'one:0'"):
        strategy.run(body)


def test_the_same_number_everywhere_is_no_contribution_to_a_sum(strategy):
    with pytest.raises(ValueError, match="once or 3 times"):
        strategy.run(lambda v: v.assign_add(2.0), args=(make(strategy, aggregation=SUM),))
    averaged = make(strategy, aggregation=MEAN)
    strategy.run(lambda: averaged.assign_add(2.0))

    assert [3.0] * 3 == copies(averaged)


def test_different_numbers_are_summed(strategy):
    variable = make(strategy, 0.0, aggregation=SUM)
    strategy.run(lambda: variable.assign_add(float(replica_id())))

    assert [3.0] * 3 == copies(variable)


@pytest.mark.parametrize(("aggregation", "expected"), [(SUM, 9.0), (MEAN, 3.0), (FIRST, 2.0)])
def test_on_read_each_replica_has_its_own_copy_and_reading_combines_them(strategy, aggregation, expected):
    variable = make(strategy, synchronization=ON_READ, aggregation=aggregation)
    read = strategy.run(lambda: (variable.assign_add(tf.constant(1.0) * (replica_id() + 1)), variable.read_value())[1])

    assert [2.0, 3.0, 4.0] == [float(part) for part in read.values] == copies(variable)
    assert expected == float(variable.numpy()) == float(variable.read_value()) == float(variable + 0.0)


def test_on_read_an_assigned_sum_is_shared_out(strategy):
    variable = make(strategy, synchronization=ON_READ, aggregation=SUM)
    assert 3.0 == variable.numpy()
    variable.assign(6.0)

    assert [2.0] * 3 == copies(variable)
    assert 6.0 == variable.numpy()


def test_on_read_an_integer_sum_keeps_what_does_not_divide():
    with tf.using("host", gpus=2):
        variable = make(tf.distribute.MirroredStrategy(), 1, synchronization=ON_READ, aggregation=SUM)
    variable.assign(5)

    assert 5 == variable.numpy()


def test_on_read_a_sum_cannot_be_added_to_from_outside(strategy):
    variable = make(strategy, synchronization=ON_READ, aggregation=SUM)
    with pytest.raises(ValueError, match="assign the new sum"):
        variable.assign_add(1.0)
    averaged = make(strategy, synchronization=ON_READ, aggregation=MEAN)
    averaged.assign_add(1.0)

    assert ([1.0] * 3, [2.0] * 3) == (copies(variable), copies(averaged))


def test_on_read_without_aggregation_it_cannot_be_read_outside(strategy):
    variable = make(strategy, synchronization=ON_READ)
    with pytest.raises(ValueError, match="aggregation"):
        variable.read_value()
    variable.assign(2.0)

    assert [2.0] * 3 == copies(variable)


def test_on_read_variables_are_not_trained(strategy):
    assert not make(strategy, synchronization=ON_READ, aggregation=SUM).trainable
    assert make(strategy).trainable
    assert not make(strategy, trainable=False).trainable


@pytest.mark.parametrize(
    "options", [{"synchronization": UNSYNCHRONIZED}, {"synchronization": "x"}, {"aggregation": "SUM"}]
)
def test_a_policy_that_is_none_is_refused(strategy, options):
    with pytest.raises(ValueError, match="expected"):
        make(strategy, **options)


@pytest.mark.parametrize(
    ("synchronization", "aggregation"), list(itertools.product([AUTO, ON_WRITE, ON_READ], [SUM, MEAN, FIRST]))
)
def test_under_central_storage_there_is_one_copy_that_aggregates_on_write(names, synchronization, aggregation):
    strategy = tf.distribute.experimental.CentralStorageStrategy(names[:3], "CPU:0")
    variable = make(strategy, 0.0, synchronization=synchronization, aggregation=aggregation)
    strategy.run(lambda: variable.assign_add(tf.constant(1.0) * (replica_id() + 1)))

    assert {SUM: 6.0, MEAN: 2.0, FIRST: 1.0}[aggregation] == float(variable.numpy())
    assert len(strategy.experimental_local_results(variable)) == 1
    assert repr(variable).startswith("<tf.Variable 'Variable:0'")


def test_under_central_storage_a_write_needs_an_aggregation(names):
    strategy = tf.distribute.experimental.CentralStorageStrategy(names[:2])
    variable = make(strategy)
    with pytest.raises(ValueError, match="has aggregation NONE"):
        strategy.run(lambda: variable.assign(tf.constant(1.0)))


def test_a_central_variable_is_read_on_the_replicas_device(names):
    strategy = tf.distribute.experimental.CentralStorageStrategy(names[1:4], names[0])
    variable = make(strategy)
    parts = strategy.run(lambda: variable * 2.0).values

    assert list(strategy.extended.worker_devices) == [tf.device_name(part) for part in parts]


@pytest.mark.parametrize(
    ("value", "error"), [([1.0, 2.0], ValueError), ("a", TypeError), (None, TypeError), (1j, TypeError)]
)
def test_a_value_that_does_not_fit_is_refused_and_nothing_is_changed(strategy, value, error):
    for variable in (
        make(strategy, aggregation=SUM),
        tf.Variable(1.0),
        make(strategy, synchronization=ON_READ, aggregation=SUM),
    ):
        with pytest.raises(error):
            variable.assign(value)
        with pytest.raises(error):
            strategy.run(lambda variable=variable: variable.assign(value))
        assert {1.0} == {float(part.numpy()) for part in strategy.experimental_local_results(variable)}


def test_a_tensor_of_another_dtype_is_refused(strategy):
    with pytest.raises(ValueError, match="dtype int32; expected float32"):
        make(strategy).assign(tf.constant(1))


def test_a_per_replica_value_is_refused_where_there_is_one_copy(strategy):
    with pytest.raises(ValueError, match="per-replica value"):
        tf.Variable(1.0).assign(strategy.run(lambda: tf.constant(1.0)))


def test_a_per_replica_value_is_written_from_outside_only_if_its_parts_are_equal(strategy):
    variable = make(strategy)
    variable.assign(strategy.run(lambda: tf.constant(4.0)))
    with pytest.raises(ValueError, match="different values"):
        variable.assign(strategy.run(lambda: tf.constant(1.0) * replica_id()))

    assert [4.0] * 3 == copies(variable)


def test_a_variable_needs_an_initial_value_of_its_shape():
    with pytest.raises(ValueError, match="no initial_value"):
        tf.Variable()
    with pytest.raises(ValueError, match="expected them to be equal"):
        tf.Variable([1.0], shape=(2,))
    with pytest.raises(TypeError, match="Name the others"):
        tf.Variable(1.0, True, "name")
    with pytest.raises(ValueError, match="per-replica value"):
        tf.Variable(PerReplica([1.0, 2.0]))


def test_an_initial_value_can_be_a_function_and_is_made_once(strategy):
    calls = []
    variable = make(strategy, lambda: calls.append(1) or np.random.default_rng().random())

    assert [1] == calls
    assert 1 == len(set(copies(variable)))


def test_names_number_the_copies(strategy):
    variable = make(strategy, name="w")

    assert ["w:0", "w/replica_1:0", "w/replica_2:0"] == [copy.name for copy in variable.values]
    assert "w:0" == variable.name


@given(x=generators.floats(-9, 9, width=32), y=generators.floats(0.5, 9, width=32))
def test_operators_are_those_of_the_value(x, y):
    one, other = np.float32(x), np.float32(y)
    variable = tf.Variable(x)
    expressions = [
        "v + y",
        "y + v",
        "v - y",
        "y - v",
        "v * y",
        "v / y",
        "v // y",
        "v % y",
        "-v",
        "+v",
        "abs(v)",
        "v < y",
        "v <= y",
        "v > y",
        "v >= y",
        "v == y",
        "v != y",
        "y / (v * v + y)",
        "float(v)",
        "bool(v)",
        "int(v)",
    ]
    for expression in expressions:
        assert eval(expression, {"v": one, "y": other}) == eval(expression, {"v": variable, "y": tf.constant(y)})
    # Numpy raises scalars and arrays to powers by different routines, whose last bits differ.
    assert np.isclose((one * one) ** other, (variable * variable) ** tf.constant(y), rtol=1e-6)


def test_a_variable_can_be_indexed_iterated_and_used_by_numpy_and_jax(any_backend):
    import jax.numpy as jnp

    variable = tf.Variable([1.0, 4.0])

    assert 4.0 == variable[1]
    assert [1.0, 4.0] == [float(part) for part in variable]
    assert 2 == len(variable)
    assert [1.0, 2.0] == np.sqrt(variable).tolist()
    assert 5.0 == jnp.sum(variable.value())
    assert 5.0 == np.asarray(variable).sum()


def test_a_variable_cannot_be_a_key_but_its_reference_can():
    variable = tf.Variable(1.0)
    with pytest.raises(TypeError, match=r"ref\(\)"):
        hash(variable)

    assert variable is next(iter({variable.ref(): 1})).deref()
    assert variable.ref() == variable.ref() != tf.Variable(1.0).ref()


def test_a_variable_made_in_a_replica_is_made_once_and_guards_work(strategy):
    kept = []

    def body():
        if not kept:
            kept.append(tf.Variable(1.0, name="guarded"))
        return tf.Variable([1.0], name="other")

    other = strategy.run(body)

    assert ["MirroredVariable", "MirroredVariable"] == [type(kept[0]).__name__, type(other).__name__]
    assert (1, ["guarded:0", "other:0"]) == (len(kept), [kept[0].name, other.name])


def test_variables_made_in_a_loop_are_told_apart(strategy):
    made = strategy.run(lambda: [tf.Variable(float(turn)) for turn in range(3)])

    assert [0.0, 1.0, 2.0] == [float(variable.numpy()) for variable in made]


@pytest.mark.parametrize(
    ("method", "expected"),
    [("scatter_add", [1.0, 8.0, 1.0]), ("scatter_sub", [1.0, -6.0, 1.0]), ("scatter_update", [1.0, 4.0, 1.0])],
)
def test_slices_are_scattered_into_every_copy(strategy, method, expected):
    slices = tf.IndexedSlices(values=[3.0, 4.0], indices=[1, 1])
    for variable in (tf.Variable([1.0] * 3), make(strategy, [1.0] * 3)):
        getattr(variable, method)(slices)
        for part in strategy.experimental_local_results(variable):
            assert expected == part.numpy().tolist()


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [(SUM, [1.0, 2.0, 3.0]), (MEAN, [1 / 3, 2 / 3, 1.0]), (FIRST, [1.0, 0.0, 0.0]), (NONE, None)],
)
def test_slices_of_all_replicas_are_aggregated(strategy, aggregation, expected):
    variable = make(strategy, [0.0] * 3, aggregation=aggregation)

    def body():
        variable.scatter_add(tf.IndexedSlices(values=np.float32([replica_id() + 1]), indices=[replica_id()]))

    if expected is None:
        with pytest.raises(ValueError, match="different values"):
            strategy.run(body)
    else:
        strategy.run(body)
        np.testing.assert_allclose(expected, variable.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "slices",
    [
        tf.IndexedSlices([1.0], [3]),
        tf.IndexedSlices([1.0], [-1]),
        tf.IndexedSlices([[1.0]], [0]),
        tf.IndexedSlices([1.0, 2.0], [0]),
    ],
)
def test_slices_that_do_not_fit_are_refused(slices):
    with pytest.raises(ValueError, match="expected"):
        tf.Variable([1.0] * 3).scatter_add(slices)


def test_a_tensor_is_no_slices_and_slices_are_no_tensor():
    with pytest.raises(TypeError, match="IndexedSlices"):
        tf.Variable([1.0]).scatter_add(tf.constant([1.0]))
    with pytest.raises(TypeError, match="IndexedSlices"):
        tf.Variable([1.0]).assign(tf.IndexedSlices([1.0], [0]))


def test_update_calls_a_function_for_each_copy_on_its_device(strategy):
    variable = make(strategy, aggregation=SUM)
    seen = []

    def change(copy, amount, scale=1.0):
        seen.append((copy.device, tf.device_name(tf.constant(0.0)), tf.distribute.in_cross_replica_context()))
        return copy.assign_add(amount * scale)

    with strategy.scope():
        amounts = strategy.extended.reduce_to("SUM", strategy.run(lambda: tf.constant(1.0)), variable)
        result = strategy.extended.update(variable, change, args=(amounts,), kwargs={"scale": 2.0})

    assert [(device, device, True) for device in strategy.extended.worker_devices] == seen
    assert [7.0] * 3 == copies(variable) == [float(part) for part in result.values]
    assert (1, 1, 1) == strategy.extended.update(variable, lambda copy: 1, group=False)


def test_extended_knows_its_variables(strategy):
    variable, plain = make(strategy), tf.Variable(1.0)
    extended = strategy.extended

    assert variable is extended.value_container(variable.values[1])
    assert plain is extended.value_container(plain)
    assert (True, False) == (extended.variable_created_in_scope(variable), extended.variable_created_in_scope(plain))
    assert 1.0 == float(extended.read_var(variable))
    with extended.colocate_vars_with(variable):
        pass
    with pytest.raises(ValueError, match="made in this strategy's scope"), extended.colocate_vars_with(plain):
        pass
    assert extended.worker_devices == extended.non_slot_devices([variable])
    with pytest.raises(ValueError, match="another strategy"):
        tf.distribute.MirroredStrategy([d[-5:] for d in extended.worker_devices]).extended.update(variable, lambda v: v)


def staged_on_read(strategy):
    """A variable whose copies 0, 10, 20 were written by a compiled program, which keeps them in a form of its own."""
    variable = make(strategy, 0.0, synchronization=ON_READ, aggregation=SUM)
    strategy.run(tf.function(lambda: variable.assign(tf.constant(10.0) * replica_id())))
    return variable


def test_after_a_program_has_written_one_replica_writes_its_copy_and_the_others_keep_theirs(strategy):
    variable = staged_on_read(strategy)
    strategy.run(lambda: variable.assign_add(tf.constant(1.0)) if replica_id() == 1 else None)

    assert [0.0, 11.0, 20.0] == copies(variable)


def test_after_a_program_has_written_a_copy_is_written_by_itself_and_the_others_keep_theirs(strategy):
    variable = staged_on_read(strategy)
    variable.values[2].assign(5.0)

    assert [0.0, 10.0, 5.0] == copies(variable)
    strategy.run(tf.function(lambda: variable.assign_add(tf.constant(1.0))))
    assert [1.0, 11.0, 6.0] == copies(variable)


def test_after_a_program_has_written_update_changes_every_copy(strategy):
    mirrored, own = make(strategy, 1.0, aggregation=MEAN), staged_on_read(strategy)
    strategy.run(tf.function(lambda: mirrored.assign_add(tf.constant(4.0))))
    for variable in (mirrored, own):
        strategy.extended.update(variable, lambda copy: copy.assign_sub(1.0))

    assert ([4.0] * 3, [-1.0, 9.0, 19.0]) == (copies(mirrored), copies(own))


def test_a_plain_variable_is_written_after_a_program_has_written_it(any_backend):
    variable = tf.Variable(1.0)
    tf.function(lambda: variable.assign(5.0))()
    variable.assign_add(1.0)

    assert 6.0 == variable.numpy()


@pytest.mark.parametrize("verb", ["assign", "assign_add", "assign_sub"])
@pytest.mark.parametrize("synchronization", ["ON_WRITE", "ON_READ"])
def test_nothing_is_returned_where_nothing_is_to_be_read(verb, synchronization):
    with tf.using("host", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            kind = tf.VariableSynchronization[synchronization]
            made = tf.Variable(1.0, synchronization=kind, aggregation=tf.VariableAggregation.MEAN)
        plain = tf.Variable(1.0)

        assert getattr(plain, verb)(1.0, read_value=False) is None
        assert getattr(made, verb)(1.0, read_value=False) is None
        assert strategy.run(lambda: getattr(made, verb)(1.0, read_value=False)) is None
        assert {"assign": (1.0, 1.0), "assign_add": (2.0, 3.0), "assign_sub": (0.0, -1.0)}[verb] == (
            float(plain),
            float(made),
        )


@pytest.mark.parametrize("backend", [("host", {"gpus": 2}), ("simulator", {"gpus": 2}), ("jax", {"cpus": 2})])
def test_the_first_replica_of_the_first_worker_decides(backend):
    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        with strategy.scope():
            made = tf.Variable([0.0], aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)

        def number():
            return 10.0 * index + tf.distribute.get_replica_context().replica_id_in_sync_group

        strategy.run(lambda: made.assign(tf.constant([number() + 1])))
        strategy.run(lambda: made.assign_add([number() + 2]))
        return [float(copy[0]) for copy in strategy.experimental_local_results(made)]

    name, counts = backend
    with tf.using(name, **counts):
        told = tf.cluster.run_workers(program, 2)

    assert {3.0} == {number for one in told for number in one}


def test_a_variable_keeps_the_constraint_for_its_optimizer(strategy):
    plain = tf.Variable(1.0, constraint=abs)

    assert (abs, abs, None) == (
        plain.constraint,
        make(strategy, 1.0, constraint=abs).constraint,
        make(strategy, 1.0).constraint,
    )


def test_a_variable_tells_its_shape_as_tensors_do(strategy):
    assert ([2, 1], 2) == (make(strategy, [[1.0], [2.0]]).get_shape().as_list(), tf.Variable([[1.0]]).get_shape().rank)


@pytest.mark.parametrize("shape", [-1, 5, [None], tf.TensorShape(None), 2.5, "a"])
def test_a_shape_that_is_not_that_of_the_value_is_refused_whatever_it_is(strategy, shape):
    for scope in (contextlib.nullcontext(), strategy.scope()):
        with (
            scope,
            pytest.raises((TypeError, ValueError), match=r"; expected (sizes of at least 0|integers|them to be equal)"),
        ):
            tf.Variable(1.0, shape=shape)


@pytest.mark.parametrize("shape", [2, [2], (2,), tf.TensorShape(2), np.array([2]), tf.constant([2])])
def test_a_shape_may_be_written_in_every_way(shape):
    assert [2] == tf.Variable([1.0, 2.0], shape=shape).shape
