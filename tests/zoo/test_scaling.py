"""Programs that compute another number when there are more replicas: what is told of each, and that its correct twin passes.

Each takes `wrap`, which is tf.function or nothing, and `right`, which says whether the mistake is left out.
"""

import pathlib

import numpy as np
import pytest

import refdist as tf
from refdist.testing import ReplicasDiffer, assert_same_on

pytestmark = pytest.mark.parametrize(
    "wrap", [pytest.param(lambda f: f, id="eager"), pytest.param(tf.function, id="function")]
)

SUM, MEAN = tf.distribute.ReduceOp.SUM, tf.distribute.ReduceOp.MEAN
ROWS = np.arange(1.0, 9.0, dtype=np.float32)
TARGETS = (3 * ROWS + np.float32([0.5, -1, 0, 2, 0.25, 1, -2, 0.75])).astype(np.float32)


def replica():
    return tf.distribute.get_replica_context()


def batches(strategy, *arrays, size=8):
    rows = arrays[0] if len(arrays) == 1 else arrays
    return strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(rows).batch(size))


def told(program, **options):
    with pytest.raises(ReplicasDiffer) as caught:
        assert_same_on(program, **options)
    return caught.value


def line_with(text):
    lines = pathlib.Path(__file__).read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if line.endswith(f"# {text}"))


def linear_model(strategy, wrap, gradient, *, rate=0.01, steps=2):
    """Train y = w x by hand: each replica computes a gradient, and the sum of these is applied."""
    with strategy.scope():
        w = tf.Variable([1.0, -1.0], name="w", aggregation=tf.VariableAggregation.SUM)

    def step(x, y):
        w.assign_sub(rate * gradient(w, x, y))  # applied

    run = wrap(lambda x, y: strategy.run(step, args=(x, y)))
    for _ in range(steps):
        for x, y in batches(strategy, np.stack([ROWS, 0 * ROWS + 1], 1), TARGETS):
            run(x, y)
    return w


def gradient_of(loss):
    def gradient(w, x, y):
        with tf.GradientTape() as tape:
            value = loss(w, x, y)
        return tape.gradient(value, w)  # differentiated

    return gradient


def squares(w, x, y):
    return (tf.linalg.matvec(x, w) - y) ** 2


def test_mean_loss_times_sum_of_gradients(wrap):
    def program(divide):
        loss = gradient_of(lambda w, x, y: divide(squares(w, x, y)))
        return lambda strategy: linear_model(strategy, wrap, loss)

    error = told(program(tf.reduce_mean))

    assert (error.kind, error.what) == ("write", "the update of 'w:0' by assign_sub")
    assert error.place.line == line_with("applied")
    assert error.factor.name == "N"
    assert "not divided by the global batch" in error.meaning
    assert_same_on(program(lambda each: tf.nn.compute_average_loss(each, global_batch_size=8)))


def test_mean_loss_times_sum_of_gradients_below_an_optimizer_of_keras(wrap):
    def program(divide):
        def run(strategy):
            with strategy.scope():
                w = tf.Variable([1.0, -1.0], name="w")
                optimizer = tf.keras.optimizers.SGD(0.01)
                optimizer.build([w])

            def step(x, y):
                with tf.GradientTape() as tape:
                    loss = divide(squares(w, x, y))
                optimizer.apply_gradients([(tape.gradient(loss, w), w)])  # by Keras

            call = wrap(lambda x, y: strategy.run(step, args=(x, y)))
            for x, y in batches(strategy, np.stack([ROWS, 0 * ROWS + 1], 1), TARGETS):
                call(x, y)

        return run

    error = told(program(tf.reduce_mean))

    assert error.place.line == line_with("by Keras")
    assert error.factor.name == "N"
    assert "not divided by the global batch" in error.meaning
    assert_same_on(program(lambda each: tf.nn.compute_average_loss(each, global_batch_size=8)))


def test_token_mean_per_replica(wrap):
    mask = np.float32([1, 0, 0, 0, 1, 1, 1, 1])

    def program(right):
        def run(strategy):
            def step(values, mask):
                total, count = tf.reduce_sum(values * mask), tf.reduce_sum(mask)
                if right:
                    return replica().all_reduce(SUM, total) / replica().all_reduce(SUM, count)
                return replica().all_reduce(MEAN, total / count)  # mean of means

            call = wrap(lambda x, m: strategy.run(step, args=(x, m)))
            return [strategy.experimental_local_results(call(x, m))[0] for x, m in batches(strategy, ROWS, mask)]

        return run

    error = told(program(False), replicas=(1, 2))

    assert (error.kind, error.what) == ("meeting", "all_reduce(MEAN)")
    assert error.place.line == line_with("mean of means")
    assert "different numbers of rows" in error.meaning
    assert_same_on(program(True))


def test_regulariser_counted_n_times(wrap):
    def program(scale):
        def loss(w, x, y):
            return tf.nn.compute_average_loss(squares(w, x, y), global_batch_size=8) + scale(0.5 * tf.reduce_sum(w**2))

        return lambda strategy: linear_model(strategy, wrap, gradient_of(loss))

    error = told(program(lambda term: term))

    assert error.place.line == line_with("applied")
    assert error.factor.name == "other"
    assert "regulariser" in error.meaning
    assert_same_on(program(tf.nn.scale_regularization_loss))


def test_gradient_through_the_reduction(wrap):
    def program(reduced):
        def loss(w, x, y):
            local = tf.nn.compute_average_loss(squares(w, x, y), global_batch_size=8)
            return replica().all_reduce(SUM, local) if reduced else local

        return lambda strategy: linear_model(strategy, wrap, gradient_of(loss))

    error = told(program(True))

    assert error.place.line == line_with("differentiated")
    assert error.factor.name == "N"
    assert "through an all_reduce inside the tape" in error.meaning
    assert_same_on(program(False))


def test_gradient_through_the_reduction_of_a_local_mean(wrap):
    def gradient(w, x, y):
        with tf.GradientTape() as tape:
            loss = replica().all_reduce(SUM, tf.reduce_mean(squares(w, x, y)))
        return tape.gradient(loss, w)

    error = told(lambda strategy: linear_model(strategy, wrap, gradient))

    assert error.factor.name == "N squared"
    assert "through an all_reduce inside the tape" in error.meaning


def test_reduced_twice(wrap):
    def program(right):
        def run(strategy):
            def library(x):
                return replica().all_reduce(SUM, tf.reduce_sum(x))

            def step(x):
                return library(x) if right else replica().all_reduce(SUM, library(x))  # again

            call = wrap(lambda x: strategy.run(step, args=(x,)))
            return [strategy.experimental_local_results(call(x))[0] for x in batches(strategy, ROWS)]

        return run

    error = told(program(False))

    assert (error.kind, error.what, error.place.line) == ("meeting", "all_reduce(SUM)", line_with("again"))
    assert error.factor.name == "N"
    assert "already equal on all replicas" in error.meaning
    assert_same_on(program(True))


def test_clip_before_reduce(wrap):
    def program(right):
        own = gradient_of(lambda w, x, y: tf.nn.compute_average_loss(squares(w, x, y), global_batch_size=8))

        def gradient(w, x, y):
            if right:
                whole = replica().all_reduce(SUM, own(w, x, y))
                return tf.clip_by_norm(whole, 1.0) / replica().num_replicas_in_sync
            return tf.clip_by_norm(own(w, x, y), 1.0)

        return lambda strategy: linear_model(strategy, wrap, gradient)

    error = told(program(False))

    assert error.place.line == line_with("applied")
    assert "clipping" in error.meaning
    assert_same_on(program(True))


def test_scheduler_steps_n_times(wrap):
    def program(right):
        def run(strategy):
            with strategy.scope():
                n = tf.Variable(0, dtype=tf.int64, name="n", aggregation=tf.VariableAggregation.SUM)

            def step(x):
                if not right:
                    n.assign_add(tf.constant(1, tf.int64))  # on every replica
                return tf.reduce_sum(x)

            call = wrap(lambda x: strategy.run(step, args=(x,)))
            for x in batches(strategy, ROWS, size=4):
                call(x)
                if right:
                    n.assign_add(1)

        return run

    error = told(program(False))

    assert (error.what, error.place.line) == ("the update of 'n:0' by assign_add", line_with("on every replica"))
    assert error.factor.name == "N"
    assert "a counter grows once on each replica" in error.meaning
    assert_same_on(program(True))


def test_metric_summed_over_replicas(wrap):
    hits = np.float32([1, 0, 1, 1, 1, 0, 1, 1])

    def program(right):
        def run(strategy):
            own = {"synchronization": tf.VariableSynchronization.ON_READ, "aggregation": tf.VariableAggregation.SUM}
            with strategy.scope():
                accuracy, seen = tf.Variable(0.0, name="accuracy", **own), tf.Variable(0.0, name="seen", **own)

            def step(x):
                accuracy.assign_add(tf.reduce_sum(x) if right else tf.reduce_mean(x))  # kept
                seen.assign_add(tf.cast(tf.size(x), tf.float32))

            call = wrap(lambda x: strategy.run(step, args=(x,)))
            for x in batches(strategy, hits):
                call(x)
            return accuracy.read_value() / seen.read_value() if right else accuracy.read_value()

        return run

    error = told(program(False), replicas=(1, 2))

    assert (error.what, error.place.line) == ("the update of 'accuracy:0' by assign_add", line_with("kept"))
    assert error.factor.name == "other" or "each replica keeps a mean" in error.meaning
    assert_same_on(program(True))


def test_batchnorm_statistics_per_replica(wrap):
    rows = np.float32([0, 0, 0, 0, 10, 10, 10, 10])

    def program(right):
        def run(strategy):
            own = tf.VariableAggregation.ONLY_FIRST_REPLICA
            with strategy.scope():
                moving = tf.Variable(
                    0.0, name="moving_mean", synchronization=tf.VariableSynchronization.ON_READ, aggregation=own
                )

            def step(x):
                mean = tf.reduce_mean(x)
                moving.assign(replica().all_reduce(MEAN, mean) if right else mean)  # statistics

            call = wrap(lambda x: strategy.run(step, args=(x,)))
            for x in batches(strategy, rows):
                call(x)

        return run

    error = told(program(False))

    assert (error.what, error.place.line) == ("the update of 'moving_mean:0' by assign", line_with("statistics"))
    assert "statistics of a batch" in error.meaning
    assert_same_on(program(True))


def test_mean_of_unequal_splits(wrap):
    def program(right):
        def run(strategy):
            call = wrap(lambda x: strategy.run(lambda x: x * 1.0, args=(x,)))
            means = []
            for x in batches(strategy, np.float32([0, 0, 9]), size=3):
                values = call(x)
                if not right:
                    values = strategy.run(tf.reduce_mean, args=(values,))
                means.append(strategy.reduce(MEAN, values, axis=0 if right else None))  # unequal
            return means

        return run

    error = told(program(False), replicas=(1, 2))

    assert (error.kind, error.what, error.place.line) == ("meeting", "reduce(MEAN)", line_with("unequal"))
    assert "different numbers of rows" in error.meaning
    assert_same_on(program(True), replicas=(1, 2))


def test_reading_an_on_read_variable_in_a_replica(wrap):
    def program(right):
        def run(strategy):
            with strategy.scope():
                seen = tf.Variable(
                    0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
                )
                scale = tf.Variable(0.0, name="scale", aggregation=tf.VariableAggregation.MEAN)

            def step(x):
                seen.assign_add(tf.reduce_sum(x))
                own = seen.read_value()
                scale.assign(replica().all_reduce(SUM, own) if right else own)  # from the own copy

            call = wrap(lambda x: strategy.run(step, args=(x,)))
            for x in batches(strategy, ROWS):
                call(x)

        return run

    error = told(program(False))

    assert (error.what, error.place.line) == ("the update of 'scale:0' by assign", line_with("from the own copy"))
    assert error.factor.name == "1/N"
    assert_same_on(program(True))


def test_loss_of_rank_0_is_logged(wrap):
    def program(right):
        def run(strategy):
            call = wrap(lambda x: strategy.run(tf.reduce_sum, args=(x,)))
            losses = []
            for x in batches(strategy, ROWS):
                each = call(x)
                own = strategy.experimental_local_results(each)[0]
                losses.append(strategy.reduce(SUM, each, axis=None) if right else own)
            return {"losses": losses}

        return run

    error = told(program(False))

    assert (error.kind, error.what) == ("return", "the returned value['losses'][0]")
    assert "not combined over the replicas" in error.meaning
    assert_same_on(program(True))


def test_global_batch_in_per_replica_function(wrap):
    def program(right):
        def run(strategy):
            def pipeline(context):
                size = context.get_per_replica_batch_size(8) if right else 8
                return tf.data.Dataset.from_tensor_slices(np.tile(ROWS, 4)).batch(size)

            def step(x):
                return tf.reduce_sum(x * 0 + 1) / 8

            data = strategy.distribute_datasets_from_function(pipeline)
            call = wrap(lambda x: strategy.reduce(SUM, strategy.run(step, args=(x,)), axis=None))  # rows
            return call(next(iter(data)))

        return run

    error = told(program(False))

    assert (error.kind, error.what, error.place.line) == ("meeting", "reduce(SUM)", line_with("rows"))
    assert error.factor.name == "N"
    assert_same_on(program(True))


def test_reduction_order_changes_result(wrap):
    def program(right):
        kind = np.float64 if right else np.float32

        def run(strategy):
            def step(x):
                return replica().all_reduce(SUM, tf.reduce_sum(x))  # cancels

            call = wrap(lambda x: strategy.run(step, args=(x,)))
            rows = np.array([1e8, 3, -1e8, 5], kind)
            return [strategy.experimental_local_results(call(x))[0] for x in batches(strategy, rows, size=4)]

        return run

    error = told(program(False))

    assert error.place.line == line_with("cancels")
    assert "depends on the order of its terms" in error.meaning
    assert_same_on(program(True))


def test_one_replica_behaves_differently_from_many_only_in_the_type_of_its_result(wrap):
    def program(strategy):
        call = wrap(lambda x: strategy.run(lambda x: 2 * x, args=(x,)))
        return [call(x) for x in batches(strategy, ROWS)]

    assert_same_on(program)
