"""Datasets: what a batch costs on its way to the replicas, compared with plain numpy."""

import resource

import numpy as np
import pytest

import refdist as tf

pytestmark = pytest.mark.tuning

BATCH = 256
ROWS = 1_000_000


def per_batch(benchmark, loop, batches):
    benchmark.pedantic(loop, rounds=7, warmup_rounds=1)
    if benchmark.stats is not None:
        benchmark.extra_info["median_us_per_batch"] = round(benchmark.stats.stats.median / batches * 1e6, 2)


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).random((ROWS, 8)).astype(np.float32)


@pytest.mark.benchmark(group="a shuffled epoch of 1,000,000 rows")
def test_shuffled_epoch(benchmark, rows):
    dataset = tf.data.Dataset.from_tensor_slices(rows).shuffle(ROWS, seed=1).batch(BATCH)

    per_batch(benchmark, lambda: sum(1 for _ in dataset.as_numpy_iterator()), -(-ROWS // BATCH))


@pytest.mark.benchmark(group="a shuffled epoch of 1,000,000 rows")
def test_numpy_permutation_and_gather(benchmark, rows):
    def loop():
        order = np.random.default_rng(1).permutation(ROWS)
        for start in range(0, ROWS, BATCH):
            rows[order[start : start + BATCH]]

    per_batch(benchmark, loop, -(-ROWS // BATCH))


@pytest.mark.benchmark(group="record files, distributed over four devices")
def test_ten_gigabytes_of_files_in_constant_memory(benchmark, tmp_path):
    path, record = str(tmp_path / "part"), bytes(1 << 20)
    with tf.io.TFRecordWriter(path) as writer:
        for _ in range(64):
            writer.write(record)
    with tf.using("simulator", gpus=4):
        strategy = tf.distribute.MirroredStrategy()

    def megabytes_grown(files):
        dataset = tf.data.TFRecordDataset([path] * files).batch(8)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        steps = sum(1 for _ in strategy.experimental_distribute_dataset(dataset))
        assert 8 * files == steps
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024

    megabytes_grown(2)  # what is allocated only once is allocated now
    grown = benchmark.pedantic(lambda: megabytes_grown(160), rounds=1)
    benchmark.extra_info["megabytes_more_than_two_files"] = grown

    assert grown < 64
