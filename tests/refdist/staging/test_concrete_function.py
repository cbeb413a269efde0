"""Functions for one kind of arguments: what they say of themselves, what they take, and when they are traced."""

import numpy as np
import pytest

import refdist as tf


def test_it_is_traced_when_it_is_made_and_not_when_it_is_called(any_backend):
    traces = []

    @tf.function
    def double(x):
        traces.append(x)
        return {"double": x * 2, "none": None}

    concrete = double.get_concrete_function(tf.TensorSpec([2], tf.float32))
    assert (1, 1) == (len(traces), double.experimental_get_tracing_count())
    assert ((tf.TensorSpec([2], tf.float32, name="x"),), {}) == concrete.structured_input_signature
    assert [tf.TensorSpec([2], tf.float32, name="x")] == concrete.inputs
    assert {"double": tf.TensorSpec([2], tf.float32), "none": None} == concrete.structured_outputs
    assert [tf.TensorSpec([2], tf.float32)] == concrete.outputs

    assert [2.0, 4.0] == concrete(tf.constant([1.0, 2.0]))["double"].tolist()
    assert [2.0, 4.0] == concrete(x=np.float32([1.0, 2.0]))["double"].tolist()
    assert [2.0, 4.0] == double(tf.constant([1.0, 2.0]))["double"].tolist()
    assert (1, 1) == (len(traces), double.experimental_get_tracing_count())
    assert "double" in repr(concrete)


def test_tensors_stand_for_their_specs_and_the_signature_of_a_function_is_its_own(any_backend):
    by_tensor = tf.function(lambda x: x).get_concrete_function(tf.constant([1, 2]))
    by_signature = tf.function(lambda x: x, input_signature=[tf.TensorSpec([None])]).get_concrete_function()

    assert [tf.TensorSpec([2], tf.int32, name="x")] == by_tensor.inputs
    assert [tf.TensorSpec([None], tf.float32, name="x")] == by_signature.inputs
    assert [3.0, 4.0] == by_signature([3.0, 4.0]).tolist()


def test_python_values_are_kept(any_backend):
    function = tf.function(lambda x, y=3, *, z=1: x + y * z)
    concrete = function.get_concrete_function(tf.TensorSpec([], tf.float32), y=4, z=2)

    assert ((tf.TensorSpec([], tf.float32, name="x"), 4), {"z": 2}) == concrete.structured_input_signature
    assert [9.0] * 3 == [float(one) for one in (concrete(1.0), concrete(1.0, 4), concrete(x=1.0, z=2))]
    with pytest.raises(TypeError, match="got 5 as argument 1; expected 4"):
        concrete(tf.constant(1.0), 5)


def test_nests_are_taken_apart(any_backend):
    function = tf.function(lambda pair: pair["a"] + pair["b"])
    concrete = function.get_concrete_function({"a": tf.TensorSpec([2]), "b": tf.TensorSpec([])})

    assert [3.0, 3.0] == concrete({"a": tf.constant([1.0, 1.0]), "b": 2.0}).tolist()
    with pytest.raises(TypeError, match=r"got .* as argument 0; expected"):
        concrete([1.0, 2.0])


@pytest.mark.parametrize("args", [(), (1.0, 2.0), (np.ones(3, np.float32),), (np.ones(2, np.complex64),)])
def test_other_arguments_are_refused(any_backend, args):
    concrete = tf.function(lambda x: x).get_concrete_function(tf.TensorSpec([2]))

    with pytest.raises(TypeError, match=r"got .*; expected"):
        concrete(*args)


def test_sizes_that_are_not_known_are_those_of_the_calls(any_backend):
    concrete = tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec([None], tf.float32))

    assert [[2.0], [2.0, 2.0]] == [concrete(tf.ones([count])).tolist() for count in (1, 2)]
    assert tf.TensorSpec([None], tf.float32) == concrete.structured_outputs


def test_outputs_that_depend_on_a_size_are_not_known(any_backend):
    function = tf.function(lambda x: tf.ones([int(x.shape[0])]))
    concrete = function.get_concrete_function(tf.TensorSpec([None], tf.float32))

    assert [[1.0], [1.0, 1.0]] == [concrete(tf.ones([count])).tolist() for count in (1, 2)]
    with pytest.raises(ValueError, match="specs without None"):
        concrete.structured_outputs  # noqa: B018


def test_what_replicas_return_has_a_spec_for_each(names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    function = tf.function(lambda x: strategy.run(lambda: x + 1.0))
    concrete = function.get_concrete_function(tf.TensorSpec([], tf.float32))
    result = concrete(tf.constant(1.0))

    assert (tf.TensorSpec([], tf.float32),) * 2 == concrete.structured_outputs.specs
    assert [2.0, 2.0] == [float(one) for one in strategy.experimental_local_results(result)]


def test_a_variable_is_itself(any_backend):
    variable = tf.Variable(2.0)
    concrete = tf.function(lambda v, x: v * x).get_concrete_function(variable, tf.TensorSpec([], tf.float32))
    variable.assign(5.0)

    assert 15.0 == float(concrete(variable, tf.constant(3.0)))
