"""Functions called under tapes, written for TensorFlow: each program takes `tf`, and calls its functions twice.

TensorFlow's own answers are in tests/fixtures/call_gradients.json: `python call_programs.py` records them.
"""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def first(tf, call, x, sources):
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = call()
    return tape.gradient(y, sources)


def second(tf, call, x, sources):
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call()
        slope = tape.gradient(y, x)
    return outer.gradient(slope, sources)


@program
def a_variable_that_is_written(tf):
    x, v = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])

    @tf.function
    def function(x):
        y = v * x
        v.assign(x * 2.0)
        z = v * x
        v.assign_add([1.0, 1.0])
        return y + z

    def jacobian():
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        return tape.jacobian(y, [x, v])

    return [first(tf, lambda: function(x), x, [x, v]), jacobian(), v.read_value()], function


@program
def nests_and_other_values(tf):
    x, w = tf.constant([1.0, 2.0]), tf.Variable(5.0)

    @tf.function
    def function(given, scale=2.0, flag=True):
        return {"a": given["p"] * scale, "b": [given["q"] if flag else None, w * 1.0], "n": 3, "none": None}

    calls = [lambda: function({"p": x, "q": x * x})["b"], lambda: function({"p": x, "q": x})["a"]]
    return [first(tf, call, x, [x, w]) for call in calls], function


@program
def second_derivatives(tf):
    x, v = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])

    @tf.function
    def function(u, x):
        y = u * x * tf.exp(x)
        for _ in tf.range(2):
            y = y * x
        if tf.reduce_sum(y) > 0.0:
            y = y * 2.0
        return y

    return [second(tf, lambda: function(v, x), x, [x, v]) for _ in "ab"], function


@program
def a_gradient_that_somebody_has_written(tf):
    x, v = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])

    @tf.custom_gradient
    def square(x):
        y = x * x
        return y, lambda upstream: upstream * y * 10.0

    function = tf.function(lambda x: square(x) * v)
    return [how(tf, lambda: function(x), x, [x, v]) for how in (first, second)], function


@program
def rows_of_a_table(tf):
    x, table = tf.constant(1.0), tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    function = tf.function(lambda places: tf.gather(table, places) * 2.0)
    found = [first(tf, lambda: function(tf.constant([0, 2, 0])), x, table) for _ in "ab"]
    return [tf.convert_to_tensor(one) for one in found], function


@program
def what_is_stopped(tf):
    x, v = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])
    function = tf.function(lambda x: x * tf.stop_gradient(x) * tf.floor(x) + tf.stop_gradient(v))

    def not_recorded():
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tape.stop_recording():
                y = function(x)
            z = y * x
        return tape.gradient(z, [x, v])

    return [
        first(tf, lambda: function(x), x, [x, v]),
        second(tf, lambda: function(x), x, [x]),
        not_recorded(),
    ], function


@program
def what_is_not_watched(tf):
    x, v, w = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0]), tf.Variable(5.0)
    function = tf.function(lambda x: x * v * w)

    def watching_one():
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(v)
            y = function(x)
        return tape.gradient(y, [x, v, w])

    return [watching_one(), first(tf, lambda: function(x), x, [x, v, w])], function


@program
def a_loop_of_unknown_length(tf):
    x = tf.constant([1.0, 2.0])

    @tf.function
    def function(x, n):
        y = x
        while n > 0:
            y = y * x
            n -= 1
        return y

    return [first(tf, lambda n=count: function(x, tf.constant(n)), x, x) for count in (2, 3)], function


@program
def a_tape_in_the_function(tf):
    x, v = tf.constant([1.0, 2.0]), tf.Variable([3.0, 4.0])

    @tf.function
    def function(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x * x * x * v)
        return tape.gradient(y, x)

    return [how(tf, lambda: function(x), x, [x, v]) for how in (first, second)], function


def answered(tf, name):
    result, function = PROGRAMS[name](tf)
    return tf.nest.flatten(result), function.experimental_get_tracing_count()


def _record():
    import json
    import pathlib

    import tensorflow as tf

    answers = {}
    for name in PROGRAMS:
        result, count = answered(tf, name)
        answers[name] = [None if leaf is None else leaf.numpy().tolist() for leaf in result], count
    path = pathlib.Path(__file__).parents[2] / "fixtures" / "call_gradients.json"
    path.write_text(json.dumps({"tensorflow": tf.__version__, "answers": answers}, indent=1) + "\n")


if __name__ == "__main__":
    _record()
