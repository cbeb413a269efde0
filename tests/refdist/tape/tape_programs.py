"""Small programs with tapes, written for TensorFlow: each takes `tf`, and returns a nest of gradients.

TensorFlow's own answers are in tests/fixtures/gradients.json: `python tests/refdist/tape/tape_programs.py` records them, where
TensorFlow is installed.
"""

import numpy as np

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


@program
def a_variable_squared(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    return tape.gradient(y, x)


@program
def a_watched_tensor(tf):
    x = tf.constant([1.0, 2.0, -3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.exp(x) * x - 2.0 / x)
    return tape.gradient(y, x)


@program
def operators_of_a_watched_tensor(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        results = [2.0 * x, x / 3.0, 1.0 - x, x**2, x @ x, -x, x[0], x[:, 1], 2.0**x, abs(x), x % 3.0]
    return [tape.gradient(y, x) for y in results]


@program
def a_nest_of_sources(tf):
    a, b, c = tf.Variable(1.0), tf.Variable([2.0, 3.0]), tf.Variable(4.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(a * b)
    return tape.gradient(y, {"a": a, "rest": [b, c]})


@program
def zero_for_what_is_unconnected(tf):
    a, b = tf.Variable(1.0), tf.Variable([[2.0, 3.0]])
    with tf.GradientTape() as tape:
        y = a * a
    return tape.gradient(y, [a, b], unconnected_gradients=tf.UnconnectedGradients.ZERO)


@program
def several_targets(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y, z = x * x, 4.0 * x
    return tape.gradient([y, z], x)


@program
def output_gradients(tf):
    x = tf.Variable([1.0, 2.0])
    with tf.GradientTape() as tape:
        y, z = x * x, 3.0 * x
    return tape.gradient([y, z], x, output_gradients=[tf.constant([1.0, 10.0]), tf.constant([2.0, 0.5])])


@program
def an_intermediate_result(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        z = y * y + x
    return tape.gradient(z, [x, y])


@program
def a_second_derivative(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            y = x**4 + tf.sin(x)
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


@program
def a_third_derivative(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as one:
        with tf.GradientTape() as two:
            with tf.GradientTape() as three:
                y = x**5
            first = three.gradient(y, x)
        second = two.gradient(first, x)
    return one.gradient(second, x)


@program
def a_gradient_in_a_loss(tf):
    w, x = tf.Variable([1.0, -2.0]), tf.constant([[0.5, 1.0], [2.0, -1.0]])
    with tf.GradientTape() as outer:
        with tf.GradientTape() as inner:
            inner.watch(x)
            score = tf.reduce_sum(tf.tanh(x * w))
        slope = inner.gradient(score, x)
        penalty = tf.reduce_mean((tf.sqrt(tf.reduce_sum(slope**2, axis=1)) - 1.0) ** 2)
    return outer.gradient(penalty, w)


@program
def variables_that_are_not_trainable(tf):
    a, b = tf.Variable(1.0, trainable=False), tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = a * b
    return tape.gradient(y, [a, b])


@program
def only_what_is_watched(tf):
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(b)
        y = a * b
    return tape.gradient(y, [a, b])


@program
def recording_stopped(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        with tape.stop_recording():
            z = x * 10.0
        w = y + z
    return tape.gradient(w, x)


@program
def forgotten(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        tape.reset()
        z = x * 5.0 + y
    return tape.gradient(z, x)


@program
def assigned_between(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
        x.assign(5.0)
        z = y + x * x
    return tape.gradient(z, x)


@program
def stopped_gradients(tf):
    x = tf.Variable(3.0)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.stop_gradient(x * x) * x
        z = tf.stop_gradient(x)
    return tape.gradient(y, x), tape.gradient(z, x)


@program
def rows_of_a_table(tf):
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        rows = tf.gather(table, [2, 0, 2])
        y = tf.reduce_sum(rows * rows)
    slices = tape.gradient(y, table)
    return slices.values, slices.indices, tf.convert_to_tensor(slices)


@program
def rows_and_the_whole(tf):
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(table, [2, 2])) + tf.reduce_sum(table * table)
    return tf.convert_to_tensor(tape.gradient(y, table))


@program
def rows_taken_twice(tf):
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(table, [2])) + 3.0 * tf.reduce_sum(tf.gather(table, [[0, 2]]))
    slices = tape.gradient(y, table)
    return tf.convert_to_tensor(slices)


@program
def rows_of_what_was_computed(tf):
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.gather(table * table, [1, 1]))
    return tape.gradient(y, table)


@program
def a_jacobian(tf):
    x, w = tf.constant([1.0, 2.0]), tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        z = tf.reshape(x, [1, 2]) @ w
    return tape.jacobian(z, x), tape.jacobian(z, w)


@program
def a_batch_of_jacobians(tf):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x * tf.constant([[1.0], [2.0], [3.0]])
    return tape.batch_jacobian(y, x)


@program
def an_own_gradient(tf):
    @tf.custom_gradient
    def log_of_one_plus_exp(x):
        e = tf.exp(x)
        return tf.math.log(1.0 + e), lambda upstream: upstream * (1.0 - 1.0 / (1.0 + e))

    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = log_of_one_plus_exp(x)
        first = inner.gradient(y, x)
    return y, first, outer.gradient(first, x)


@program
def an_own_gradient_of_variables(tf):
    v = tf.Variable([2.0, 3.0])

    @tf.custom_gradient
    def scaled(x):
        def gradient(upstream, variables=None):
            assert len(variables) == 1
            return upstream * 100.0, [upstream * 10.0]

        return x * v, gradient

    x = tf.constant([1.0, 4.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = scaled(x)
    return tape.gradient(y, [x, v])


@program
def an_own_gradient_of_two_results(tf):
    @tf.custom_gradient
    def both(a, b):
        return (a + b, a * b), lambda first, second: (first * 2.0, second * 3.0)

    a, b = tf.Variable(2.0), tf.Variable(5.0)
    with tf.GradientTape() as tape:
        s, p = both(a, b)
        y = s + 7.0 * p
    return tape.gradient(y, [a, b])


@program
def integers_have_none(tf):
    x = tf.Variable(2.7)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.cast(tf.cast(x, tf.int32), tf.float32) * 3.0
        z = tf.floor(x)
        n = tf.cast(tf.argmax([x, 2.0 * x]), tf.float32)
    return tape.gradient(y, x), tape.gradient(z, x), tape.gradient(n, x)


@program
def branches(tf):
    x = tf.Variable([-1.0, 0.0, 2.0])
    with tf.GradientTape() as tape:
        y = tf.where(x > 0.0, x * x, 3.0 * x) + tf.maximum(x, 1.0) + tf.nn.relu(x)
    return tape.gradient(y, x)


@program
def lists_and_pieces(tf):
    x = tf.Variable([1.0, 2.0, 3.0, 4.0])
    with tf.GradientTape() as tape:
        a, b = tf.split(x, 2)
        y = tf.concat([a * 2.0, tf.zeros([1]), b * b], 0)
        z = tf.stack([y, y * y])
        w = tf.transpose(tf.reshape(z, [5, 2]))
    return tape.gradient(w, x)


@program
def cross_entropy(tf):
    logits = tf.Variable([[1.0, 2.0, 3.0], [0.5, -1.0, 0.0]])
    with tf.GradientTape() as tape:
        y = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 2], logits=logits)
        loss = tf.reduce_mean(y) + tf.reduce_sum(tf.nn.softmax(logits) ** 2)
    return loss, tape.gradient(loss, logits)


@program
def a_constant_target(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = tf.constant(3.0) * 2.0
    return tape.gradient(y, x)


@program
def a_target_that_is_a_source(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
    return tape.gradient(x, x)


@program
def the_same_value_twice(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x.read_value()
        z = y * y * x
    return tape.gradient(z, x)


@program
def used_outside_of_the_block(tf):
    x = tf.Variable(2.0)
    with tf.GradientTape() as tape:
        y = x * 3.0
    z = y * 2.0
    return tape.gradient(z, x)


@program
def tensors_beside_variables(tf):
    v, w = tf.Variable([1.0, 2.0, 3.0]), tf.Variable([[1.0], [2.0], [3.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.ones([2, 3]) @ w) + tf.reduce_sum(tf.constant([1.0, 5.0, 2.0]) * v)
        y += tf.reduce_sum(np.array([2.0, 3.0, 4.0], np.float32) * v - np.float32(2.0) / v)
    return tape.gradient(y, [v, w])


@program
def a_function_inside(tf):
    v = tf.Variable(2.0)

    @tf.function
    def cube(x):
        return v * x**3

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = cube(x)
    return tape.gradient(y, [x, v])


def _record():
    import json
    import pathlib

    import tensorflow as tf

    def plain(leaf):
        return None if leaf is None else leaf.numpy().tolist()

    answers = {}
    for name, body in PROGRAMS.items():
        result = body(tf)
        answers[name] = [plain(leaf) for leaf in tf.nest.flatten(result)]
    path = pathlib.Path(__file__).parents[2] / "fixtures" / "gradients.json"
    path.write_text(json.dumps({"tensorflow": tf.__version__, "answers": answers}, indent=1) + "\n")


if __name__ == "__main__":
    _record()
