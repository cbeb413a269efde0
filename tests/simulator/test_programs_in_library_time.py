"""Programs that take the time of a library."""

import numpy as np
import pytest

import refdist as tf
from simulator import libraries, presets
from simulator.predictions.prediction import predict_all_reduce

sim = tf.simulator


def replica():
    return tf.distribute.get_replica_context()


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize(
    ("cluster", "size"), [(presets.dgx_h100(), 2**20), (presets.dgx_h100(2), 2**12), (presets.dgx_a100(), 2**16)]
)
def test_an_all_reduce_takes_what_the_library_says(cluster, size, staged):
    tf.use("simulator", cluster=cluster, library=libraries.nccl(), launch=libraries.Launch(8))
    strategy = tf.distribute.MirroredStrategy()

    def run():
        return strategy.run(lambda: replica().all_reduce("SUM", tf.ones([size // 4])))

    run = tf.function(run) if staged else run
    run()
    before = sim.steps()[-1].collective_seconds
    result = run()
    expected = predict_all_reduce(cluster, size, library=libraries.nccl(), launch=libraries.Launch(8)).seconds

    assert expected == pytest.approx(before) == pytest.approx(sim.steps()[-1].collective_seconds)
    assert cluster.device_count == strategy.experimental_local_results(result)[0][0]


def test_an_algorithm_of_the_library_can_be_asked_for():
    def seconds(**options):
        tf.use("simulator", cluster=presets.dgx_h100(), library=libraries.nccl(), **options)
        strategy = tf.distribute.MirroredStrategy()
        strategy.run(lambda: replica().all_reduce("SUM", tf.ones([2**22])))
        return sim.steps()[-1].collective_seconds

    assert seconds() < seconds(algorithm="ring") < seconds(algorithm="tree")


def test_sums_have_the_order_of_the_algorithm():
    values = np.float32([1e8, 1.0, -1e8, 1.0, 3e7, 7.0, -3e7, 0.1])

    def total(**options):
        tf.use("simulator", cluster=presets.dgx_h100(), **options)
        strategy = tf.distribute.MirroredStrategy()
        given = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(values[context.replica_id_in_sync_group])
        )
        return float(
            strategy.reduce("SUM", strategy.run(lambda x: replica().all_reduce("SUM", x), args=(given,)), axis=None)
        )

    assert total(algorithm="ring") == total(library=libraries.nccl(), algorithm="ring")
    assert total(algorithm="double_tree") == total(library=libraries.nccl(), algorithm="tree")


def test_overlap_means_the_same_in_functions_as_eagerly():
    tf.use("simulator", cluster=presets.dgx_h100(), library=libraries.nccl())
    strategy = tf.distribute.MirroredStrategy()

    def step(overlaps):
        def work(x, w):
            summed = replica().all_reduce("SUM", x)
            for _ in range(4):
                w = tf.matmul(w, w)
            return summed, w

        def body(x, w):
            if not overlaps:
                return work(x, w)
            with sim.overlap():
                return work(x, w)

        return lambda x, w: strategy.run(body, args=(x, w))

    x, w = tf.ones([2**18]), tf.zeros([256, 256])

    def seconds(run):
        run(x, w)
        run(x, w)
        return sim.steps()[-1].seconds

    eager, behind = seconds(step(False)), seconds(step(True))
    staged, staged_behind = seconds(tf.function(step(False))), seconds(tf.function(step(True)))

    assert behind < eager
    assert staged_behind < staged
    assert staged_behind == pytest.approx(behind, rel=0.05)


def test_a_library_without_a_cluster_is_refused():
    with pytest.raises(TypeError, match="without a cluster"):
        tf.use("simulator", gpus=2, library=libraries.nccl())
    with pytest.raises(TypeError, match="without a library"):
        tf.use("simulator", cluster=presets.dgx_h100(), launch=libraries.Launch(8))
    with pytest.raises(ValueError, match="expected one that NCCL has"):
        tf.use("simulator", cluster=presets.dgx_h100(), library=libraries.nccl(), algorithm="halving_doubling")
    with pytest.raises(ValueError, match="gpus_per_process is 0"):
        libraries.Launch(0)


@pytest.mark.parametrize("staged", [False, True])
def test_packs_are_exchanged_together(staged):
    tf.use("simulator", cluster=presets.dgx_h100(), library=libraries.nccl())
    strategy = tf.distribute.MirroredStrategy()

    def seconds(bytes_per_pack):
        options = tf.distribute.experimental.CommunicationOptions(bytes_per_pack=bytes_per_pack)

        def run():
            strategy.run(lambda: replica().all_reduce("SUM", [tf.ones([65536])] * 16, options=options))

        (tf.function(run) if staged else run)()
        return sim.steps()[-1].collective_seconds

    def of(size):
        return predict_all_reduce(presets.dgx_h100(), size, library=libraries.nccl()).seconds

    assert 16 * of(2**18) == pytest.approx(seconds(0))
    # A pack is full when it has more than so many bytes: three of five tensors, and one of the last.
    assert 3 * of(5 * 2**18) + of(2**18) == pytest.approx(seconds(2**20))
