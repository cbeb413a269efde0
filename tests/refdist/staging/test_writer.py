"""Programs that are written: what they take, read, write and return, and what keeps them from being written."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.replicas.values import PerReplica
from refdist._core.staging.argument_kinds import ArgumentKinds
from refdist._core.staging.writer import Call, ProgramWriter
from tests.refdist import staged_programs
from tests.refdist.staged_programs import MEAN, numbers

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures


def writer(strategy, function, *args, on=None, wide=False):
    return ProgramWriter(Call(function, on, args, None, ArgumentKinds(args)), strategy, once=False, wide=wide)


def test_a_body_is_called_once_for_each_replica_and_never_when_the_program_runs(strategy):
    calls = []
    x = tf.constant(2.0)
    program = writer(strategy, lambda x: calls.append(1) or x + 1, x, on=strategy).write().program

    assert [3.0, 3.0] == numbers(strategy, program.run([x])) == numbers(strategy, program.run([x]))
    assert [1, 1] == calls


def test_a_body_that_makes_variables_gives_them_back_in_place_of_a_program(strategy):
    kept = []

    def body():
        kept.append(tf.Variable(1.0))

    with strategy.scope():
        written = writer(strategy, body).write()

    assert None is written.program
    assert [id(kept[0])] == [id(one) for one in written.created]


def test_a_program_takes_the_arguments_and_the_variables_that_it_uses(strategy):
    with strategy.scope():
        used, unused = tf.Variable(1.0, aggregation=MEAN), tf.Variable(2.0, aggregation=MEAN)
    x, y = tf.constant(3.0), tf.constant(4.0)
    program = writer(strategy, lambda x, y: used.assign_add(x), x, y, on=strategy).write().program
    unused.assign(0.0)
    program.run([x, y])

    assert 4.0 == float(used)
    assert ((0, False),) == program._takes
    assert [used.storage] == list(program._reads)
    assert [used.storage] == list(program._writes)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("once", [False, True])
def test_text_that_replicas_make_is_a_tensor_of_each(names, count, once):
    strategy = tf.distribute.MirroredStrategy(names[-count:])
    made = tf.function(lambda: strategy.run(lambda: [tf.constant(["a", "b"]), tf.constant(1.0)]), trace_once=once)
    if names[0].startswith("CPU"):
        with pytest.raises(TypeError, match="is text; expected numbers"):
            made()
        return
    text, numbers = made()

    parts = strategy.experimental_local_results(text)
    assert [([b"a", b"b"], name) for name in names[-count:]] == [
        (part.numpy().tolist(), part.device[-5:]) for part in parts
    ]
    assert count == len(strategy.experimental_local_results(numbers))


def test_text_that_a_function_makes_is_a_tensor():
    assert b"a" == tf.function(lambda: tf.constant("a"))().numpy()


def test_text_passes_through_without_being_an_input(strategy):
    if strategy.extended.backend.name == "jax":
        pytest.skip("JAX has no text")
    text, x = tf.constant("a"), tf.constant(1.0)
    program = writer(strategy, lambda text, x: (text, x * 2), text, x).write().program
    found, doubled = program.run([text, x])

    assert text is found
    assert 2.0 == float(doubled)


def test_what_must_be_equal_is_named_where_it_is_not(strategy):
    with strategy.scope():
        v = tf.Variable(0.0)
    value = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(float(context.replica_id_in_sync_group))
    )
    program = writer(strategy, lambda x: v.assign(x), value, on=strategy).write().program

    with pytest.raises(ValueError, match=r"assign\(\) of 'Variable:0' got different values.*Nothing was written"):
        program.run([value])
    assert 0.0 == float(v)


def test_the_error_of_a_body_is_the_very_one_that_it_raised(strategy):
    mine = KeyError("mine")

    def body():
        raise mine

    with pytest.raises(KeyError) as caught:
        writer(strategy, body).write()

    assert mine is caught.value


def test_a_value_of_another_number_of_replicas_is_refused_before_the_body_is_called(strategy):
    with pytest.raises(ValueError, match="3 components met a strategy of 2 replicas"):
        writer(strategy, pytest.fail, PerReplica([tf.constant(1.0)] * 3), on=strategy)


def test_results_keep_their_structure_with_tensors_in_place_of_numbers(strategy):
    program = writer(strategy, lambda: {"a": (1, None), "b": "text"}).write().program
    result = program.run([])

    assert {"a": (1, None), "b": "text"} == result
    assert isinstance(result["a"][0], strategy.extended.backend.tensor_type)
    assert np.int32 == result["a"][0].dtype
