"""What an input_signature asks of the arguments of a call: how many, which nests, shapes and dtypes."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.replicas.specs import PerReplicaSpec
from refdist._core.replicas.values import PerReplica
from refdist._core.staging.input_signature import conforming, fitting_leaf
from tests.refdist import staged_programs
from tests.refdist.staged_programs import ctx

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures
SCALAR = tf.TensorSpec([], tf.float32)


@pytest.mark.parametrize("value", [1, True, np.int64(1), np.float64(1)])
def test_numbers_become_the_dtype_of_the_spec(names, value):
    step = tf.function(lambda x: x, input_signature=[tf.TensorSpec([], tf.float32)])

    assert (np.float32, 1.0) == (step(value).dtype, float(step(value)))


@pytest.mark.parametrize(
    ("spec", "value", "message"),
    [
        (tf.TensorSpec([2]), np.ones(3, np.float32), r"shape \(3,\) and dtype float32 as argument 0"),
        (tf.TensorSpec([2]), np.ones((2, 1), np.float32), r"shape \(2, 1\)"),
        (tf.TensorSpec([None]), np.float32(1), r"shape \(\)"),
        (tf.TensorSpec([], tf.int32), 1.5, "as argument 0; expected TensorSpec"),
        (tf.TensorSpec([], tf.int32), "a", "as argument 0; expected TensorSpec"),
        (tf.TensorSpec([], tf.int32), 2**40, "as argument 0; expected TensorSpec"),
        (tf.TensorSpec([], tf.int32), None, "as argument 0; expected TensorSpec"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_place_and_the_spec(names, spec, value, message):
    with pytest.raises(TypeError, match=message):
        tf.function(lambda x: x, input_signature=[spec])(value)


def test_a_tensor_of_another_dtype_is_not_converted(names):
    step = tf.function(lambda x: x, input_signature=[tf.TensorSpec([], tf.float32)])
    with pytest.raises(TypeError, match="dtype int32 as argument 0; expected TensorSpec"):
        step(tf.constant(1))


def test_a_variable_is_taken_by_its_value(names):
    step = tf.function(lambda x: x * 2.0, input_signature=[tf.TensorSpec([])])

    assert 6.0 == float(step(tf.Variable(3.0)))


@pytest.mark.parametrize(("count", "given"), [(0, 1), (1, 0), (1, 2), (2, 1)])
def test_another_number_of_arguments_is_refused(names, count, given):
    step = tf.function(lambda *args: tf.constant(0.0), input_signature=[tf.TensorSpec([])] * count)
    with pytest.raises(TypeError, match=f"got {given} arguments; expected {count}"):
        step(*[tf.constant(1.0)] * given)


def test_an_unknown_name_is_refused_with_what_python_says(names):
    def step(x):
        return x

    with pytest.raises(TypeError, match=r"step\(\) got other arguments than it takes: .*'y'"):
        tf.function(step, input_signature=[tf.TensorSpec([])])(1.0, y=1.0)


def test_a_nest_must_be_the_same(names):
    spec = {"a": tf.TensorSpec([]), "b": [tf.TensorSpec([])]}
    step = tf.function(lambda d: d["a"] + d["b"][0], input_signature=[spec])

    assert 3.0 == float(step({"a": 1, "b": [2]}))
    for wrong in ({"a": 1}, {"a": 1, "b": [2, 3]}, [1, 2], {"a": 1, "c": [2]}):
        with pytest.raises(TypeError, match="argument 0 as another nest"):
            step(wrong)


def test_per_replica_values_fit_a_spec_of_their_parts(strategy):
    step = tf.function(lambda x: strategy.reduce("SUM", x, axis=None), input_signature=[tf.TensorSpec([2])])
    value = strategy.run(lambda: tf.constant([1.0, 2.0]) * (ctx().replica_id_in_sync_group + 1))

    assert [3.0, 6.0] == np.asarray(step(value)).tolist()
    with pytest.raises(TypeError, match=r"shape \(3,\)"):
        step(strategy.run(lambda: tf.ones([3])))


def test_per_replica_values_of_numbers_are_converted(strategy):
    step = tf.function(lambda x: strategy.reduce("SUM", x, axis=None), input_signature=[tf.TensorSpec([])])
    value = strategy.experimental_distribute_values_from_function(lambda c: c.replica_id_in_sync_group + 1)

    assert 3.0 == float(step(value))


@pytest.mark.parametrize("signature", [tf.TensorSpec([]), "x", 3])
def test_a_signature_is_a_list_or_a_tuple(signature):
    with pytest.raises(TypeError, match="expected a list or tuple"):
        tf.function(lambda x: x, input_signature=signature)


def step(x, y=None, *, z=None):
    return x


def test_arguments_by_name_are_put_in_their_places(names):
    (x, y), named = conforming(step, [SCALAR, tf.TensorSpec([2], tf.int32)], (), {"y": [1, 2], "x": 3})

    assert (3.0, [1, 2], {}) == (float(x), np.asarray(y).tolist(), named)
    assert (np.float32, np.int32) == (x.dtype, y.dtype)


def test_an_argument_that_has_no_place_is_refused(names):
    with pytest.raises(TypeError, match=r"step\(\) got 2 arguments; expected 1, as many as input_signature has"):
        conforming(step, [SCALAR], (1.0,), {"z": 2.0})


def test_a_tensor_that_fits_is_passed_on_as_it_is(names):
    tensor = tf.constant([1.0, 2.0])

    assert fitting_leaf("f", 0, tf.TensorSpec([None]), tensor) is tensor


def test_an_array_becomes_the_dtype_of_the_spec_where_both_are_numbers_of_one_kind(names):
    fitted = fitting_leaf("f", 0, tf.TensorSpec([2], tf.float32), np.float64([1, 2]))

    assert (np.float32, [1.0, 2.0]) == (fitted.dtype, np.asarray(fitted).tolist())
    with pytest.raises(TypeError, match=r"dtype int64 as argument 0; expected TensorSpec"):
        fitting_leaf("f", 0, tf.TensorSpec([2], tf.float32), np.int64([1, 2]))


def test_a_value_that_fits_the_spec_of_any_replica_is_taken(names):
    spec = PerReplicaSpec(tf.TensorSpec([2]), tf.TensorSpec([3]))
    value = PerReplica([tf.ones([2]), tf.ones([3])])

    assert [(2,), (3,)] == [tuple(part.shape) for part in fitting_leaf("f", 0, spec, value).values]
    with pytest.raises(TypeError, match=r"shape \(4,\) and dtype float32 as argument 0; expected PerReplicaSpec"):
        fitting_leaf("f", 0, spec, PerReplica([tf.ones([2]), tf.ones([4])]))


@pytest.mark.parametrize("spec", ["float32", np.float32, 3])
def test_what_is_no_spec_is_refused_with_where_to_get_one(names, spec):
    with pytest.raises(TypeError, match=r"f\(\) has .* in its input_signature; expected TensorSpecs"):
        fitting_leaf("f", 0, spec, 1.0)


def test_the_place_of_what_does_not_fit_is_counted_from_zero(names):
    with pytest.raises(TypeError, match=r"as argument 1; expected"):
        conforming(step, [SCALAR, SCALAR], (1.0, "text"), {})
