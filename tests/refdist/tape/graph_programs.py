"""Bodies of functions that call tf.gradients, written for TensorFlow: each takes `tf`, and what the function is given.

TensorFlow's own answers are in tests/fixtures/graph_gradients.json: `python graph_programs.py` records them.
"""

PROGRAMS = {}  # of x, a scalar, and the variable v
IN_REPLICAS = {}  # of x, two numbers for each replica, and the mirrored variable v
REFUSED = {}  # of x


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def in_replicas(function):
    IN_REPLICAS[function.__name__] = function
    return function


def refused(function):
    REFUSED[function.__name__] = function
    return function


@program
def several_targets_and_sources(tf, x, v):
    c = tf.constant(4.0)
    y = c * c * x
    return [tf.gradients([y, v * x], (c, x, v, y)), tf.gradients([[x, x * x]], x)]


@program
def what_is_unconnected(tf, x, v):
    zero = tf.UnconnectedGradients.ZERO
    whole = tf.cast(x, tf.int32)
    return [
        tf.gradients(tf.constant(1.0), [x, v]),
        tf.gradients(tf.constant(1.0), [x, v], unconnected_gradients="zero"),
        tf.gradients(v * v, [x, v], unconnected_gradients=zero),
        tf.gradients(whole, x) + tf.gradients(x * x, whole) + tf.gradients(x * x, 2.0) + tf.gradients(2.0, x),
        tf.gradients(tf.floor(x) + tf.stop_gradient(x) * x, x),
    ]


@program
def gradients_of_targets(tf, x, v):
    ys = [x * x, tf.stack([x, 2.0 * x])]
    return tf.gradients(ys, x, grad_ys=[None, tf.constant([3.0, 4.0])])


@program
def constants_between(tf, x, v):
    b = 2.0 * x
    return [
        tf.gradients(x + b, [x, b]),
        tf.gradients(x + b, [x, b], stop_gradients=[x, b]),
        tf.gradients(b * b * x, x, stop_gradients=b),
    ]


@program
def derivatives_of_derivatives(tf, x, v):
    first = tf.gradients(x * x * x * v, x)[0]
    second = tf.gradients(first, x)[0]
    return [first, second, *tf.gradients(second, [x, v]), *tf.hessians(x * x * x, x)]


@program
def a_variable_before_and_after_a_write(tf, x, v):
    y = v * x
    v.assign(x * 2.0)
    z = v * 3.0
    result = [tf.gradients(y, [v, x]), tf.gradients(z, [v, x]), tf.gradients(y + z, [v, x]), tf.gradients(v, v)]
    v.assign(2.0)
    return result


@program
def rows_of_a_table(tf, x, v):
    table = tf.reshape(tf.range(6.0), [3, 2]) * x
    return tf.convert_to_tensor(tf.gradients(tf.gather(table, [0, 2, 0]), table)[0])


@program
def branches_and_loops(tf, x, v):
    y = x * x
    if x > 0.0:
        y = y * v
        inside = tf.gradients(y, x)[0]
    else:
        y = -y
        inside = x
    power, total = x, tf.constant(0.0)
    for _ in tf.range(3):
        power = power * x
        total += tf.gradients(total + x * x * v, v)[0]
    return [inside, total, tf.gradients(y, [x, v]), tf.gradients(power, x)]


@program
def a_function_in_a_function(tf, x, v):
    z = x * x
    inner = tf.function(lambda a: a * a * v)
    captured = tf.function(lambda: tf.gradients(z * z, [x, z]))
    return [tf.gradients(inner(z), [x, v]), captured()]


@program
def among_tapes(tf, x, v):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.gradients(x * x * x * v, x)[0]
    return [tape.gradient(y, [x, v]), tf.gradients(y, [x, v])]


@program
def a_gradient_that_somebody_has_written(tf, x, v):
    @tf.custom_gradient
    def square(x):
        return x * x, lambda upstream: upstream * 100.0

    return tf.gradients(square(x) * x, x)


@program
def a_gradient_penalty(tf, x, v):
    y = tf.tanh(0.1 * x * v)
    slope = tf.gradients(y, [x])[0]
    return tf.gradients(y + tf.square(slope - 1.0), [v])


@program
def wide_numbers(tf, x, v):
    wide = tf.cast(x, tf.float64)
    return tf.gradients(tf.exp(wide * wide), [x, wide])


@in_replicas
def of_a_mirrored_variable(tf, x, v):
    loss = tf.reduce_sum(v * v * x)
    gradient = tf.gradients(loss, v)[0]
    v.assign_sub(0.1 * gradient)
    return gradient


@in_replicas
def through_collectives(tf, x, v):
    replica = tf.distribute.get_replica_context()
    total, mean = replica.all_reduce("SUM", x * x), replica.all_reduce("MEAN", x)
    every = replica.all_gather(x, axis=0)
    return [
        tf.gradients(tf.reduce_sum(total * x), x)[0],
        tf.gradients(tf.reduce_sum(mean * mean * v), [x, v]),
        tf.gradients(tf.reduce_sum(every * every) * x[0], x)[0],
    ]


@in_replicas
def second_derivatives(tf, x, v):
    first = tf.gradients(tf.reduce_sum(v * v * v * x), v)[0]
    return [first, tf.gradients(first, [v, x])]


@refused
def a_dict(tf, x):
    return tf.gradients({"a": x * x}, {"b": x})


@refused
def a_list_in_a_list(tf, x):
    return tf.gradients([x * x], [[x]])


@refused
def other_words(tf, x):
    return tf.gradients(x * x, x, unconnected_gradients="nothing")


@refused
def too_many_gradients(tf, x):
    return tf.gradients([x * x], [x], grad_ys=[x, x])


@refused
def gradients_of_another_shape(tf, x):
    return tf.gradients([x * x], [x], grad_ys=[tf.constant([1.0, 2.0])])


@refused
def gradients_of_another_dtype(tf, x):
    return tf.gradients([x * x], [x], grad_ys=[tf.constant(1)])


# TensorFlow fails to gather from a single CPU.
COUNTS = {name: (2, 3) if name == "through_collectives" else (1, 2, 3) for name in IN_REPLICAS}


def answered(tf, name):
    v = tf.Variable(2.0)
    return tf.function(lambda x: PROGRAMS[name](tf, x, v))(tf.constant(3.0))


def answered_in_replicas(tf, name, strategy):
    with strategy.scope():
        v = tf.Variable([1.0, 2.0], aggregation=tf.VariableAggregation.SUM)
    rows = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant([1.0, 2.0]) + 2.0 * context.replica_id_in_sync_group
    )
    result = tf.function(lambda x: strategy.run(lambda x: IN_REPLICAS[name](tf, x, v), args=(x,)))(rows)
    return [[*strategy.experimental_local_results(leaf)] for leaf in tf.nest.flatten(result)], v.read_value()


def _record():
    import json
    import pathlib

    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)

    def plain(result):
        return [None if leaf is None else leaf.numpy().tolist() for leaf in tf.nest.flatten(result)]

    answers = {name: plain(answered(tf, name)) for name in PROGRAMS}
    for name in IN_REPLICAS:
        for count in COUNTS[name]:
            to_one = tf.distribute.ReductionToOneDevice()  # others take strategies of one size only, in one process
            strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(count)], to_one)
            answers[f"{name} {count}"] = plain(answered_in_replicas(tf, name, strategy))
    for name, body in REFUSED.items():
        try:
            tf.function(body)(tf, tf.constant(3.0))
        except Exception as error:
            answers[name] = type(error).__name__
    path = pathlib.Path(__file__).parents[2] / "fixtures" / "graph_gradients.json"
    path.write_text(json.dumps({"tensorflow": tf.__version__, "answers": answers}, indent=1) + "\n")


if __name__ == "__main__":
    _record()
