import numpy as np
import pytest

import refdist as tf
from refdist._core.replicas.values import PerReplica


@pytest.mark.parametrize(
    ("make", "expected", "dtype"),
    [
        (lambda: tf.constant(1.5), 1.5, "float32"),
        (lambda: tf.constant(2, shape=[2, 2]), [[2, 2], [2, 2]], "int32"),
        (lambda: tf.constant([1, 2, 3, 4], shape=[2, 2]), [[1, 2], [3, 4]], "int32"),
        (lambda: tf.constant(1, tf.float64), 1.0, "float64"),
        (lambda: tf.range(3), [0, 1, 2], "int32"),
        (lambda: tf.range(1, 6, 2), [1, 3, 5], "int32"),
        (lambda: tf.range(0.0, 1.0, 0.5), [0.0, 0.5], "float32"),
        (lambda: tf.ones([2]), [1.0, 1.0], "float32"),
        (lambda: tf.zeros(2, tf.int32), [0, 0], "int32"),
        (lambda: tf.cast([1.7, -1.7], tf.int32), [1, -1], "int32"),
        (lambda: tf.reduce_sum([[1, 2], [3, 4]]), 10, "int32"),
        (lambda: tf.reduce_sum([[1, 2], [3, 4]], axis=0), [4, 6], "int32"),
        (lambda: tf.reduce_sum([[1.0, 2.0]], axis=[0, 1]), 3.0, "float32"),
        (lambda: tf.reduce_mean([[1.0, 2.0], [3.0, 4.0]], axis=1, keepdims=True), [[1.5], [3.5]], "float32"),
        (lambda: tf.add(tf.Variable(1.0), tf.Variable(2.0)), 3.0, "float32"),
        (lambda: tf.square(3.0), 9.0, "float32"),
        (lambda: tf.matmul([[1.0, 2.0]], [[3.0], [4.0]]), [[11.0]], "float32"),
        (lambda: tf.concat([[1], [2, 3]], axis=0), [1, 2, 3], "int32"),
        (lambda: tf.stack([1.0, tf.Variable(2.0)]), [1.0, 2.0], "float32"),
        (lambda: tf.shape(tf.ones([2, 3])), [2, 3], "int32"),
        (lambda: tf.size(tf.ones([2, 3])), 6, "int32"),
        (lambda: tf.identity(tf.Variable(2.0)), 2.0, "float32"),
    ],
)
def test_the_functions_work_on_every_backend(any_backend, make, expected, dtype):
    result = make()
    wanted = "float32" if (any_backend.name, dtype) == ("jax", "float64") else dtype

    assert isinstance(result, any_backend.tensor_type)
    assert expected == result.tolist()
    assert np.dtype(wanted) == result.dtype


def test_a_device_scope_places_tensors_and_variables(any_backend, names):
    with tf.device(names[2]):
        inside = [tf.constant(1.0), tf.Variable(1.0), tf.identity(tf.ones([])), tf.range(3)]
        with tf.device(None):
            outside = tf.constant(1.0)

    assert {names[2]} == {tf.device_name(value)[-5:] for value in inside}
    assert "CPU:0" == tf.device_name(outside)[-5:]


def test_a_device_scope_ends_with_an_error(any_backend, names):
    with pytest.raises(KeyError), tf.device(names[2]):
        raise KeyError

    assert "CPU:0" == tf.device_name(tf.constant(1.0))[-5:]


def test_a_per_replica_value_is_no_tensor():
    with pytest.raises(ValueError, match="expected a single one"):
        tf.constant(PerReplica([1.0, 2.0]))


def test_a_tensor_is_not_converted_silently():
    with pytest.raises(ValueError, match="expected the same dtype"):
        tf.convert_to_tensor(tf.constant(1), tf.float32)


def test_v1_names_make_variables():
    v1 = tf.compat.v1
    v1.enable_eager_execution()

    assert ("w:0", [0.0, 0.0]) == (v1.get_variable("w", [2]).name, v1.get_variable("w", [2]).numpy().tolist())
    assert 3.0 == v1.get_variable("w", initializer=3.0).numpy()
    assert [1.0] == v1.get_variable("w", [1], initializer=tf.ones).numpy().tolist()
    with pytest.raises(ValueError, match="partitioner"):
        v1.get_variable("w", [2], partitioner=v1.fixed_size_partitioner(2))


@pytest.mark.parametrize("reduce", [tf.reduce_sum, tf.reduce_mean])
@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_what_has_no_such_axis_or_no_numbers_is_not_reduced(any_backend, reduce, around):
    with pytest.raises(ValueError, match="axis"):
        around(lambda x: reduce(x, axis=0))(tf.constant(1.0))
    with pytest.raises(ValueError, match="axis"):
        around(lambda x: reduce(x, axis=[0, 2]))(tf.ones([2, 2]))
    with pytest.raises(TypeError, match="numbers"):
        around(lambda x: reduce(x))(tf.constant([True, False]))


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (lambda: (3,), "int32"),
        (lambda: (tf.constant(3),), "int32"),
        (lambda: (tf.constant(3, tf.int64),), "int64"),
        (lambda: (1, tf.constant(3, tf.int64)), "int64"),
        (lambda: (3.0,), "float32"),
        (lambda: (0, 3, np.float64(1)), "float64"),
    ],
)
def test_range_counts_in_the_widest_dtype_of_its_numbers_as_in_tensorflow(bounds, expected):
    assert expected == str(tf.range(*bounds()).dtype)


EAGER_AND_STAGED = pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])


@pytest.mark.parametrize("size", [2, np.int64(2), [2], (2,), np.array([2])])
def test_one_number_is_a_shape(any_backend, size):
    assert [1.0, 1.0] == tf.constant(1.0, shape=size).tolist()
    assert [0.0, 0.0] == tf.zeros(size).tolist()


@EAGER_AND_STAGED
def test_a_tensor_takes_the_shape_of_a_constant(any_backend, around):
    assert [1.0, 1.0] == around(lambda x: tf.constant(x, shape=[2]))(tf.constant(1.0)).tolist()
    assert [[1.0], [2.0]] == around(lambda x: tf.constant(x, shape=[2, 1]))(tf.constant([1.0, 2.0])).tolist()


@EAGER_AND_STAGED
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [(float, "float32"), (int, "int32"), (bool, "bool"), ("int16", "int16"), (np.uint8, "uint8"), ("float", "float32")],
)
def test_a_dtype_may_be_a_type_or_a_name(any_backend, around, dtype, expected):
    made = around(
        lambda x: (
            tf.cast(x, dtype),
            tf.ones([1], dtype),
            tf.zeros([1], dtype),
            tf.constant(True, dtype),
            tf.convert_to_tensor(True, dtype),
        )
    )(tf.constant(1))

    assert {expected} == {str(one.dtype) for one in made}
    assert expected == str(tf.TensorSpec([], dtype).dtype) == str(tf.Variable(True, dtype=dtype).dtype)


def test_shapes_sizes_ranges_and_random_numbers_take_a_type_as_dtype(any_backend):
    made = [tf.range(3, dtype=float), tf.random.uniform([2], dtype=float)]

    assert {"float32"} == {str(one.dtype) for one in made}
    assert {"int32"} == {str(one.dtype) for one in (tf.shape([1], int), tf.size([1], int), tf.range(3, dtype=int))}


@EAGER_AND_STAGED
@pytest.mark.parametrize(
    ("values", "expected", "dtype"),
    [
        (lambda x: [x, x], [1.5, 1.5], "float32"),
        (lambda x: (x, 2.0), [1.5, 2.0], "float32"),
        (lambda x: [2, x], [2.0, 1.5], "float32"),
        (lambda x: [[x, 2.0], [3.0, x]], [[1.5, 2.0], [3.0, 1.5]], "float32"),
        (lambda x: [[1.0, 2.0], [x, x]], [[1.0, 2.0], [1.5, 1.5]], "float32"),
        (lambda x: [x, np.float64(1)], [1.5, 1.0], "float32"),
        (lambda x: [tf.cast(x, tf.bfloat16), 2.0], [1.5, 2.0], "bfloat16"),
        (lambda x: [tf.stack([x, x]), [3, 4]], [[1.5, 1.5], [3.0, 4.0]], "float32"),
    ],
)
def test_lists_of_tensors_and_numbers_become_one_tensor(any_backend, around, values, expected, dtype):
    result = around(lambda x: tf.convert_to_tensor(values(x)))(tf.constant(1.5))

    assert isinstance(result, any_backend.tensor_type)
    assert (expected, dtype) == (result.tolist(), str(result.dtype))


def test_a_list_may_have_variables_in_it(any_backend):
    assert [1.0, 2.0] == tf.convert_to_tensor([tf.Variable(1.0), 2.0]).tolist()


@EAGER_AND_STAGED
def test_tensors_that_do_not_fit_together_are_refused(any_backend, around):
    with pytest.raises(ValueError, match="equal shapes"):
        around(lambda x: tf.convert_to_tensor([x, [x, x]]))(tf.constant(1.0))
    with pytest.raises(ValueError, match="dtype"):
        around(lambda x: tf.convert_to_tensor([x, tf.cast(x, tf.int32)]))(tf.constant(1.0))


def test_arrays_of_text_become_tensors():
    for array in (np.array(["a", "b"], object), np.array(["a", b"b"], object), np.array(["a", "b"])):
        assert [b"a", b"b"] == tf.constant(array).tolist()
    with pytest.raises(TypeError, match="is no tensor"):
        tf.constant(np.array([1, "b"], object))


@EAGER_AND_STAGED
def test_what_reduce_to_leaves_on_several_devices_is_used_as_a_tensor(any_backend, names, around):
    strategy = tf.distribute.MirroredStrategy(names[:2])

    def merged(strategy, value):
        total = strategy.extended.reduce_to("SUM", value, value)
        return total + 1, 2 * total, -total, tf.square(total), tf.add(1.0, total), total > 1, tf.reduce_sum(total)

    def step():
        return strategy.run(lambda: tf.distribute.get_replica_context().merge_call(merged, (tf.constant(1.5),)))

    first = [float(strategy.experimental_local_results(one)[0]) for one in around(step)()]

    assert [4.0, 6.0, -3.0, 9.0, 4.0, 1.0, 3.0] == first


def test_a_value_on_several_devices_has_shape_dtype_and_numbers(any_backend, names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    value = strategy.experimental_distribute_values_from_function(lambda _: tf.constant([1.0]))
    total = strategy.extended.reduce_to("SUM", value, names[:2])

    assert ((1,), "float32", [2.0]) == (tuple(total.shape), str(total.dtype), total.numpy().tolist())
    assert total == total
    assert hash(total)
    assert bool(total)
    with tf.device(names[1]):
        assert names[1] == tf.device_name(total + 1.0)[-5:]
    with pytest.raises(TypeError):
        value + 1.0


@pytest.mark.parametrize("show", [str, repr, "{}".format])
def test_a_per_replica_value_prints_in_a_function(any_backend, names, show):
    strategy, texts = tf.distribute.MirroredStrategy(names[:2]), []

    @tf.function
    def step():
        texts.append(show(strategy.run(lambda: tf.constant(1.0))))

    step()

    assert texts[0].startswith("PerReplica:{\n  0: ")
    assert "\n  1: " in texts[0]


@pytest.mark.parametrize(
    ("join", "expected"),
    [
        (lambda a, b: tf.stack([a, b]), [[1.0, 2.0], [2.0, 4.0]]),
        (lambda a, b: tf.concat([a, b], axis=0), [1.0, 2.0, 2.0, 4.0]),
        (lambda a, b: tf.convert_to_tensor([a, b]), [[1.0, 2.0], [2.0, 4.0]]),
        (lambda a, b: tf.reduce_sum([a, b]), 9.0),
        (tf.add, [3.0, 6.0]),
        (lambda a, b: tf.add_n([a, b]), [3.0, 6.0]),
        (tf.maximum, [2.0, 4.0]),
        (lambda a, b: tf.where(a > 1, a, b), [2.0, 2.0]),
        (lambda a, b: tf.matmul(a[None], b[:, None]), [[10.0]]),
        (lambda a, b: tf.gather(b, tf.cast(a, tf.int32) - 1), [2.0, 4.0]),
    ],
)
def test_tensors_on_several_devices_are_joined_on_the_current_one_as_in_tensorflow(any_backend, names, join, expected):
    strategy = tf.distribute.MirroredStrategy(names[1:3])
    parts = strategy.experimental_local_results(
        strategy.run(
            lambda: tf.constant([1.0, 2.0]) * (1 + tf.distribute.get_replica_context().replica_id_in_sync_group)
        )
    )
    with tf.device(names[3]):
        joined = join(*parts)

    assert expected == np.asarray(joined).tolist() == np.asarray(join(*parts)).tolist()
    assert tf.device_name(joined).endswith(names[3])


@pytest.mark.parametrize("around", [lambda fn: fn, tf.function], ids=["eager", "function"])
def test_the_identity_of_slices_is_slices(any_backend, names, around):
    slices = tf.IndexedSlices(tf.constant([[1.0, 2.0]]), tf.constant([1]), tf.constant([2, 2]))
    with tf.device(names[1]):
        same = around(lambda: tf.identity(slices))()

    assert isinstance(same, tf.IndexedSlices)
    assert [[0.0, 0.0], [1.0, 2.0]] == np.asarray(tf.convert_to_tensor(same)).tolist()


@pytest.mark.parametrize(
    "make", [tf.zeros, tf.ones, lambda shape: tf.fill(shape, 1.0), lambda shape: tf.reshape([0, 0], shape)]
)
def test_a_scalar_tensor_is_a_shape_of_one_dimension(make):
    assert (2,) == make(tf.constant(2)).shape
