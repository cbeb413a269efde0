"""Which arguments are tensors, per-replica values or Python values, and the keys that are made from them."""

import jax
import numpy as np
import pytest
from hypothesis import given, settings

import refdist as tf
from refdist._core.replicas.values import Mirrored, PerReplica
from refdist._core.staging.argument_kinds import ArgumentKinds, quick_key
from tests.generators import values


@pytest.fixture(autouse=True)
def host():
    with tf.using("host", gpus=2):
        yield


def pair(first, second):
    return PerReplica([tf.constant(first), tf.constant(second)])


def test_the_places_of_each_kind_are_noted():
    kinds = ArgumentKinds(
        [1, tf.constant(1.0), pair(1.0, 2.0), "text", tf.constant("text"), tf.Variable(1.0), np.ones(2)]
    )

    assert ([1, 6], [2], [4]) == (kinds.tensors, kinds.per_replica, kinds.text)
    assert (False, False) == (kinds.in_python, kinds.has_tracers)


@given(first=values(), second=values())
@settings(max_examples=30)
def test_tensors_have_one_key_exactly_if_shape_and_dtype_are_the_same(first, second):
    keys = [ArgumentKinds([tf.constant(one)]).key for one in (first, second)]

    assert ((first.shape, first.dtype) == (second.shape, second.dtype)) == (keys[0] == keys[1])
    assert keys[0] == ArgumentKinds([tf.constant(np.zeros_like(first))]).key, "whatever their numbers"
    assert keys[0] == ArgumentKinds([first]).key, "whoever made them"


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (1, True), (0.0, -0.0), ("a", b"a"), (None, 0), (1.0, np.float32(1)), (1j, 1.0)]
)
def test_python_values_are_told_apart_by_type_and_value(one, other):
    first, again, second = (ArgumentKinds([value]).key for value in (one, one, other))

    assert first == again != second
    assert hash(first) == hash(again)


def test_a_variable_is_told_by_itself_and_not_by_its_value():
    variable, other = tf.Variable(1.0), tf.Variable(1.0)
    before = ArgumentKinds([variable]).key
    variable.assign(2.0)

    assert before == ArgumentKinds([variable]).key != ArgumentKinds([other]).key
    assert [] == ArgumentKinds([variable]).tensors


def test_values_of_all_replicas_are_told_by_their_number_shape_and_dtype():
    key = ArgumentKinds([pair(1.0, 2.0)]).key

    assert key == ArgumentKinds([pair(3.0, 4.0)]).key
    for other in (pair(1, 2), pair([1.0], [2.0]), PerReplica([tf.constant(1.0)] * 3), tf.constant(1.0)):
        assert key != ArgumentKinds([other]).key


def test_python_values_of_all_replicas_are_told_by_value():
    one, same, other = (ArgumentKinds([PerReplica(numbers)]) for numbers in ([1, 2], [1, 2], [1, 3]))

    assert one.key == same.key != other.key
    assert ([], False) == (one.per_replica, one.in_python)
    assert one.key != ArgumentKinds([Mirrored([1, 2])]).key


@pytest.mark.parametrize(
    "make",
    [
        lambda: pair([1.0], [1.0, 2.0]),
        lambda: PerReplica([tf.IndexedSlices([1.0], [0])] * 2),
        lambda: tf.data.Dataset.range(3),
        lambda: tf.distribute.MirroredStrategy().experimental_distribute_dataset(tf.data.Dataset.range(4).batch(2)),
    ],
)
def test_what_no_single_program_takes_is_left_to_python(make):
    assert ArgumentKinds([tf.constant(1.0), make()]).in_python


@pytest.mark.parametrize(
    ("dtype", "wide"),
    [
        ("float64", True),
        ("int64", True),
        ("uint64", True),
        ("complex128", True),
        ("complex64", False),
        ("int32", False),
    ],
)
def test_numbers_of_64_bits_are_noted(dtype, wide):
    array = np.ones(2, dtype)

    assert wide == ArgumentKinds([array]).wide == ArgumentKinds([PerReplica([tf.constant(array)] * 2)]).wide


def test_what_stands_for_a_value_in_a_trace_is_noted():
    seen = []
    jax.make_jaxpr(lambda x: seen.append(ArgumentKinds([x])) or x)(np.ones(2, np.float32))

    assert (True, [0]) == (seen[0].has_tracers, seen[0].tensors)
    assert seen[0].key == ArgumentKinds([np.ones(2, np.float32)]).key


def test_a_random_key_of_jax_is_a_tensor_that_is_not_wide():
    kinds = ArgumentKinds([jax.random.key(0)])

    assert ([0], False, []) == (kinds.tensors, kinds.wide, kinds.text)


def test_a_quick_key_is_as_good_as_the_whole_one_where_there_is_one():
    ArgumentKinds([tf.constant(1.0)])  # by now the type of tensors has been met
    calls = [
        [tf.constant(1.0), pair(1.0, 2.0)],
        [tf.constant(2.0), pair(3.0, 4.0)],
        [tf.constant([2.0]), pair(3.0, 4.0)],
        [tf.constant(2.0), pair(3, 4)],
        [tf.constant(2), pair(3.0, 4.0)],
    ]
    quick, whole = [quick_key(call) for call in calls], [ArgumentKinds(call).key for call in calls]

    assert quick[0] == quick[1]
    assert [[a == b for b in quick] for a in quick] == [[a == b for b in whole] for a in whole]


@pytest.mark.parametrize("leaf", [1, "text", None, [1.0], {"a": 1}])
def test_there_is_no_quick_key_for_anything_but_tensors(leaf):
    assert quick_key([tf.constant(1.0), leaf]) is None
    assert () == quick_key([])


def test_ragged_tensors_make_a_function_run_in_python(any_backend):
    twice = tf.function(lambda rows: rows * 2)

    assert [[2, 4], [6]] == twice(tf.ragged.constant([[1, 2], [3]])).to_list()
    assert [[8], [], [10]] == twice(tf.ragged.constant([[4], [], [5]])).to_list()
