"""Loops over tensors: what they carry from turn to turn, what they write, and what they refuse."""

import pytest

import refdist as tf


def another_dtype(x):
    total = 0
    for _ in tf.range(3):
        total = total + x
    return total


def another_shape(x):
    rows = tf.zeros([1])
    for _ in tf.range(3):
        rows = tf.concat([rows, rows], 0)
    return rows


def another_structure(x):
    pair = (x, x)
    while x > 0:
        pair = (x, x, x)
        x = x - 1
    return pair


def another_object(x):
    kind = "a"
    while x > 0:
        kind = "b"
        x = x - 1
    return x if kind == "a" else -x


def text_from_inside(x):
    while x > 0:
        kind = "b"
        x = x - 1
    return x if kind == "a" else -x


REFUSED = {
    another_dtype: (TypeError, "'total' has dtype int32 before the loop .* but dtype float32 after one iteration"),
    another_shape: (ValueError, r"'rows' has shape \(1,\) before the loop .* but shape \(2,\) after one iteration"),
    another_structure: (TypeError, "'pair' is .* expected tensors in the same structure"),
    another_object: (TypeError, "'kind' is 'a' before a loop over a tensor .* and 'b' after one turn"),
    text_from_inside: (TypeError, "'kind' is 'b' in a loop over a tensor"),
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda function: function.__name__)
def test_what_a_loop_cannot_carry_is_refused_with_the_users_line(function):
    error, text = REFUSED[function]
    with pytest.raises(error, match=text) as caught:
        tf.function(function)(tf.constant(1.0))

    line = function.__code__.co_firstlineno
    assert any(f"{__file__}:{line + offset}, in {function.__name__}" in str(caught.value) for offset in (1, 2))


@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_variables_are_read_and_written_in_each_turn(backend):
    with tf.using(backend, cpus=1):
        total, untouched = tf.Variable(1.0), tf.Variable(5.0)

        @tf.function
        def step(n):
            for i in tf.range(n):
                total.assign(total * 2.0 + tf.cast(i, tf.float32))
                if total > 20.0:
                    total.assign_sub(untouched)
            return total.read_value()

        # 1: 2, 5, 12, 27 - 5 = 22
        assert 22.0 == float(step(tf.constant(4)))
        assert (22.0, 5.0) == (total.numpy(), untouched.numpy())
        step(tf.constant(0))
        assert 22.0 == total.numpy()


def test_a_condition_may_write_variables():
    count = tf.Variable(0)

    @tf.function
    def step(n):
        total = 0
        while count.assign_add(1) < n:
            total += 10
        return total

    assert 30 == int(step(tf.constant(4)))
    assert 4 == count.numpy()


def test_the_body_is_called_once_however_often_the_loop_turns():
    calls = []

    @tf.function
    def step(n):
        total = 0
        for i in tf.range(n):
            calls.append(1)
            total += i
        return total

    assert [3, 4950] == [int(step(tf.constant(n))) for n in (3, 100)]
    assert 1 == len(calls)


def test_a_loop_that_must_turn_says_so_when_it_does_not():
    @tf.function
    def step(n):
        i = 0
        while i < n:
            last = i * 2
            i += 1
        return last

    assert 4 == int(step(tf.constant(3)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="must iterate at least once to initialize last"):
        step(tf.constant(0))


def test_random_numbers_differ_between_turns_and_between_runs():
    @tf.function
    def step():
        drawn = tf.zeros([4])
        for i in tf.range(4):
            drawn = tf.where(tf.range(4) == i, tf.random.uniform([]), drawn)
        return drawn

    numbers = [*step().numpy().tolist(), *step().numpy().tolist()]

    assert 8 == len(set(numbers))


def test_what_is_required_in_a_turn_holds_for_the_whole_loop():
    table = tf.Variable([0.0, 0.0])

    @tf.function
    def step(n):
        for i in tf.range(n):
            table.scatter_add(tf.IndexedSlices(tf.constant([1.0]), tf.stack([i])))

    step(tf.constant(2))
    with pytest.raises(ValueError, match="beyond its rows"):
        step(tf.constant(5))

    assert [1.0, 1.0] == table.numpy().tolist()


@pytest.mark.parametrize(("start", "answer"), [(1.0, 4.0), (10.0, 10.0)])
def test_a_return_from_inside_of_a_loop(start, answer):
    # TensorFlow refuses it.
    @tf.function
    def step(x):
        for i in tf.range(5):
            if tf.cast(i, tf.float32) > x:
                return x * 2 + tf.cast(i, tf.float32)
        return x

    assert answer == float(step(tf.constant(start)))


def test_a_loop_of_known_length_can_be_differentiated_also_after_a_break():
    import jax

    @tf.function
    def slope(x):
        def power(y):
            result = y
            for i in tf.range(5):
                if i == 2:
                    break
                result = result * y
            return result

        return jax.grad(power)(x)

    assert 12.0 == float(slope(tf.constant(2.0)))


def test_a_gradient_through_a_loop_that_turns_as_often_as_a_tensor_says():
    import jax

    calls = []

    @tf.function
    def in_python(x, n):
        calls.append("in Python")

        def power(y):
            result = y
            for _ in tf.range(n):
                result = result * y
            return result

        return jax.grad(power)(x)

    @tf.function
    def in_a_program(x, n):
        calls.append("in a program")

        def power(y):
            result = y
            for _ in tf.range(n):
                tf.autograph.experimental.set_loop_options(maximum_iterations=8)
                result = result * y
            return result

        return jax.grad(power)(x)

    for function in (in_python, in_a_program):
        assert [12.0, 1.0] == [float(function(tf.constant(2.0), tf.constant(n))) for n in (2, 0)]
    assert ["in Python"] * 3 + ["in a program"] == calls


def test_loops_in_replicas_and_around_them():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
        own = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(context.replica_id_in_sync_group + 1.0)
        )

        @tf.function
        def steps(own, n):
            def step(x):
                while x < 10.0:
                    x = x * 3.0
                total.assign_add(x)
                return x

            last = strategy.run(step, args=(own,))
            for _ in tf.range(n):
                last = strategy.run(step, args=(own,))
            return last

        last = steps(own, tf.constant(2))

        assert [27.0, 18.0] == [float(one) for one in strategy.experimental_local_results(last)]
        assert 3 * 45.0 == total.numpy()
