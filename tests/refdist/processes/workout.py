"""What workers do together, run by each of them; it returns what each saw. Numbers only, so that runs can be compared."""

import numpy as np

import refdist as tf


def options(policy):
    made = tf.data.Options()
    made.experimental_distribute.auto_shard_policy = policy
    return made


def listed(strategy, value):
    return [np.asarray(part).tolist() for part in strategy.experimental_local_results(value)]


def workout():
    """Do everything once."""
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    return {part.__name__: part(strategy) for part in (exchanges, variables, batches, functions, programs)}


def own(strategy, start=1.0):
    """A tensor that differs on each replica."""

    def value():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return tf.constant([start, 2.0]) * (tf.cast(number, tf.float32) + 1.0)

    return strategy.run(value)


def exchanges(strategy):
    values = own(strategy)
    nested = strategy.run(lambda x: {"a": (x, tf.reduce_sum(x)), "b": [x]}, args=(values,))

    def meet(x):
        context = tf.distribute.get_replica_context()
        slices = tf.IndexedSlices(x[None], tf.constant([context.replica_id_in_sync_group]), tf.constant([8, 2]))
        return (
            context.all_reduce("SUM", {"a": (x, tf.reduce_sum(x)), "b": [x]}),
            context.all_reduce("MEAN", x),
            context.all_gather(x[None], 0),
            tf.convert_to_tensor(context.all_reduce("SUM", slices)),
        )

    total, mean, gathered, slices = strategy.run(meet, args=(values,))
    large = strategy.run(
        lambda x: tf.distribute.get_replica_context().all_reduce("SUM", tf.ones([40_000]) * x[0]), args=(values,)
    )
    return {
        "replicas": strategy.num_replicas_in_sync,
        "sum": [listed(strategy, total["a"][0]), listed(strategy, total["a"][1]), listed(strategy, total["b"][0])],
        "mean": listed(strategy, mean),
        "gathered": listed(strategy, gathered),
        "slices": listed(strategy, slices),
        "reduced": np.asarray(strategy.reduce("SUM", nested["a"][0], axis=None)).tolist(),
        "over the axis": np.asarray(strategy.reduce("MEAN", values, axis=0)).tolist(),
        "joined": np.asarray(strategy.gather(values, axis=0)).tolist(),
        "large": [sorted({float(number) for number in part}) for part in listed(strategy, large)],
    }


def variables(strategy):
    worker = float(strategy.cluster_resolver.task_id or 0)
    with strategy.scope():
        mirrored = tf.Variable(worker + 3.0)  # the first worker's value is everybody's
        summed = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)
        first = tf.Variable(0.0, aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA)
        counted = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.MEAN
        )

    def write(x):
        summed.assign_add(x[0])
        first.assign(x[0] * 10.0)
        counted.assign_add(x[0])

    strategy.run(write, args=(own(strategy),))
    return [float(variable.read_value()) for variable in (mirrored, summed, first, counted)]


def batches(strategy):
    def seen(dataset):
        return [listed(strategy, batch) for batch in dataset]

    numbers, policy = tf.data.Dataset.range(11).batch(4), tf.data.experimental.AutoShardPolicy
    divided = strategy.experimental_distribute_dataset(numbers.with_options(options(policy.DATA)))
    whole = strategy.experimental_distribute_dataset(numbers.with_options(options(policy.OFF)))

    def mine(context):
        # One worker has more steps than the other.
        return tf.data.Dataset.range(3 + 4 * context.input_pipeline_id).batch(2)

    return [seen(divided), seen(whole), seen(strategy.distribute_datasets_from_function(mine))]


def functions(strategy):
    """A training loop in a function, with a last batch that is smaller, and a dataset that ends at different times."""
    with strategy.scope():
        weight = tf.Variable([0.5, -0.5])
        total = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )
    traced = []

    def step(x):
        traced.append(1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(tf.cast(x, tf.float32)[:, None] * weight - 1.0)) / 100.0
        gradient = tf.distribute.get_replica_context().all_reduce("SUM", tape.gradient(loss, weight))
        weight.assign_sub(0.01 * gradient)
        total.assign_add(tf.cast(tf.shape(x)[0], tf.float32))
        return loss

    @tf.function
    def train(x):
        return strategy.reduce("SUM", strategy.run(step, args=(x,)), axis=None)

    policy = tf.data.experimental.AutoShardPolicy
    data = tf.data.Dataset.range(26).batch(8).with_options(options(policy.DATA))
    losses = [float(train(x)) for _ in range(2) for x in strategy.experimental_distribute_dataset(data)]
    uneven = strategy.distribute_datasets_from_function(
        lambda context: tf.data.Dataset.range(8 + 3 * context.input_pipeline_id).batch(2)
    )
    losses += [float(train(x)) for x in uneven]
    iterator = iter(strategy.experimental_distribute_dataset(data))

    @tf.function
    def train_next():
        return strategy.reduce("SUM", strategy.run(step, args=(next(iterator),)), axis=None)

    losses += [float(train_next()) for _ in range(4)]
    return [losses, weight.numpy().tolist(), float(total.read_value())]


def programs(strategy):
    """What a function returns, and what it captures."""
    captured = own(strategy)
    worker = float(strategy.cluster_resolver.task_id or 0)

    @tf.function
    def ask(x):
        def numbers(x, y):
            context = tf.distribute.get_replica_context()
            return x + y[0], context.replica_id_in_sync_group, tf.ones([2]) * y[1]

        results = strategy.run(numbers, args=(x, captured))
        return results, strategy.gather(results[2], axis=0), x * 2.0

    (sums, numbers, ones), joined, plain = ask(tf.constant(worker))
    local = strategy.experimental_distribute_values_from_function(lambda c: c.replica_id_in_sync_group * 1.5)

    @tf.function
    def from_values(x):
        return strategy.reduce("SUM", strategy.run(lambda y: y * 1.0, args=(x,)), axis=None)

    @tf.function
    def first_here(x):
        return strategy.experimental_local_results(strategy.run(lambda y: y * 1.0, args=(x,)))[0]

    made = []

    @tf.function
    def with_a_new_variable(x):
        def count(x):
            if not made:
                made.append(tf.Variable(worker + 1.0, aggregation=tf.VariableAggregation.SUM))
            made[0].assign_add(x)
            return made[0].read_value()

        return strategy.run(count, args=(x,))

    counted = [listed(strategy, with_a_new_variable(tf.constant(1.0))) for _ in range(2)]
    return [
        counted,
        listed(strategy, sums),
        listed(strategy, numbers),
        listed(strategy, ones),
        np.asarray(joined).tolist(),
        float(plain),
        float(from_values(local)),
        np.asarray(first_here(captured)).tolist(),
    ]
