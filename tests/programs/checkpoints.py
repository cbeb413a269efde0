"""Training by workers in step, with checkpoints; the job is stopped in the middle and started again."""

import os
import tempfile

import numpy as np
import tensorflow as tf

BATCH_SIZE, STEPS_PER_EPOCH, EPOCHS = 4, 3, 3


class Interrupted(Exception):
    """Ends a job before it is done."""


def make_dataset(global_batch_size, input_context):
    random = np.random.RandomState(0)
    x = random.normal(size=(global_batch_size * STEPS_PER_EPOCH, 5)).astype("float32")
    y = np.sum(x[:, :2], axis=1, keepdims=True)
    dataset = tf.data.Dataset.from_tensor_slices((x, y))
    dataset = dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
    return dataset.batch(input_context.get_per_replica_batch_size(global_batch_size))


def build_model():
    model = tf.keras.Sequential(
        [tf.keras.Input(shape=(5,)), tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)]
    )
    random = np.random.RandomState(1)
    model.set_weights([random.normal(0, 0.5, weight.shape).astype("float32") for weight in model.get_weights()])
    return model


def write_filepath(directory, task_type, task_id):
    is_chief = task_type is None or task_type == "chief" or (task_type == "worker" and task_id == 0)
    return os.path.join(directory, "checkpoints" if is_chief else f"temporary_{task_id}")


def run_job(directory, results, interrupt_after=None):
    strategy = tf.distribute.MultiWorkerMirroredStrategy(
        communication_options=tf.distribute.experimental.CommunicationOptions(
            implementation=tf.distribute.experimental.CommunicationImplementation.RING
        )
    )
    global_batch_size = BATCH_SIZE * strategy.num_replicas_in_sync
    with strategy.scope():
        model = build_model()
        optimizer = tf.keras.optimizers.Adam(learning_rate=0.05)
        optimizer.build(model.trainable_variables)
        train_loss = tf.keras.metrics.Mean(name="train_loss")
        epoch = tf.Variable(initial_value=tf.constant(0, dtype=tf.int64), name="epoch")

    def dataset_fn(input_context):
        return make_dataset(global_batch_size, input_context)

    multi_worker_dataset = strategy.distribute_datasets_from_function(dataset_fn)

    @tf.function
    def train_step(iterator):
        def step_fn(inputs):
            x, y = inputs
            with tf.GradientTape() as tape:
                errors = tf.square(model(x, training=True) - y)
                loss = tf.nn.compute_average_loss(tf.reduce_sum(errors, axis=1), global_batch_size=global_batch_size)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables))
            train_loss.update_state(loss)
            return loss

        per_replica_losses = strategy.run(step_fn, args=(next(iterator),))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)

    task_type, task_id = strategy.cluster_resolver.task_type, strategy.cluster_resolver.task_id
    checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, epoch=epoch)
    path = write_filepath(directory, task_type, task_id)
    manager = tf.train.CheckpointManager(checkpoint, directory=path, max_to_keep=1)
    latest = tf.train.latest_checkpoint(path)
    if latest:
        checkpoint.restore(latest)
    while epoch.numpy() < EPOCHS:
        iterator = iter(multi_worker_dataset)
        for _ in range(STEPS_PER_EPOCH):
            results.append(float(train_step(iterator)))
        results.append(float(train_loss.result()))
        train_loss.reset_state()
        epoch.assign_add(1)
        manager.save()
        if epoch.numpy() == interrupt_after:
            raise Interrupted
    results += [float(optimizer.iterations.numpy()), float(len(manager.checkpoints))]


def main():
    results = []
    with tempfile.TemporaryDirectory() as directory:
        try:
            run_job(directory, results, interrupt_after=1)
        except Interrupted:
            run_job(directory, results)
    return results


if __name__ == "__main__":
    print(main())
