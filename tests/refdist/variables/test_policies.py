"""The table of the policies: who reads and who writes what, in every context, with every aggregation."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf

NONE, SUM, MEAN, FIRST = tf.VariableAggregation
AUTO, UNSYNCHRONIZED, ON_WRITE, ON_READ = tf.VariableSynchronization
ctx = tf.distribute.get_replica_context
MODES = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
VERBS = {
    "assign": lambda old, new: new,
    "assign_add": lambda old, new: old + new,
    "assign_sub": lambda old, new: old - new,
}


def replica_id():
    return ctx().replica_id_in_sync_group


def make(strategy, value=1.0, **options):
    with strategy.scope():
        return tf.Variable(value, **options)


def copies(variable):
    return [part.numpy().tolist() for part in variable.distribute_strategy.experimental_local_results(variable)]


def host(count):
    with tf.using("host", gpus=count):
        return tf.distribute.MirroredStrategy()


def combined(aggregation, parts):
    """What the parts of all replicas are as one."""
    return {SUM: sum(parts), MEAN: sum(parts) / len(parts), FIRST: parts[0], NONE: parts[0]}[aggregation]


class TestOnWrite:
    """All copies are equal at all times."""

    @MODES
    @pytest.mark.parametrize("count", [1, 3])
    @pytest.mark.parametrize("aggregation", [SUM, MEAN, FIRST])
    def test_every_verb_of_the_replicas_writes_the_aggregate_to_all_copies_and_answers_with_it(
        self, names, mode, count, aggregation
    ):
        strategy = tf.distribute.MirroredStrategy(names[:count])
        variable, expected = make(strategy, 10.0, aggregation=aggregation), 10.0

        @mode
        def body():
            return [getattr(variable, verb)(tf.constant(1.0) * (replica_id() + 1)) + 0.0 for verb in VERBS]

        answers = strategy.run(body)

        for answer, operation in zip(answers, VERBS.values(), strict=True):
            expected = operation(expected, combined(aggregation, [1.0 + index for index in range(count)]))
            assert [expected] * count == [float(part) for part in strategy.experimental_local_results(answer)]
        assert [expected] * count == copies(variable)

    @pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
    @pytest.mark.parametrize("verb", VERBS)
    def test_a_write_from_outside_reaches_all_copies_once_whatever_the_aggregation(self, names, aggregation, verb):
        strategy = tf.distribute.MirroredStrategy(names[:3])
        variable = make(strategy, 10.0, aggregation=aggregation)
        returned = getattr(variable, verb)(4.0)

        assert variable is returned
        assert [VERBS[verb](10.0, 4.0)] * 3 == copies(variable)

    @MODES
    @pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
    def test_a_merge_function_writes_as_from_outside(self, names, mode, aggregation):
        strategy = tf.distribute.MirroredStrategy(names[:3])
        variable = make(strategy, 10.0, aggregation=aggregation)

        def merge(strategy, value):
            variable.assign_add(strategy.reduce("SUM", value, axis=None))

        strategy.run(mode(lambda: ctx().merge_call(merge, args=(tf.constant(2.0),))))

        assert [16.0] * 3 == copies(variable)

    @pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
    def test_reading_gives_the_one_value_inside_and_outside_on_the_device_of_the_reader(self, names, aggregation):
        strategy = tf.distribute.MirroredStrategy(names[1:4])
        variable = make(strategy, 2.0, aggregation=aggregation)
        read = strategy.run(lambda: variable.read_value())

        assert [2.0] * 3 == [float(part) for part in read.values]
        assert names[1:4] == [tf.device_name(part)[-5:] for part in read.values]
        assert 2.0 == float(variable.read_value())
        with tf.device(names[5]):
            assert names[5] == tf.device_name(variable.read_value())[-5:]

    def test_one_replica_has_nobody_to_agree_with(self, names):
        strategy = tf.distribute.MirroredStrategy(names[:1])
        for aggregation in (NONE, SUM, MEAN, FIRST):
            variable = make(strategy, 1.0, aggregation=aggregation)
            strategy.run(lambda variable=variable: variable.assign_add(2.0))
            assert [3.0] == copies(variable)

    @pytest.mark.parametrize("verb", VERBS)
    @pytest.mark.parametrize("value", [2, 2.5, True])
    def test_the_same_number_of_all_replicas_is_refused_by_a_sum_with_both_its_readings(self, names, verb, value):
        strategy = tf.distribute.MirroredStrategy(names[:3])
        variable = make(strategy, 1.0, aggregation=SUM, name="steps")
        with pytest.raises(ValueError, match=rf"{verb}\(\) of 'steps:0' got the number {value}[\s\S]*once or 3 times"):
            strategy.run(lambda: getattr(variable, verb)(value))

        assert [1.0] * 3 == copies(variable)

    @pytest.mark.parametrize("values", [(1, 1.0, 1), (True, 1, 1), (1.0, 1.0, 2.0)])
    def test_numbers_that_are_not_the_same_are_summed(self, values):
        strategy = host(3)
        variable = make(strategy, 0.0, aggregation=SUM)
        strategy.run(lambda: variable.assign(values[replica_id()]))

        assert [float(sum(values))] * 3 == copies(variable)

    @pytest.mark.parametrize("value", [2.0, 2, True])
    def test_the_same_number_of_all_replicas_is_written_once_by_the_other_aggregations(self, value):
        strategy = host(3)
        for aggregation in (NONE, MEAN, FIRST):
            variable = make(strategy, 1.0, aggregation=aggregation)
            strategy.run(lambda variable=variable: variable.assign_add(value))
            assert [1.0 + value] * 3 == copies(variable)

    def test_numbers_and_tensors_of_replicas_are_combined(self):
        strategy = host(3)
        variable = make(strategy, 0.0, aggregation=SUM)
        strategy.run(lambda: variable.assign(2.0 if replica_id() else tf.constant(5.0)))

        assert [9.0] * 3 == copies(variable)

    def test_equal_bits_are_equal_where_numbers_are_none(self):
        strategy = host(2)
        variable = make(strategy, 1.0)
        strategy.run(lambda: variable.assign(tf.constant(np.nan)))
        assert np.isnan(copies(variable)).all()
        with pytest.raises(ValueError, match="different values from replica 0 and replica 1"):
            strategy.run(lambda: variable.assign(tf.constant(-0.0 if replica_id() else 0.0)))

    def test_the_replica_that_differs_is_named(self):
        strategy = host(4)
        variable = make(strategy, 1.0, name="w")
        with pytest.raises(ValueError, match=r"assign\(\) of 'w:0' got different values from replica 0 and replica 3"):
            strategy.run(lambda: variable.assign(tf.constant(1.0 if replica_id() == 3 else 0.0)))

    def test_a_per_replica_value_with_another_aggregation_must_be_equal_too_when_written_from_outside(self):
        strategy = host(3)
        for aggregation in (SUM, MEAN, FIRST):
            variable = make(strategy, 1.0, aggregation=aggregation)
            variable.assign(strategy.run(lambda: tf.constant(4.0)))
            assert [4.0] * 3 == copies(variable)
            with pytest.raises(ValueError, match="different values"):
                variable.assign_add(strategy.run(lambda: tf.constant(1.0) * replica_id()))
            assert [4.0] * 3 == copies(variable)

    def test_a_variable_takes_the_value_of_another_one(self, names, any_backend):
        strategy = tf.distribute.MirroredStrategy(names[:3])
        variable, other = make(strategy, [1.0, 2.0], aggregation=MEAN), make(strategy, [3.0, 5.0])
        variable.assign(other)
        assert [[3.0, 5.0]] * 3 == copies(variable)
        strategy.run(lambda: variable.assign_add(other))
        assert [[6.0, 10.0]] * 3 == copies(variable)

    @MODES
    @pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (2, 1)])
    def test_values_of_any_size_are_aggregated(self, names, mode, shape):
        strategy = tf.distribute.MirroredStrategy(names[:3])
        variable = make(strategy, np.ones(shape, np.float32), aggregation=SUM)
        strategy.run(mode(lambda: variable.assign_add(tf.ones(shape) * (replica_id() + 1.0))))

        assert [np.full(shape, 7.0).tolist()] * 3 == copies(variable)


class TestOnRead:
    """Each replica has a copy of its own; reading from outside combines them."""

    @MODES
    @pytest.mark.parametrize("aggregation", [NONE, SUM, MEAN, FIRST])
    def test_every_verb_of_a_replica_changes_its_own_copy_and_answers_with_it(self, names, mode, aggregation):
        strategy = tf.distribute.MirroredStrategy(names[:3])
        variable = make(strategy, 10.0, synchronization=ON_READ, aggregation=aggregation)

        @mode
        def body():
            return [getattr(variable, verb)(tf.constant(1.0) * (replica_id() + 1)) + 0.0 for verb in VERBS]

        first, second, third = strategy.run(body)

        assert [1.0, 2.0, 3.0] == [float(part) for part in first.values]
        assert [2.0, 4.0, 6.0] == [float(part) for part in second.values]
        assert [1.0, 2.0, 3.0] == [float(part) for part in third.values] == copies(variable)

    @MODES
    @pytest.mark.parametrize("count", [1, 3, 7])
    @pytest.mark.parametrize("aggregation", [SUM, MEAN, FIRST])
    def test_reading_from_outside_combines_and_changes_nothing(self, names, mode, count, aggregation):
        strategy = tf.distribute.MirroredStrategy(names[:count])
        variable = make(strategy, 0.0, synchronization=ON_READ, aggregation=aggregation)
        strategy.run(lambda: variable.assign(tf.constant(1.0) * (replica_id() + 1)))
        parts = [1.0 + index for index in range(count)]

        with strategy.scope():
            assert combined(aggregation, parts) == float(mode(lambda: variable.read_value())())
        assert combined(aggregation, parts) == float(variable.numpy())
        assert parts == copies(variable)

    @MODES
    @pytest.mark.parametrize("aggregation", [SUM, MEAN, FIRST])
    def test_a_merge_function_reads_the_combination(self, names, mode, aggregation):
        strategy = tf.distribute.MirroredStrategy(names[:3])
        variable = make(strategy, 0.0, synchronization=ON_READ, aggregation=aggregation)

        def body():
            variable.assign(tf.constant(1.0) * (replica_id() + 1))
            return ctx().merge_call(lambda _: variable.read_value()) + 0.0

        read = strategy.run(mode(body))

        assert [combined(aggregation, [1.0, 2.0, 3.0])] * 3 == [float(part) for part in read.values]

    def test_without_aggregation_one_replica_reads_its_own_from_outside_too(self, names):
        variable = make(tf.distribute.MirroredStrategy(names[:1]), 5.0, synchronization=ON_READ)

        assert 5.0 == float(variable.read_value())

    def test_without_aggregation_the_error_says_how_to_read_the_copies(self):
        variable = make(host(2), 5.0, synchronization=ON_READ, name="seen")
        with pytest.raises(ValueError, match=r"'seen:0' was read outside[\s\S]*experimental_local_results\(\)"):
            variable.numpy()

    @pytest.mark.parametrize("verb", VERBS)
    @pytest.mark.parametrize("aggregation", [NONE, MEAN, FIRST])
    def test_a_write_from_outside_changes_each_copy(self, names, any_backend, aggregation, verb):
        strategy = tf.distribute.MirroredStrategy(names[:3])
        variable = make(strategy, 10.0, synchronization=ON_READ, aggregation=aggregation)
        strategy.run(lambda: variable.assign(tf.constant(1.0) * (replica_id() + 1)))
        getattr(variable, verb)(4.0)

        assert [VERBS[verb](1.0 + index, 4.0) for index in range(3)] == copies(variable)

    @pytest.mark.parametrize("count", [1, 2, 3, 7])
    def test_a_sum_that_is_assigned_is_read_again(self, names, any_backend, count):
        strategy = tf.distribute.MirroredStrategy(names[:count])
        variable = make(strategy, 0.0, synchronization=ON_READ, aggregation=SUM)
        variable.assign(42.0)

        assert [42.0 / count] * count == copies(variable)
        assert 42.0 == float(variable.numpy())

    def test_each_copy_takes_its_own_part_of_a_per_replica_value(self, names, any_backend):
        strategy = tf.distribute.MirroredStrategy(names[:3])
        value = strategy.run(lambda: tf.constant(3.0) * (replica_id() + 1))
        for aggregation, expected in ((NONE, [3.0, 6.0, 9.0]), (MEAN, [3.0, 6.0, 9.0]), (SUM, [1.0, 2.0, 3.0])):
            variable = make(strategy, 0.0, synchronization=ON_READ, aggregation=aggregation)
            variable.assign(value)
            assert expected == copies(variable)

    @given(total=generators.integers(-1000, 1000), count=generators.integers(1, 7))
    @settings(max_examples=60)
    def test_shares_of_a_whole_sum_add_up_to_it_and_the_first_copy_takes_what_is_left_over(self, total, count):
        variable = make(host(count), 0, synchronization=ON_READ, aggregation=SUM)
        variable.assign(total)

        share = abs(total) // count * (1 if total > 0 else -1)
        assert [share] * (count - 1) == copies(variable)[1:]
        assert (total, np.int32) == (variable.numpy(), variable.read_value().dtype)

    def test_arrays_are_shared_out_element_by_element(self):
        variable = make(host(2), [0, 0, 0], synchronization=ON_READ, aggregation=SUM)
        variable.assign([5, -5, 0])

        assert [[3, -3, 0], [2, -2, 0]] == copies(variable)

    def test_unsigned_sums_are_shared_out_too(self):
        variable = make(host(2), np.uint8(0), synchronization=ON_READ, aggregation=SUM)
        variable.assign(np.uint8(255))

        assert [128, 127] == copies(variable)

    def test_truth_values_have_no_shares(self):
        variable = make(host(2), True, synchronization=ON_READ, aggregation=SUM, name="flag")
        with pytest.raises(TypeError, match=r"assign\(\) of 'flag:0' got a value of dtype bool; expected a number"):
            variable.assign(False)
        alone = make(host(1), True, synchronization=ON_READ, aggregation=SUM)
        alone.assign(False)

        assert ([True, True], [False]) == (copies(variable), copies(alone))

    @pytest.mark.parametrize("verb", ["assign_add", "assign_sub"])
    def test_a_sum_of_one_copy_can_be_added_to_from_outside(self, verb):
        variable = make(host(1), 1.0, synchronization=ON_READ, aggregation=SUM)
        getattr(variable, verb)(2.0)

        assert [VERBS[verb](1.0, 2.0)] == copies(variable)

    def test_slices_are_scattered_into_the_copy_of_the_replica(self, names, any_backend):
        strategy = tf.distribute.MirroredStrategy(names[:2])
        variable = make(strategy, [0.0, 0.0], synchronization=ON_READ, aggregation=SUM)
        strategy.run(lambda: variable.scatter_add(tf.IndexedSlices(np.float32([replica_id() + 1]), [replica_id()])))

        assert [[1.0, 0.0], [0.0, 2.0]] == copies(variable)
        assert [1.0, 2.0] == variable.numpy().tolist()

    def test_what_does_not_fit_one_copy_changes_none(self):
        strategy = host(3)
        variable = make(strategy, 1.0, synchronization=ON_READ, aggregation=MEAN)
        uneven = strategy.run(lambda: tf.constant([1.0]) if replica_id() == 2 else tf.constant(5.0))
        with pytest.raises(ValueError, match=r"shape \(1,\); expected \(\)"):
            variable.assign(uneven)

        assert [1.0] * 3 == copies(variable)


class TestUpdate:
    """`extended.update` works on one copy after the other, whatever the policy."""

    @pytest.mark.parametrize(
        ("synchronization", "aggregation"), list(itertools.product([ON_WRITE, ON_READ], [NONE, SUM, MEAN, FIRST]))
    )
    @pytest.mark.parametrize("verb", VERBS)
    def test_every_verb_changes_each_copy_once(self, names, any_backend, synchronization, aggregation, verb):
        strategy = tf.distribute.MirroredStrategy(names[:3])
        variable = make(strategy, 10.0, synchronization=synchronization, aggregation=aggregation)
        strategy.extended.update(variable, lambda copy, x: getattr(copy, verb)(x), args=(4.0,))

        assert [VERBS[verb](10.0, 4.0)] * 3 == copies(variable)

    def test_the_variable_itself_stands_for_the_copy_that_is_updated(self, names, any_backend):
        strategy = tf.distribute.MirroredStrategy(names[:2])
        variable = make(strategy, 1.0, synchronization=ON_READ, aggregation=SUM)
        strategy.run(lambda: variable.assign(tf.constant(1.0) * (replica_id() + 1)))
        strategy.extended.update(variable, lambda copy: variable.assign(variable.read_value() * 10.0))

        assert [10.0, 20.0] == copies(variable)


@MODES
@pytest.mark.parametrize("synchronization", [AUTO, ON_READ])
@pytest.mark.parametrize("aggregation", [SUM, MEAN, FIRST])
def test_a_central_variable_is_written_by_all_replicas_and_read_by_each(names, mode, synchronization, aggregation):
    strategy = tf.distribute.experimental.CentralStorageStrategy(names[1:4], names[0])
    variable = make(strategy, 10.0, synchronization=synchronization, aggregation=aggregation)
    answers = strategy.run(mode(lambda: variable.assign_sub(tf.constant(1.0) * (replica_id() + 1)) + 0.0))

    expected = 10.0 - combined(aggregation, [1.0, 2.0, 3.0])
    assert [expected] == copies(variable)
    assert [expected] * 3 == [float(part) for part in answers.values]
    assert names[1:4] == [tf.device_name(part)[-5:] for part in answers.values]


@pytest.mark.parametrize("verb", VERBS)
def test_a_central_variable_without_aggregation_is_written_by_one_replica_and_from_outside(names, any_backend, verb):
    alone = tf.distribute.experimental.CentralStorageStrategy(names[1:2], names[0])
    variable = make(alone, 10.0)
    alone.run(lambda: getattr(variable, verb)(4.0))
    assert [VERBS[verb](10.0, 4.0)] == copies(variable)
    several = make(tf.distribute.experimental.CentralStorageStrategy(names[1:3], names[0]), 10.0)
    getattr(several, verb)(4.0)
    assert [VERBS[verb](10.0, 4.0)] == copies(several)


@pytest.mark.parametrize("synchronization", [AUTO, ON_WRITE])
@pytest.mark.parametrize("method", ["scatter_add", "scatter_sub", "scatter_update"])
def test_slices_without_aggregation_must_be_equal(synchronization, method):
    strategy = host(2)
    variable = make(strategy, [1.0, 1.0], synchronization=synchronization)
    strategy.run(lambda: getattr(variable, method)(tf.IndexedSlices(np.float32([3.0]), [1])))
    assert 1 == len({tuple(part) for part in copies(variable)})
    with pytest.raises(ValueError, match="different values"):
        strategy.run(lambda: getattr(variable, method)(tf.IndexedSlices(np.float32([3.0]), [replica_id()])))


def test_only_the_first_replica_replaces_slices():
    strategy = host(2)
    variable = make(strategy, [1.0, 1.0], aggregation=FIRST)
    strategy.run(lambda: variable.scatter_update(tf.IndexedSlices(np.float32([3.0]), [replica_id()])))

    assert [[3.0, 1.0]] * 2 == copies(variable)
