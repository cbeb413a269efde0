"""Branches that a tensor chooses: what they may leave in variables, and what they write."""

import pytest

import refdist as tf


def only_in_one_branch(x):
    if x > 0:
        y = x
    return y


def none_in_one_branch(x):
    y = None
    if x > 0:
        y = x
    return y


def two_dtypes(x):
    if x > 0:
        y = 1
    else:
        y = 2.0
    return y


def two_shapes(x):
    if x > 0:
        y = tf.zeros([2])
    else:
        y = tf.zeros([3])
    return y


def two_structures(x):
    if x > 0:
        y = [x, x]
    else:
        y = [x]
    return y


def two_texts(x):
    if x > 0:
        y = "a"
    else:
        y = "b"
    return y


def two_dtypes_in_an_expression(x):
    return 1 if x > 0 else 2.0


# TensorFlow raises errors of these types, too.
REFUSED = {
    only_in_one_branch: (ValueError, "'y' must also be initialized in the else branch"),
    none_in_one_branch: (ValueError, "'y' is None at the end of the else branch"),
    two_dtypes: (TypeError, "'y' has dtype int32 in the main branch .* but dtype float32 in the else branch"),
    two_structures: (TypeError, "expected tensors or numbers in the same structure"),
    two_dtypes_in_an_expression: (TypeError, "has dtype int32 in the main branch .* but dtype float32"),
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_a_program_cannot_choose_between_is_refused_with_the_users_line(function):
    error, text = REFUSED[function]
    with pytest.raises(error, match=text) as caught:
        tf.function(function)(tf.constant(1.0))

    line = function.__code__.co_firstlineno
    places = [f"{__file__}:{line + offset}, in {function.__name__}" for offset in (1, 2)]
    assert any(place in str(caught.value) for place in places)
    assert not getattr(caught.value, "__notes__", [])


@pytest.mark.parametrize(
    ("function", "answers"), [(two_shapes, ["[0. 0.]", "[0. 0. 0.]"]), (two_texts, ["b'a'", "b'b'"])]
)
def test_what_only_python_can_choose_between_it_does(function, answers):
    staged = tf.function(function)

    assert answers == [str(staged(tf.constant(x)).numpy()) for x in (1.0, -1.0)]


@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_only_the_branch_that_is_taken_writes_variables(backend):
    with tf.using(backend, cpus=1):
        first, second = tf.Variable(1.0), tf.Variable(10)

        @tf.function
        def step(x):
            if x > 0:
                first.assign_add(x)
            else:
                first.assign(-1.0)
                second.assign_add(1)
            return first * 2.0

        results = [float(step(tf.constant(x))) for x in (2.0, -5.0, 3.0)]

        assert [6.0, -2.0, 4.0] == results
        assert (2.0, 11) == (first.numpy(), second.numpy())


def test_a_variable_that_no_branch_writes_is_not_written():
    untouched = tf.Variable(1.0)

    @tf.function
    def step(x):
        return untouched + 1.0 if x > 0 else untouched - 1.0

    assert [2.0, 0.0] == [float(step(tf.constant(x))) for x in (1.0, -1.0)]
    assert 1.0 == untouched.numpy()


def test_what_is_required_in_a_branch_counts_only_where_that_is_taken():
    table = tf.Variable([0.0, 0.0])

    @tf.function
    def step(flag, index):
        if flag:
            table.scatter_add(tf.IndexedSlices(tf.constant([1.0]), index))
        return table.read_value()

    step(tf.constant(False), tf.constant([7]))
    with pytest.raises(ValueError, match="beyond its rows"):
        step(tf.constant(True), tf.constant([7]))
    step(tf.constant(True), tf.constant([1]))

    assert [0.0, 1.0] == table.numpy().tolist()


def test_python_values_that_agree_stay_pythons():
    @tf.function
    def step(x):
        kind = None
        if x > 0:
            size, kind = 3, "a"
        else:
            size, kind = 3, "a"
        return tf.ones([size]) if kind == "a" else x

    assert [1.0] * 3 == step(tf.constant(1.0)).numpy().tolist()


def test_a_value_is_missing_only_where_no_return_was_reached():
    @tf.function  # noqa: RET503, a function without a return at its end
    def step(x):
        if x > 0:
            return x * 2

    assert 4.0 == float(step(tf.constant(2.0)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="returned no value"):
        step(tf.constant(-2.0))


def test_a_branch_inside_of_a_transformation_of_jax():
    import jax

    @tf.function
    def slope(x):
        def loss(y):
            if y > 0:
                return y * y
            return -y

        return jax.grad(loss)(x)

    assert [6.0, -1.0] == [float(slope(tf.constant(x))) for x in (3.0, -3.0)]
