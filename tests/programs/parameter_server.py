"""Asynchronous training with parameter servers, in a cluster that is made in this process, as in the tutorial."""

import socket

import numpy as np
import tensorflow as tf

CATEGORIES, WIDTH, BATCH_SIZE = 10, 4, 8


def unused_port():
    with socket.socket() as listener:
        listener.bind(("localhost", 0))
        return listener.getsockname()[1]


def create_in_process_cluster(num_workers, num_ps):
    cluster_dict = {
        "worker": [f"localhost:{unused_port()}" for _ in range(num_workers)],
        "ps": [f"localhost:{unused_port()}" for _ in range(num_ps)],
    }
    cluster_spec = tf.train.ClusterSpec(cluster_dict)
    for job, addresses in cluster_dict.items():
        for index in range(len(addresses)):
            tf.distribute.Server(cluster_spec, job_name=job, task_index=index, protocol="grpc")
    return tf.distribute.cluster_resolver.SimpleClusterResolver(cluster_spec, rpc_layer="grpc")


def dataset_fn(input_context=None):
    # All batches are equal, so that it does not matter which worker takes the next one.
    random = np.random.RandomState(0)
    categories = random.randint(0, CATEGORIES, (BATCH_SIZE, 3))
    labels = (categories.sum(axis=1) % 2).astype("float32")
    return tf.data.Dataset.from_tensors((categories, labels)).repeat()


def main():
    cluster_resolver = create_in_process_cluster(num_workers=2, num_ps=2)
    strategy = tf.distribute.ParameterServerStrategy(
        cluster_resolver,
        variable_partitioner=tf.distribute.experimental.partitioners.FixedShardsPartitioner(num_shards=2),
    )
    coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
    random = np.random.RandomState(1)
    initial_table = random.normal(0, 0.5, (CATEGORIES, WIDTH)).astype("float32")
    initial_kernel = random.normal(0, 0.5, (WIDTH, 1)).astype("float32")

    with strategy.scope():
        table = tf.Variable(lambda: tf.constant(initial_table), name="table", shape=(CATEGORIES, WIDTH))
        kernel = tf.Variable(initial_value=initial_kernel, name="kernel")
        bias = tf.Variable(0.0, name="bias")
        steps = tf.Variable(0, name="steps", trainable=False, aggregation=tf.VariableAggregation.SUM)

    def replica_fn(inputs):
        categories, labels = inputs
        variables = [tf.convert_to_tensor(table), tf.convert_to_tensor(kernel), bias.read_value()]
        with tf.GradientTape() as tape:
            tape.watch(variables)
            embedded = tf.reduce_mean(tf.gather(variables[0], categories), axis=1)
            logits = tf.squeeze(embedded @ variables[1], axis=1) + variables[2]
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
            loss = tf.reduce_mean(losses)
        gradients = [tf.convert_to_tensor(gradient) for gradient in tape.gradient(loss, variables)]
        for variable, gradient in zip((table, kernel, bias), gradients):
            variable.assign_sub(0.5 * gradient)
        steps.assign_add(1)
        return loss

    @tf.function
    def step_fn(iterator):
        losses = strategy.run(replica_fn, args=(next(iterator),))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)

    @tf.function
    def per_worker_dataset_fn():
        return strategy.distribute_datasets_from_function(dataset_fn)

    per_worker_iterator = iter(coordinator.create_per_worker_dataset(per_worker_dataset_fn))
    results = []
    for _ in range(5):
        loss = coordinator.schedule(step_fn, args=(per_worker_iterator,))
        coordinator.join()
        results.append(loss.fetch())
    results += [bias.numpy(), steps.numpy(), np.sum(np.concatenate([shard.numpy() for shard in table.variables]))]
    return [float(result) for result in results]


if __name__ == "__main__":
    print(main())
