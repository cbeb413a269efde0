"""How batches reach the replicas: global batches are cut, batches of a dataset function are dealt, or each has its own."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.input.distributed_dataset import DistributedDataset
from refdist._core.input.input_worker import InputWorker
from refdist._core.input.position import Pass
from refdist._core.input.replica_batches import (
    Abreast,
    GlobalBatches,
    OwnPipelines,
    PerReplicaBatches,
    Placer,
)
from refdist._core.input.stage import Stage
from refdist._core.replicas.specs import PerReplicaSpec
from refdist._core.strategies.plan import Plan
from tests.thorough import examples

pytestmark = pytest.mark.filterwarnings(
    "ignore:Replica.*got no rows:RuntimeWarning"
)  # batches that do not divide, on purpose

Dataset = tf.data.Dataset
Policy = tf.data.experimental.AutoShardPolicy


def mirrored(count):
    with tf.using("simulator", gpus=count):
        return tf.distribute.MirroredStrategy()


def parts(strategy, element):
    return [np.asarray(part).tolist() for part in strategy.experimental_local_results(element)]


def options(policy):
    made = tf.data.Options()
    made.experimental_distribute.auto_shard_policy = policy
    return made


def worker(local, workers, index):
    """A plan for the replicas of one worker, and what it knows of its part of the input."""
    with tf.using("host", gpus=local):
        plan: Plan = tf.distribute.MirroredStrategy().extended.plan
    return Placer(plan, None), InputWorker(workers, index, local * workers)


def steps_of(source, local):
    """The steps of one worker, each as the pieces of its replicas."""
    elements = [element.values if local > 1 else (element,) for element in DistributedDataset(source)]
    return [[np.asarray(part).tolist() for part in components] for components in elements]


@given(
    n=generators.integers(0, 50),
    batch=generators.integers(1, 17),
    local=generators.integers(1, 9),
    workers=generators.integers(1, 3),
    policy=generators.sampled_from([Policy.AUTO, Policy.DATA]),
)
@settings(max_examples=examples(130, 400))
def test_each_step_is_one_global_batch_over_the_replicas_of_all_workers(n, batch, local, workers, policy):
    own = []
    for index in range(workers):
        placer, input_worker = worker(local, workers, index)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            source = GlobalBatches(Dataset.range(n).batch(batch).stage, options(policy), placer, input_worker)
        own.append(steps_of(source, local))

    together = [[piece for parts in step for piece in parts] for step in zip(*own, strict=True)]
    assert documented_split(n, batch, local * workers) == together


def documented_split(n, batch, replicas):
    """The steps of all replicas: each is a batch, cut into pieces of one size, replica by replica, the rest empty."""
    piece, found = -(-batch // replicas), []
    for start in range(0, n, batch):
        whole = list(range(start, min(start + batch, n)))
        found.append([whole[at * piece : (at + 1) * piece] for at in range(replicas)])
    return found


def test_several_workers_share_out_files(tmp_path):
    for index in range(4):
        (tmp_path / f"{index}.txt").write_text(f"{index}\n")
    dataset = tf.data.TextLineDataset([str(tmp_path / f"{index}.txt") for index in range(4)]).batch(1)
    seen = []
    for index in range(2):
        placer, input_worker = worker(1, 2, index)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            source = GlobalBatches(dataset.stage, options(Policy.AUTO), placer, input_worker)
        seen.append([line for step in steps_of(source, 1) for line in step[0]])

    assert [[b"0", b"2"], [b"1", b"3"]] == seen


def test_too_few_files_and_no_files_are_errors_with_advice(tmp_path):
    (tmp_path / "a").write_text("x")
    placer, input_worker = worker(1, 2, 0)
    with pytest.raises(ValueError, match="1 files for 2 workers"):
        GlobalBatches(tf.data.TextLineDataset(str(tmp_path / "a")).stage, options(Policy.FILE), placer, input_worker)
    with pytest.raises(ValueError, match="does not come from files"):
        GlobalBatches(Dataset.range(4).stage, options(Policy.FILE), placer, input_worker)


def test_sharing_out_by_element_is_announced_and_can_be_switched_off_or_placed():
    placer, input_worker = worker(1, 2, 1)
    with pytest.warns(UserWarning, match="each of the 2 workers reads all of it"):
        GlobalBatches(Dataset.range(4).batch(1).stage, options(Policy.AUTO), placer, input_worker)
    everything = GlobalBatches(Dataset.range(4).batch(1).stage, options(Policy.OFF), placer, input_worker)
    hinted = GlobalBatches(
        Dataset.range(4).shard(tf.data.experimental.SHARD_HINT, 0).batch(1).stage,
        options(Policy.HINT),
        placer,
        input_worker,
    )

    assert [0, 1, 2, 3] == [x for step in steps_of(everything, 1) for x in step[0]]
    assert [1, 3] == [x for step in steps_of(hinted, 1) for x in step[0]]


def test_a_replica_without_data_gets_an_empty_piece_of_the_right_shape():
    strategy = mirrored(3)
    dataset = strategy.experimental_distribute_dataset(Dataset.from_tensor_slices(np.ones((4, 2), np.float32)).batch(4))
    (element,) = list(dataset)

    assert [(2, 2), (2, 2), (0, 2)] == [part.shape for part in element.values]
    assert tf.float32 == element.values[2].dtype


def test_nests_are_split_leaf_by_leaf_and_lie_on_the_devices(any_backend, names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    data = Dataset.from_tensor_slices({"x": np.arange(8.0).reshape(4, 2), "y": (np.arange(4),)}).batch(4)
    element = next(iter(strategy.experimental_distribute_dataset(data)))

    assert [[[0, 1], [2, 3]], [[4, 5], [6, 7]]] == parts(strategy, element["x"])
    assert [[0, 1], [2, 3]] == parts(strategy, element["y"][0])
    assert list(strategy.extended.worker_devices) == [tf.device_name(part) for part in element["x"].values]


def test_pieces_stay_on_the_host_when_asked_to():
    strategy = mirrored(2)
    chosen = tf.distribute.InputOptions(experimental_fetch_to_device=False)
    element = next(iter(strategy.experimental_distribute_dataset(Dataset.range(4).batch(2), chosen)))

    assert {"CPU:0"} == {part.device[-5:] for part in element.values}


def test_options_that_are_none_or_cannot_be_are_refused():
    with pytest.raises(TypeError, match="with_options"):
        mirrored(2).experimental_distribute_dataset(Dataset.range(4).batch(2), tf.data.Options())
    with pytest.raises(NotImplementedError, match="PER_WORKER"):
        mirrored(2).experimental_distribute_dataset(Dataset.range(4).batch(2), input_options(EACH))


EACH, WORKER = tf.distribute.InputReplicationMode.PER_REPLICA, tf.distribute.InputReplicationMode.PER_WORKER


def input_options(mode, fetch=None, place=False):
    return tf.distribute.InputOptions(
        experimental_replication_mode=mode,
        experimental_fetch_to_device=fetch,
        experimental_place_dataset_on_device=place,
    )


@pytest.mark.parametrize(("fetch", "place"), [(None, False), (True, False), (False, False), (False, True)])
def test_a_dataset_function_is_called_for_each_replica_if_that_is_asked_for(any_backend, names, fetch, place):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    calls = []

    def make(given):
        calls.append(given)
        return Dataset.range(100 * given.input_pipeline_id, 100 * given.input_pipeline_id + 4).batch(2)

    made = strategy.distribute_datasets_from_function(make, input_options(EACH, fetch, place))
    elements = list(made)

    assert [tf.distribute.InputContext(2, index, 2) for index in range(2)] == calls
    assert [[[0, 1], [100, 101]], [[2, 3], [102, 103]]] == [parts(strategy, element) for element in elements]
    on_host = fetch is False and not place
    assert (["CPU:0"] * 2 if on_host else names[:2]) == [tf.device_name(part)[-5:] for part in elements[0].values]
    spec = tf.TensorSpec((None,), tf.int64)
    assert repr(PerReplicaSpec(spec, spec)) == repr(made.element_spec)


def test_a_replica_whose_own_dataset_has_ended_gets_empty_batches():
    strategy = mirrored(2)
    made = strategy.distribute_datasets_from_function(
        lambda given: Dataset.range(3 + 2 * given.input_pipeline_id).batch(2), input_options(EACH)
    )

    assert [[[0, 1], [0, 1]], [[2], [2, 3]], [[], [4]]] == [parts(strategy, element) for element in made]


def test_own_datasets_are_resumed_where_they_were():
    strategy = mirrored(2)

    def loop():
        return iter(
            strategy.distribute_datasets_from_function(
                lambda given: Dataset.range(6).shuffle(6, seed=given.input_pipeline_id).batch(1), input_options(EACH)
            )
        )

    first, second = loop(), loop()
    for _ in range(2):
        next(first)
    second.restore(first.state())

    assert [parts(strategy, element) for element in first] == [parts(strategy, element) for element in second]


@pytest.mark.parametrize("make", ["one", "central", "workers"])
def test_only_a_mirrored_strategy_has_a_dataset_for_each_replica(make):
    with tf.using("host", gpus=2):
        strategy = {
            "one": lambda: tf.distribute.OneDeviceStrategy("GPU:0"),
            "central": tf.distribute.experimental.CentralStorageStrategy,
            "workers": tf.distribute.MultiWorkerMirroredStrategy,
        }[make]()
        with pytest.raises(NotImplementedError, match="of a MirroredStrategy"):
            strategy.distribute_datasets_from_function(lambda given: Dataset.range(4).batch(2), input_options(EACH))


@pytest.mark.parametrize(
    "chosen", [input_options(WORKER, None, True), input_options(WORKER, False, True), input_options(EACH, None, True)]
)
def test_a_dataset_is_on_a_device_only_if_it_is_for_that_replica(chosen):
    with pytest.raises(ValueError, match="experimental_fetch_to_device=False"):
        mirrored(2).distribute_datasets_from_function(lambda given: Dataset.range(4).batch(2), chosen)


def test_scalars_cannot_be_split_but_can_be_dealt():
    strategy = mirrored(2)
    distributed = strategy.experimental_distribute_dataset(Dataset.range(4))
    with pytest.raises(ValueError, match="distribute_datasets_from_function"):
        next(iter(distributed))
    with pytest.raises(ValueError, match="distribute_datasets_from_function"):
        distributed.element_spec  # noqa: B018
    dealt = strategy.distribute_datasets_from_function(lambda given: Dataset.range(4))
    assert [[0, 1], [2, 3]] == [parts(strategy, element) for element in dealt]
    with pytest.raises(ValueError, match="middle of a step"):
        list(strategy.distribute_datasets_from_function(lambda given: Dataset.range(3)))


def test_parts_of_different_length_are_refused():
    strategy = mirrored(2)
    with pytest.raises(ValueError, match="3, 2 examples"):
        list(strategy.experimental_distribute_dataset([(np.ones(3), np.ones(2))]))


def test_a_dataset_function_is_called_once_and_its_batches_are_dealt(any_backend, names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    calls = []

    def make(given):
        calls.append((given, tf.device_name(tf.constant(1.0))[-5:]))
        return Dataset.range(10).batch(given.get_per_replica_batch_size(4))

    dataset = strategy.distribute_datasets_from_function(make)

    assert [[[0, 1], [2, 3]], [[4, 5], [6, 7]], [[8, 9], []]] == [parts(strategy, element) for element in dataset]
    assert 3 == len(list(dataset))
    assert [(tf.distribute.InputContext(1, 0, 2), "CPU:0")] == calls


@pytest.mark.parametrize("made", [None, [1], 3])
def test_a_dataset_function_must_return_a_dataset(made):
    with pytest.raises(TypeError, match="expected a tf"):
        mirrored(2).distribute_datasets_from_function(lambda given: made)


@pytest.mark.parametrize(
    ("source", "stages", "ahead"),
    [
        (lambda d, p, w: GlobalBatches(d.stage, options(Policy.OFF), p, w), ["rebatch(3)", "prefetch(2)"], 2),
        (lambda d, p, w: GlobalBatches(d.unbatch().stage, options(Policy.OFF), p, w), ["rebatch(?)", "prefetch(2)"], 2),
        (lambda d, p, w: PerReplicaBatches(lambda given: d, p, w), ["prefetch(2)"], 2),
        (lambda d, p, w: OwnPipelines(lambda given: d, p), ["prefetch(1)"], 1),
    ],
)
def test_a_source_says_what_it_does_and_how_far_it_reads_ahead(source, stages, ahead):
    made = source(Dataset.range(12).batch(5), *worker(2, 1, 0))

    assert (stages, ahead) == (made.stages(), made.ahead)


def test_a_part_of_the_work_says_which_part():
    made = GlobalBatches(Dataset.range(12).batch(8).stage, options(Policy.OFF), *worker(2, 2, 1))

    assert ["rebatch(2)", "shard(2, 1)", "prefetch(4)"] == made.stages()


def test_only_workers_that_read_different_data_ask_each_other_whether_to_continue():
    asked = []
    placer, one = worker(1, 2, 0)
    together = InputWorker(
        one.pipelines, one.index, one.replicas, lambda kind, own: asked.append(own) or [own, "[[(2,)]]"]
    )
    data = Dataset.range(4).batch(2)
    divided = GlobalBatches(data.stage, options(Policy.DATA), placer, together)
    apart = GlobalBatches(data.stage, options(Policy.OFF), placer, together)
    dealt = PerReplicaBatches(lambda given: data, placer, together)

    assert not divided.any_worker_continues(None)
    assert [] == asked
    assert apart.any_worker_continues(None)
    assert dealt.any_worker_continues(np.arange(2))
    assert [None, "[[(2,)]]"] == asked
    assert (True, True) == together.any_continues(np.arange(2))
    assert (True, False) == together.any_continues(np.arange(3))


@pytest.mark.parametrize("local", [1, 2])
def test_a_step_of_nothing_has_the_shape_of_the_last_or_that_of_the_spec(local):
    data = Dataset.from_tensor_slices({"x": np.ones((4, 3), np.float32), "t": np.array([b"a"] * 4, object)}).batch(2)
    source = PerReplicaBatches(lambda given: data, *worker(local, 1, 0))
    last, _ = next(source.steps(Pass(source.stage)))
    for element, samples in (source.empty_step(None), source.empty_step(last)):
        pieces = [element] if local == 1 else [{k: v.values[i] for k, v in element.items()} for i in range(local)]
        assert [((0, 3), np.float32, (0,), object)] * local == [
            (piece["x"].shape, piece["x"].dtype, piece["t"].shape, piece["t"].dtype) for piece in pieces
        ]
        assert [range(0)] * local == samples


class Counted(Stage):
    """A stage that only says how many elements it has."""

    def __init__(self, total):
        super().__init__()
        self.total = total

    def cardinality(self):
        return self.total


@given(totals=generators.lists(generators.integers(-2, 9), min_size=1, max_size=4))
def test_datasets_abreast_are_as_long_as_the_longest_unless_one_has_no_known_end(totals):
    expected = min(totals) if min(totals) < 0 else max(totals)

    assert expected == Abreast(*map(Counted, totals)).cardinality()


@given(lengths=generators.lists(generators.integers(0, 9), min_size=2, max_size=4), size=generators.integers(1, 3))
@settings(max_examples=30)
def test_each_replica_gets_all_of_its_own_dataset_and_its_samples_are_numbered_step_by_step(lengths, size):
    source = OwnPipelines(
        lambda given: Dataset.range(lengths[given.input_pipeline_id]).batch(size), worker(len(lengths), 1, 0)[0]
    )
    steps = list(source.steps(Pass(source.stage)))
    got = [[x for element, _ in steps for x in element.values[i].tolist()] for i in range(len(lengths))]
    numbers = [number for _, samples in steps for part in samples for number in part]

    assert [list(range(length)) for length in lengths] == got
    assert list(range(sum(lengths))) == numbers
    assert all(len(part) == len(element.values[i]) for element, samples in steps for i, part in enumerate(samples))


def test_a_batch_that_does_not_divide_is_refused_where_it_has_to():
    source = GlobalBatches(Dataset.range(7).batch(4).stage, options(Policy.OFF), *worker(2, 1, 0), even=True)
    steps = source.steps(Pass(source.stage))

    assert [range(2), range(2, 4)] == next(steps)[1]
    with pytest.raises(ValueError, match=r"A batch of 3 examples .* 2 replicas; expected a multiple"):
        next(steps)
