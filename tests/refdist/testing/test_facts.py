"""What a run is compared by: writes by variable and turn, values combined, values returned."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.testing.facts import facts_of, returned_facts
from refdist.testing import journal


def facts(program, count):
    with tf.using("simulator", gpus=count), journal() as events:
        program(tf.distribute.MirroredStrategy())
    return facts_of(events)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_write_to_a_mirrored_variable_is_one_fact_on_any_number_of_replicas(count):
    def program(strategy):
        with strategy.scope():
            w = tf.Variable(1.0, name="w")
            strategy.extended.update(w, lambda copy: copy.assign(3.0))
        strategy.run(lambda: w.assign_add(tf.constant(1.0)))

    found = facts(program, count)

    assert [fact.key for fact in found] == [("write", ("w:0", 0), 0), ("write", ("w:0", 0), 1)]
    assert [float(fact.change) for fact in found] == [2.0, 1.0]


@pytest.mark.parametrize("count", [1, 2, 4])
def test_writes_of_all_own_copies_together_are_one_fact_each_turn(count):
    def program(strategy):
        with strategy.scope():
            seen = tf.Variable(
                0.0,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )
        for _ in range(2):
            strategy.run(lambda: seen.assign_add(8.0 / count))

    assert [float(fact.value) for fact in facts(program, count)] == [8.0, 16.0]


def test_a_replica_that_writes_less_often_keeps_its_last_value():
    def program(strategy):
        with strategy.scope():
            seen = tf.Variable(
                0.0,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )

        def step():
            if tf.distribute.get_replica_context().replica_id_in_sync_group == 0:
                seen.assign_add(1.0)

        strategy.run(step)

    assert [float(fact.value) for fact in facts(program, 2)] == [1.0]


def test_variables_of_one_name_are_told_apart_by_turn_and_numbers_in_names_do_not_count():
    def program(strategy):
        for name in ("a_1/kernel", "a_2/kernel", "b_7_bias"):
            tf.Variable(0.0, name=name).assign(1.0)

    assert [fact.key[1] for fact in facts(program, 1)] == [("a/kernel:0", 0), ("a/kernel:0", 1), ("b_bias:0", 0)]


def test_returned_values_are_found_in_nests_and_have_paths():
    found = returned_facts({"a": [1.0, np.zeros(2)], "b": ("text", object())}, 1)

    assert [fact.what for fact in found] == [
        "the returned value['a'][0]",
        "the returned value['a'][1]",
        "the returned value['b'][0]",
    ]


def test_a_list_with_a_value_for_each_replica_belongs_to_the_one_value_of_one_replica():
    (fact,) = returned_facts([1.0, 2.0], 2, like=[3.0])

    assert (fact.key, [float(part) for part in fact.parts]) == (("return", "[0]"), [1.0, 2.0])
    assert [one.key for one in returned_facts([1.0, 2.0], 2, like=[1.0, 2.0])] == [("return", "[0]"), ("return", "[1]")]
