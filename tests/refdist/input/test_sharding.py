"""Who reads what: the parts of a batch, and the files and elements that each worker takes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.clusters.workers import run_workers

pytestmark = pytest.mark.filterwarnings(
    "ignore:Replica.*got no rows:RuntimeWarning"
)  # batches that do not divide, on purpose

Dataset, Policy = tf.data.Dataset, tf.data.experimental.AutoShardPolicy
HINT = tf.data.experimental.SHARD_HINT


def parts(strategy, value):
    return [np.asarray(part).tolist() for part in strategy.experimental_local_results(value)]


def with_policy(dataset, policy):
    chosen = tf.data.Options()
    chosen.experimental_distribute.auto_shard_policy = policy
    return dataset.with_options(chosen)


def on_workers(make, workers=2, local=1):
    """The steps of each worker, each as the pieces of its replicas."""

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        return [parts(strategy, element) for element in strategy.experimental_distribute_dataset(make())]

    with tf.using("simulator", gpus=local):
        return run_workers(program, workers)


def rows(steps):
    """What one worker has seen, in order."""
    return [row for step in steps for piece in step for row in piece]


@pytest.fixture
def files(tmp_path):
    """Three files of two lines each."""
    for index in range(3):
        (tmp_path / f"{index}.txt").write_text(f"{index}a\n{index}b\n")
    return [str(tmp_path / f"{index}.txt") for index in range(3)]


@given(total=generators.integers(0, 20), batch=generators.integers(1, 9), replicas=generators.integers(1, 7))
@settings(max_examples=60)
def test_every_step_is_one_batch_in_pieces_of_one_size_as_far_as_it_goes(total, batch, replicas):
    with tf.using("host", gpus=replicas):
        strategy = tf.distribute.MirroredStrategy()
        steps = [
            parts(strategy, x) for x in strategy.experimental_distribute_dataset(Dataset.range(total).batch(batch))
        ]

    piece = -(-batch // replicas)
    for number, step in enumerate(steps):
        whole = list(range(total))[number * batch : (number + 1) * batch]
        assert [whole[at * piece : (at + 1) * piece] for at in range(replicas)] == step
    assert -(-total // batch) == len(steps)


@pytest.mark.parametrize(
    "make",
    [
        lambda data: data.batch(4).map(lambda x: x),
        lambda data: data.batch(4).prefetch(2),
        lambda data: data.batch(4).take(9),
        lambda data: data.batch(4).repeat(1),
        lambda data: data.batch(4).filter(lambda x: True),
        lambda data: data.batch(4).cache(),
        lambda data: data.batch(8).unbatch().batch(4),
    ],
)
def test_what_comes_after_the_batches_leaves_their_size_alone(make):
    with tf.using("host", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        steps = [parts(strategy, x) for x in strategy.experimental_distribute_dataset(make(Dataset.range(7)))]

    assert [[[0, 1], [2, 3]], [[4, 5], [6]]] == steps


def test_batches_that_were_taken_apart_again_have_the_size_of_what_comes():
    # The elements are arrays of two, whatever the batches were before.
    pairs = Dataset.from_tensor_slices(np.arange(12).reshape(3, 2, 2)).batch(3).unbatch()
    with tf.using("host", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        steps = [parts(strategy, x) for x in strategy.experimental_distribute_dataset(pairs)]

    assert [[[[4 * i, 4 * i + 1]], [[4 * i + 2, 4 * i + 3]]] for i in range(3)] == steps


class TestFiles:
    """Files are shared out where all data come from files."""

    @pytest.mark.parametrize("policy", [Policy.AUTO, Policy.FILE])
    def test_each_worker_reads_every_so_many_th_file(self, files, policy):
        seen = on_workers(lambda: with_policy(tf.data.TextLineDataset(files).batch(2), policy), 2)

        assert [[b"0a", b"0b", b"2a", b"2b"], [b"1a", b"1b"]] == [rows(steps) for steps in seen]

    def test_as_many_files_as_workers_are_enough(self, files):
        seen = on_workers(lambda: with_policy(tf.data.TextLineDataset(files).batch(1), Policy.FILE), 3)

        assert [[b"0a", b"0b"], [b"1a", b"1b"], [b"2a", b"2b"]] == [rows(steps) for steps in seen]

    def test_fewer_files_than_workers_are_refused_with_both_numbers(self, files):
        with pytest.raises(ValueError, match="has 3 files for 4 workers; expected at least one file for each worker"):
            on_workers(lambda: tf.data.TextLineDataset(files).batch(1), 4)

    def test_what_is_read_after_the_names_is_shared_out_by_name(self, files):
        def make():
            return Dataset.list_files(files, shuffle=False).interleave(tf.data.TextLineDataset, cycle_length=1).batch(2)

        assert [[b"0a", b"0b", b"2a", b"2b"], [b"1a", b"1b"]] == [rows(steps) for steps in on_workers(make, 2)]

    def test_other_sources_are_named_where_files_are_asked_for(self):
        with pytest.raises(ValueError, match=r"has RangeDataset, and its auto_shard_policy is FILE[\s\S]*policy DATA"):
            on_workers(lambda: with_policy(Dataset.range(4).batch(2), Policy.FILE))


class TestElements:
    """Elsewhere every worker takes its part of each batch."""

    def test_parts_of_one_batch_make_up_the_batch(self):
        seen = on_workers(lambda: with_policy(Dataset.range(10).batch(6), Policy.DATA), workers=3, local=2)

        assert [[[[0], [1]], [[6], [7]]], [[[2], [3]], [[8], [9]]], [[[4], [5]], [[], []]]] == seen

    def test_switched_off_every_worker_has_everything(self):
        seen = on_workers(lambda: with_policy(Dataset.range(4).batch(2), Policy.OFF), 2)

        assert [[0, 1, 2, 3]] * 2 == [rows(steps) for steps in seen]

    def test_shuffles_without_a_seed_are_the_same_on_all_workers(self):
        seen = on_workers(lambda: with_policy(Dataset.range(40).shuffle(40).batch(10), Policy.DATA), 2)

        assert list(range(40)) == sorted(row for steps in seen for row in rows(steps))

    def test_a_shuffle_with_a_seed_keeps_it(self):
        one, again = (
            on_workers(lambda: with_policy(Dataset.range(20).shuffle(20, seed=5).batch(10), Policy.DATA))
            for _ in range(2)
        )

        assert one == again


class TestHints:
    """A hint says where to share out."""

    def hinted(self):
        return with_policy(Dataset.range(8).shard(HINT, HINT).map(lambda x: x * 10).batch(4), Policy.HINT)

    def test_elements_are_shared_out_where_it_stands(self):
        assert [[0, 20, 40, 60], [10, 30, 50, 70]] == [rows(steps) for steps in on_workers(self.hinted)]

    def test_without_one_several_workers_are_refused_and_one_is_not(self):
        plain = lambda: with_policy(Dataset.range(4).batch(2), Policy.HINT)  # noqa: E731
        with pytest.raises(ValueError, match="no stage has a hint"):
            on_workers(plain, 2)

        assert [[0, 1, 2, 3]] == [rows(steps) for steps in on_workers(plain, 1)]

    def test_one_worker_keeps_everything(self):
        assert [[0, 10, 20, 30, 40, 50, 60, 70]] == [rows(steps) for steps in on_workers(self.hinted, 1)]

    def test_on_its_own_it_cannot_be_iterated_over(self):
        with pytest.raises(ValueError, match="expected a distributed dataset with the policy HINT"):
            list(Dataset.range(4).shard(HINT, HINT))
