"""Arrays of tensors, outside of functions and in their loops."""

import jax
import pytest

import refdist as tf


def test_outside_of_functions_an_array_is_written_in_place():
    array = tf.TensorArray(tf.float32, size=2)
    array.write(1, 2.0)

    assert [0.0, 2.0] == array.stack().numpy().tolist()


def test_in_functions_what_was_written_is_in_what_write_returns():
    @tf.function
    def step(x):
        array = tf.TensorArray(tf.float32, size=2, element_shape=[])
        written = array.write(1, x)
        return array.stack(), written.stack()

    assert [[0.0, 0.0], [0.0, 3.0]] == [one.numpy().tolist() for one in step(tf.constant(3.0))]


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_array_grows_only_if_it_may(dynamic):
    array = tf.TensorArray(tf.float32, size=1, dynamic_size=dynamic)
    if dynamic:
        assert 4 == len(array.write(3, 1.0))
        return
    with pytest.raises(tf.errors.OutOfRangeError, match="size 1 got the index 3"):
        array.write(3, 1.0)


def test_an_index_that_a_tensor_says_is_looked_at_when_the_program_runs():
    @tf.function
    def step(i):
        return tf.TensorArray(tf.float32, size=2).write(i, 1.0).stack()

    assert [0.0, 1.0] == step(tf.constant(1)).numpy().tolist()
    with pytest.raises(tf.errors.InvalidArgumentError, match="size 2 got an index beyond it"):
        step(tf.constant(2))


@pytest.mark.parametrize(
    ("write", "error", "text"),
    [
        (lambda array: array.write(0, tf.constant(1)), tf.errors.InvalidArgumentError, "expected the same dtype"),
        (lambda array: array.stack(), ValueError, "before an element was written"),
        (lambda array: array.read(5), tf.errors.OutOfRangeError, "got the index 5"),
    ],
    ids=["dtype", "no element", "index"],
)
def test_what_an_array_refuses(write, error, text):
    with pytest.raises(error, match=text):
        write(tf.TensorArray(tf.float32, size=2))


def test_elements_of_a_loop_have_one_shape():
    @tf.function
    def step(n):
        array = tf.TensorArray(tf.float32, size=3).write(0, tf.zeros([2]))
        for i in tf.range(n):
            array = array.write(i, tf.zeros([3]))
        return array.stack()

    with pytest.raises(ValueError, match=r"element of shape \(3,\); expected \(2,\)"):
        step(tf.constant(2))


def test_a_size_that_only_python_can_know():
    @tf.function
    def counted(n):
        array = tf.TensorArray(tf.float32, size=n)
        for i in tf.range(n):
            array = array.write(i, tf.cast(i, tf.float32))
        return array.stack()

    @tf.function
    def grown(n):
        array = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        for i in tf.range(n):
            array = array.write(array.size(), i)
            if tf.reduce_sum(array.stack()) > 4:
                break
        return array.stack()

    assert [[0, 1, 2], [0]] == [counted(tf.constant(n)).numpy().tolist() for n in (3, 1)]
    assert [0, 1, 2, 3] == grown(tf.constant(9)).numpy().tolist()


def test_an_array_that_only_one_branch_writes():
    @tf.function
    def step(flag):
        array = tf.TensorArray(tf.float32, size=2)
        if flag:
            array = array.write(1, 5.0)
        return array.stack()

    @tf.function
    def other(flag):
        array = tf.TensorArray(tf.float32, size=2)
        if flag:
            pass
        else:
            array = array.write(tf.cast(not flag, tf.int32), 5.0)
        return array.stack()

    assert [[0.0, 5.0], [0.0, 0.0]] == [step(tf.constant(flag)).numpy().tolist() for flag in (True, False)]
    assert [[0.0, 0.0], [0.0, 5.0]] == [other(tf.constant(flag)).numpy().tolist() for flag in (True, False)]


def test_an_array_in_a_loop_that_is_differentiated():
    @tf.function
    def slope(x):
        def loss(y):
            array = tf.TensorArray(tf.float32, size=3)
            for i in tf.range(3):
                array = array.write(i, y * y)
            return tf.reduce_sum(array.stack())

        return jax.grad(loss)(x)

    assert 12.0 == float(slope(tf.constant(2.0)))


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_an_array_without_elements_is_an_empty_tensor(around):
    found = around(lambda: tf.TensorArray(tf.int32, size=0, dynamic_size=True).stack())()

    assert ((0,), "int32") == (tuple(found.shape), found.dtype.name)


def test_a_dataset_collects_nothing_from_an_element():
    def positive(row):
        found = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for x in row:
            if x > 0:
                found = found.write(found.size(), x)
        return found.stack()

    data = tf.data.Dataset.from_tensor_slices([[-1.0, -2.0], [1.0, -2.0]]).map(positive)

    assert [[], [1.0]] == [one.numpy().tolist() for one in data]
    assert (None,) == tuple(data.element_spec.shape)
