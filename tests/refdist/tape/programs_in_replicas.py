"""Programs with tapes in replicas, written for TensorFlow: each takes `tf` and a strategy of two replicas.

TensorFlow's own answers are in tests/fixtures/replica_gradients.json: `python programs_in_replicas.py` records them.
"""

PROGRAMS = {}


def program(function):
    PROGRAMS[function.__name__] = function
    return function


def numbers(tf, strategy, *rows):
    """A per-replica value, one row for each replica."""
    return strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant(rows[context.replica_id_in_sync_group])
    )


def local(tf, strategy, result):
    return [strategy.experimental_local_results(leaf) for leaf in tf.nest.flatten(result)]


@program
def a_mirrored_variable(tf, strategy):
    with strategy.scope():
        v = tf.Variable([1.0, 2.0])

    def step(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * v * x)
        return tape.gradient(y, v)

    return local(tf, strategy, strategy.run(step, args=(numbers(tf, strategy, [1.0, 2.0], [3.0, 4.0]),)))


@program
def an_all_reduce(tf, strategy):
    def step(x):
        replica = tf.distribute.get_replica_context()
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            total, mean = replica.all_reduce("SUM", x * x), replica.all_reduce("MEAN", x)
            y = tf.reduce_sum(total * total * x)
            z = tf.reduce_sum(mean * x)
        return tape.gradient(y, x), tape.gradient(z, x)

    return local(tf, strategy, strategy.run(step, args=(numbers(tf, strategy, [1.0, 2.0], [3.0, 4.0]),)))


@program
def an_all_reduce_of_a_nest(tf, strategy):
    with strategy.scope():
        v = tf.Variable(3.0)

    def step(x):
        replica = tf.distribute.get_replica_context()
        with tf.GradientTape() as tape:
            tape.watch(x)
            totals = replica.all_reduce("SUM", {"a": x * v, "b": [x * x]})
            y = tf.reduce_sum(totals["a"] * totals["b"][0])
        return tape.gradient(y, [x, v])

    return local(tf, strategy, strategy.run(step, args=(numbers(tf, strategy, [1.0, 2.0], [3.0, 4.0]),)))


@program
def what_everybody_gathers(tf, strategy):
    def step(x):
        replica = tf.distribute.get_replica_context()
        with tf.GradientTape() as tape:
            tape.watch(x)
            every = replica.all_gather(x * x, axis=0)
            y = tf.reduce_sum(every * tf.constant([1.0, 10.0, 100.0, 1000.0])) * x[0]
        return tape.gradient(y, x)

    return local(tf, strategy, strategy.run(step, args=(numbers(tf, strategy, [1.0, 2.0], [3.0, 4.0]),)))


@program
def two_collectives_in_a_row(tf, strategy):
    def step(x):
        replica = tf.distribute.get_replica_context()
        with tf.GradientTape() as tape:
            tape.watch(x)
            once = replica.all_reduce("SUM", x * 2.0)
            twice = replica.all_reduce("SUM", once * x)
            y = tf.reduce_sum(twice)
        return tape.gradient(y, x)

    return local(tf, strategy, strategy.run(step, args=(numbers(tf, strategy, [1.0, 2.0], [3.0, 4.0]),)))


@program
def the_gradient_is_reduced_and_applied(tf, strategy):
    with strategy.scope():
        v = tf.Variable([1.0, 2.0], aggregation=tf.VariableAggregation.SUM)

    def step(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(v * x)
        v.assign_sub(0.1 * tape.gradient(y, v))
        return y

    result = strategy.run(step, args=(numbers(tf, strategy, [1.0, 2.0], [3.0, 4.0]),))
    return [*local(tf, strategy, result), [v.read_value()]]


@program
def a_merge_function_is_no_part_of_the_tape(tf, strategy):
    with strategy.scope():
        v = tf.Variable(2.0)

    def step(x):
        replica = tf.distribute.get_replica_context()
        with tf.GradientTape() as tape:
            y = v * x[0]
            total = replica.merge_call(lambda every, value: every.reduce("SUM", value, axis=None), args=(y,))
            z = y * total
        return tape.gradient(z, v)

    return local(tf, strategy, strategy.run(step, args=(numbers(tf, strategy, [1.0, 2.0], [3.0, 4.0]),)))


@program
def collectives_outside_of_the_tape(tf, strategy):
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x * x)
        gradient = tape.gradient(y, x)
        return tf.distribute.get_replica_context().all_reduce("MEAN", gradient)

    return local(tf, strategy, strategy.run(step, args=(numbers(tf, strategy, [1.0, 2.0], [3.0, 4.0]),)))


@program
def slices_of_a_mirrored_table(tf, strategy):
    with strategy.scope():
        table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    def step(x):
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, [0, 2]) * x)
        slices = tape.gradient(y, table)
        return tf.convert_to_tensor(tf.distribute.get_replica_context().all_reduce("SUM", slices))

    return local(tf, strategy, strategy.run(step, args=(numbers(tf, strategy, [1.0, 2.0], [3.0, 4.0]),)))


def _record():
    import json
    import pathlib

    import tensorflow as tf

    processor = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(processor, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    answers = {
        name: [[part.numpy().tolist() for part in parts] for parts in body(tf, strategy)]
        for name, body in PROGRAMS.items()
    }
    path = pathlib.Path(__file__).parents[2] / "fixtures" / "replica_gradients.json"
    path.write_text(json.dumps({"tensorflow": tf.__version__, "answers": answers}, indent=1) + "\n")


if __name__ == "__main__":
    _record()
