import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

import refdist as tf
import simulator
from refdist._core.clusters.workers import run_workers
from refdist._core.input.distributed_dataset import stages_of
from refdist._core.input.sharding import cut_batch

pytestmark = pytest.mark.filterwarnings(
    "ignore:Replica.*got no rows:RuntimeWarning"
)  # batches that do not divide, on purpose

Dataset = tf.data.Dataset
Policy = tf.data.experimental.AutoShardPolicy


def mirrored(count, backend="simulator"):
    with tf.using(backend, gpus=count):
        return tf.distribute.MirroredStrategy()


def parts(strategy, element):
    return [np.asarray(part).tolist() for part in strategy.experimental_local_results(element)]


def options(policy):
    made = tf.data.Options()
    made.experimental_distribute.auto_shard_policy = policy
    return made


def on_workers(make, workers=2, local=1):
    """The steps of each worker, each as the pieces of its replicas."""

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        return [parts(strategy, element) for element in strategy.experimental_distribute_dataset(make(index))]

    with tf.using("simulator", gpus=local):
        return run_workers(program, workers)


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        # As TensorFlow 2.21 has it on two workers; of a last batch that is not full it gives each replica an equal part.
        (lambda: Dataset.range(8).batch(4), [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]),
        (lambda: Dataset.range(9).batch(2), [[[0], [2], [4], [6], [8]], [[1], [3], [5], [7], []]]),
        (lambda: Dataset.range(10).batch(5), [[[0, 1, 2], [5, 6, 7]], [[3, 4], [8, 9]]]),
        (lambda: Dataset.range(11).batch(4), [[[0, 1], [4, 5], [8, 9]], [[2, 3], [6, 7], [10]]]),
        (lambda: Dataset.range(5).batch(4).repeat(2), [[[0, 1], [4], [0, 1], [4]], [[2, 3], [], [2, 3], []]]),
    ],
)
def test_two_workers_share_each_batch_and_have_the_same_steps(dataset, expected):
    assert expected == [
        [piece for (piece,) in steps]
        for steps in on_workers(lambda index: dataset().with_options(options(Policy.DATA)))
    ]


@pytest.mark.parametrize("local", [1, 2])
def test_workers_with_fewer_files_take_part_in_the_steps_of_the_others_with_nothing(tmp_path, local):
    for index, count in enumerate((5, 1, 0)):
        (tmp_path / f"{index}.txt").write_text("".join(f"{index}{line}\n" for line in range(count)))
    names = [str(tmp_path / f"{index}.txt") for index in range(3)]
    seen = on_workers(lambda index: tf.data.TextLineDataset(names).batch(3 * local), 3, local)

    assert 1 == len({len(steps) for steps in seen})
    assert [[b"00", b"01", b"02", b"03", b"04"], [b"10"], []] == [
        [line for step in steps for piece in step for line in piece] for steps in seen
    ]


def test_workers_whose_functions_make_datasets_of_different_length_end_together():
    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        made = strategy.distribute_datasets_from_function(lambda given: Dataset.range(4 - 2 * index).batch(2))
        iterator = iter(made)
        boxes = [iterator.get_next_as_optional() for _ in range(3)]
        assert not iterator.get_next_as_optional().has_value()
        return [parts(strategy, box.get_value()) for box in boxes if box.has_value()]

    with tf.using("simulator", gpus=1):
        assert [[[[0, 1]], [[2, 3]]], [[[0, 1]], [[]]]] == run_workers(program, 2)


@given(batch=generators.integers(0, 40), whole=generators.integers(1, 40), replicas=generators.integers(1, 9))
def test_pieces_cover_a_batch_in_order(batch, whole, replicas):
    cuts = [cut for step in cut_batch(batch, whole, replicas, replicas) for cut in step]

    assert [position for start, stop in cuts for position in range(start, stop)] == list(range(batch))
    assert 1 == len(cut_batch(batch, whole, replicas, replicas)), "one batch is one step on one worker"


def test_a_last_partial_batch_is_filled_replica_by_replica(any_backend, names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    dataset = strategy.experimental_distribute_dataset(Dataset.range(14).batch(8))

    assert [[[0, 1, 2, 3], [4, 5, 6, 7]], [[8, 9, 10, 11], [12, 13]]] == [
        parts(strategy, element) for element in dataset
    ]
    assert [[0, 1, 2, 3], [4, 5, 6, 7]] == parts(strategy, next(iter(dataset))), "a second loop starts again"


@pytest.mark.parametrize("take", [next, lambda it: it.get_next(), lambda it: it.get_next_as_optional()])
@pytest.mark.parametrize("staged", [False, True])
def test_a_replica_does_not_take_the_next_element(take, staged):
    strategy = mirrored(2)
    iterator = iter(strategy.experimental_distribute_dataset(Dataset.range(4).batch(2)))

    def run():
        return strategy.run(lambda: take(iterator))

    with pytest.raises(ValueError, match=r"args=\(next\(iterator\),\)"):
        (tf.function(run) if staged else run)()
    assert [[0], [1]] == parts(strategy, next(iterator)), "nothing is lost"


def test_an_iterator_that_is_given_to_replicas_is_not_for_them_either():
    strategy = mirrored(2)
    iterator = iter(strategy.experimental_distribute_dataset(Dataset.range(4).batch(2)))
    with pytest.warns(UserWarning, match="DistributedIterator"), pytest.raises(ValueError, match="expected it outside"):
        strategy.run(lambda it: next(it), args=(iterator,))


def test_a_batch_size_that_does_not_divide_is_an_error_with_the_nearest_one():
    with pytest.raises(ValueError, match="Use 9"):
        tf.distribute.InputContext(num_replicas_in_sync=3).get_per_replica_batch_size(8)


def test_the_spec_is_per_replica_and_fits_the_elements():
    strategy = mirrored(2)
    dataset = strategy.experimental_distribute_dataset(Dataset.range(5).batch(2))
    one = "TensorSpec(shape=(None,), dtype=tf.int64, name=None)"
    expected = f"PerReplicaSpec({one}, {one})"

    assert expected == repr(dataset.element_spec) == repr(iter(dataset).element_spec)
    assert all(dataset.element_spec.is_compatible_with(element) for element in dataset)
    one = tf.distribute.OneDeviceStrategy("/cpu:0").experimental_distribute_dataset(Dataset.range(5).batch(2))
    assert tf.TensorSpec((None,), tf.int64) == one.element_spec


def test_it_offers_iteration_and_its_spec_and_nothing_else():
    dataset = mirrored(2).experimental_distribute_dataset(Dataset.range(4).batch(2))

    assert ["element_spec"] == [name for name in dir(dataset) if not name.startswith("_")]
    assert ["rebatch(1)", "prefetch(2)"] == stages_of(dataset)
    with pytest.raises(TypeError, match="distributed again"):
        mirrored(2).experimental_distribute_dataset(dataset)


def test_the_end_is_an_error_or_an_empty_box():
    iterator = iter(mirrored(2).experimental_distribute_dataset(Dataset.range(2).batch(2)))

    assert iterator.get_next_as_optional().has_value()
    empty = iterator.get_next_as_optional()
    assert not empty.has_value()
    with pytest.raises(tf.errors.OutOfRangeError):
        empty.get_value()
    with pytest.raises(tf.errors.OutOfRangeError):
        iterator.get_next()
    with pytest.raises(StopIteration):
        next(iterator)


def test_an_empty_dataset_has_no_steps():
    assert [] == list(mirrored(2).experimental_distribute_dataset(Dataset.range(0).batch(2)))


def test_an_error_of_a_generator_comes_at_its_place_and_nothing_comes_twice():
    def make():
        yield np.arange(2)
        raise KeyError("broken")

    iterator = iter(mirrored(2).experimental_distribute_dataset(make))
    assert [[0], [1]] == [np.asarray(part).tolist() for part in next(iterator).values]
    with pytest.raises(KeyError) as raised:
        next(iterator)
    assert ["raised while element 1 of LoaderDataset was made"] == raised.value.__notes__
    with pytest.raises(KeyError):
        next(iterator)  # a loop that has failed does not look like one that has ended


pipelines = generators.sampled_from(
    [
        lambda size: Dataset.range(23).batch(size),
        lambda size: Dataset.range(23).shuffle(23, seed=4).batch(size),
        lambda size: Dataset.range(23).shuffle(5).batch(size),
        lambda size: Dataset.range(23).shuffle(5).repeat(2).batch(size),
        lambda size: Dataset.range(23).filter(lambda x: x % 3 > 0).batch(size).map(lambda x: x * 2),
        lambda size: (
            Dataset.from_generator(lambda: iter(range(23)), tf.int64).shuffle(4, seed=1).batch(size).prefetch(2)
        ),
        lambda size: Dataset.range(23).map(lambda x: x + 1, num_parallel_calls=4).batch(size),
        lambda size: Dataset.range(4).flat_map(lambda x: Dataset.range(5).shuffle(5, seed=int(x))).batch(size),
        lambda size: Dataset.range(23).shard(2, 1).repeat(3).take(20).skip(3).batch(size),
        lambda size: Dataset.range(4).flat_map(lambda x: Dataset.range(int(x) + 3)).batch(size),
        lambda size: (
            Dataset.zip((Dataset.range(23), Dataset.range(23).shuffle(9, seed=2)))
            .map(lambda a, b: a * 100 + b)
            .batch(size)
        ),
        lambda size: Dataset.range(23).cache().concatenate(Dataset.range(5)).batch(size),
    ]
)


@given(
    make=pipelines,
    size=generators.integers(1, 6),
    done=generators.integers(0, 8),
    first=generators.integers(1, 4),
    then=generators.integers(1, 4),
    resized=generators.integers(1, 6),
)
def test_a_position_holds_on_another_number_of_replicas_and_another_batch_size(make, size, done, first, then, resized):
    dataset = make(size)
    iterator = iter(mirrored(first).experimental_distribute_dataset(dataset))
    seen = []
    for element, _ in zip(iterator, range(done), strict=False):
        seen += [int(x) for part in mirrored(first).experimental_local_results(element) for x in np.asarray(part)]
    state = json.loads(json.dumps(iterator.state()))
    rest = [
        int(x)
        for element in iterator
        for part in mirrored(first).experimental_local_results(element)
        for x in np.asarray(part)
    ]

    other = iter(mirrored(then).experimental_distribute_dataset(make(resized)))
    other.restore(state)
    resumed = [
        int(x)
        for element in other
        for part in mirrored(then).experimental_local_results(element)
        for x in np.asarray(part)
    ]

    # A last stage such as map() keeps the order; so the rest is the very same, not only the same set.
    assert rest == resumed
    assert len(seen) + len(rest) == len(seen) + len(resumed)


def test_a_parallel_map_does_not_count_what_it_has_read_ahead():
    dataset = Dataset.range(24).batch(2).map(lambda x: x, num_parallel_calls=4)
    iterator = iter(mirrored(2).experimental_distribute_dataset(dataset))
    next(iterator)
    other = iter(mirrored(2).experimental_distribute_dataset(dataset))
    other.restore(iterator.state())

    assert [[2], [3]] == parts(mirrored(2), next(other))


def test_an_order_that_cannot_be_found_again_has_no_position():
    dataset = Dataset.range(4).flat_map(lambda x: Dataset.range(5).shuffle(5)).batch(2)
    iterator = iter(mirrored(2).experimental_distribute_dataset(dataset))
    next(iterator)
    with pytest.raises(ValueError, match="expected an order that can be found again"):
        iterator.state()


def test_a_position_of_dealt_batches_is_kept_too():
    def make(given):
        return Dataset.range(12).batch(given.get_per_replica_batch_size(4))

    iterator = iter(mirrored(2).distribute_datasets_from_function(make))
    next(iterator)
    other = iter(mirrored(4).distribute_datasets_from_function(make))
    other.restore(iterator.state())

    assert [[[4], [5], [6], [7]], [[8], [9], [10], [11]]] == [parts(mirrored(4), element) for element in other]


SOUND = {"consumed": 1, "unit": "samples", "shuffles": []}


@pytest.mark.parametrize(
    "state",
    [
        None,
        3,
        {},
        {**SOUND, "consumed": "x"},
        {**SOUND, "consumed": -1},
        {**SOUND, "shuffles": [[1, 2]]},
        {**SOUND, "shuffles": [[1]]},
        {**SOUND, "unit": "ShuffleDataset"},
        {**SOUND, "shuffles": [["a", 1]]},
        {**SOUND, "samples": -1},
        {**SOUND, "step": 1},
    ],
)
def test_a_position_that_is_none_or_of_another_pipeline_is_refused(state):
    iterator = iter(mirrored(2).experimental_distribute_dataset(Dataset.range(4).batch(2)))
    with pytest.raises(ValueError, match="position"):
        iterator.restore(state)
    with pytest.raises(ValueError, match="position"):
        iter(Dataset.range(4).batch(2)).restore(state)


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_as_many_steps_as_replicas_are_read_ahead_of_the_loop(replicas):
    pulled = []

    def numbers():
        for number in range(20):
            pulled.append(number)
            yield np.full(replicas, number)

    with tf.using("simulator", gpus=replicas), simulator.ledger() as record:
        strategy = tf.distribute.MirroredStrategy()
        data = Dataset.from_generator(numbers, output_signature=tf.TensorSpec((replicas,), tf.int64))
        iterator = iter(strategy.experimental_distribute_dataset(data))
        pulled.clear()
        assert 0 == len(pulled)
        next(iterator)
        next(iterator)

        assert 2 + replicas == len(pulled)
        assert 2 * replicas == len(record.deliveries)  # what is read ahead has not been delivered
        again = iter(strategy.experimental_distribute_dataset(data))
        again.restore(iterator.state())
        expected, got = (strategy.experimental_local_results(next(one)) for one in (iterator, again))
        assert [np.asarray(part).tolist() for part in expected] == [np.asarray(part).tolist() for part in got]
        assert 2 == int(np.asarray(expected[0]).ravel()[0])


def test_what_was_read_before_a_failure_is_delivered_first():
    def numbers():
        yield from range(3)
        raise KeyError("gone")

    with tf.using("simulator", gpus=1):
        data = Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int64))
        iterator = iter(tf.distribute.MirroredStrategy().experimental_distribute_dataset(data.batch(1)))
        assert [0, 1, 2] == [int(np.asarray(next(iterator))[0]) for _ in range(3)]
        for _ in range(2):
            with pytest.raises(Exception, match="gone"):
                next(iterator)


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("devices", [[], ["CPU:0", "CPU:1"]], ids=["default", "mirrored"])
def test_a_step_in_a_name_scope_takes_its_elements_and_runs(devices, staged):
    with tf.using("simulator", cpus=2):
        strategy = tf.distribute.MirroredStrategy(devices) if devices else tf.distribute.get_strategy()
        data = tf.data.Dataset.range(8).batch(2)
        iterator = iter(strategy.experimental_distribute_dataset(data))
        with strategy.scope():
            total = tf.Variable(0, dtype=tf.int64, aggregation=tf.VariableAggregation.SUM)

        def loop(iterator, steps):
            for _ in tf.range(steps):
                with tf.name_scope("step"):
                    strategy.run(lambda x: total.assign_add(tf.reduce_sum(x)), args=(next(iterator),))

        (tf.function(loop) if staged else loop)(iterator, tf.constant(3))
        assert int(total) == sum(range(6))


def test_a_run_in_a_replica_of_the_default_strategy_is_refused_as_in_tensorflow():
    strategy = tf.distribute.get_strategy()
    with pytest.raises(RuntimeError, match="in replica 0; expected cross-replica context"):
        strategy.run(lambda: strategy.run(lambda: 1))
