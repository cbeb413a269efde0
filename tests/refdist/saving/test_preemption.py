import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist.cluster import run_workers
from tests.refdist.saving import preempted_program

STEPS = 6
Config = tf.distribute.experimental.TerminationConfig
Handler = tf.distribute.experimental.PreemptionCheckpointHandler


def calls_of(handler):
    with pytest.warns(DeprecationWarning, match="total_run_calls is deprecated"):
        return handler.total_run_calls


def trainer(folder, notices, alternative=False, own_folders=False, **config):
    """Make the program of a worker that learns after the step in `notices` that it is to be ended, if there is one for it."""

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy()
        dataset = tf.data.Dataset.range(24).shuffle(24, seed=3).batch(4)
        options = tf.data.Options()
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
        iterator = iter(strategy.experimental_distribute_dataset(dataset.with_options(options)))
        step = tf.Variable(0)
        with strategy.scope():
            weight = tf.Variable(np.float64(0.0), aggregation=tf.VariableAggregation.SUM)
        checkpoint = tf.train.Checkpoint(weight=weight, step=step, iterator=iterator)
        watcher = Config(lambda: int(step) == notices.get(index), **config)
        where = os.path.join(folder, f"worker_{index}") if own_folders else str(folder)
        handler = Handler(strategy.cluster_resolver, checkpoint, where, watcher)

        def train():
            step.assign_add(1)
            return strategy.run(
                lambda x: weight.assign_add(np.sum(np.asarray(x) * 1.1) / int(step)), args=(next(iterator),)
            )

        with handler.watch_preemption_scope():
            while int(step) < STEPS:
                if alternative:
                    train()
                    handler.save_checkpoint_if_preempted()
                else:
                    handler.run(train)
        return weight.numpy().tobytes(), calls_of(handler), int(checkpoint.save_counter)

    return program


def started(count, *arguments, **options):
    with tf.using("simulator", gpus=1):
        return run_workers(trainer(*arguments, **options), count)


@settings(max_examples=12)
@given(
    count=generators.integers(1, 3),
    steps=generators.lists(generators.integers(1, STEPS - 1), min_size=1, max_size=2, unique=True),
    data=generators.data(),
)
def test_a_notice_for_any_worker_has_all_of_them_save_once_and_go_on_where_they_were(
    tmp_path_factory, count, steps, data
):
    whole = started(count, tmp_path_factory.mktemp("whole"), {})
    folder = tmp_path_factory.mktemp("kept")
    alternative, own = data.draw(generators.booleans()), data.draw(generators.booleans())
    for done, step in enumerate(sorted(steps), 1):
        notices = {data.draw(generators.integers(0, count - 1)): step}
        with pytest.raises(SystemExit) as left:
            started(count, folder, notices, alternative=alternative, own_folders=own)
        assert 42 == left.value.code
        at = os.path.join(folder, "worker_0") if own else str(folder)
        assert (step, done) == (tf.train.load_variable(at, "step"), tf.train.load_variable(at, "save_counter"))
        assert [f"ckpt-{number}.safetensors" for number in range(1, done + 1)] == sorted(os.listdir(at))[1:]
    again = started(count, folder, {}, alternative=alternative, own_folders=own)

    missed = len(steps) if alternative else 0  # the call that has ended the program came after its step
    assert [(weight, STEPS - missed, len(steps)) for weight, _, _ in whole] == again


def test_an_exit_fn_that_does_not_end_the_program_lets_it_train_on(tmp_path):
    ended = []
    results = started(2, tmp_path, {1: 3}, exit_fn=lambda: ended.append(tf.train.load_variable(str(tmp_path), "step")))

    assert [3, 3] == ended
    assert [(STEPS, 1)] * 2 == [one[1:] for one in results]


def test_a_save_fn_saves_on_every_worker_before_any_ends(tmp_path):
    saved = []
    with pytest.raises(SystemExit):
        started(3, tmp_path, {2: 4}, save_fn=lambda: saved.append(1))

    assert ([1] * 3, False) == (saved, os.path.exists(tmp_path / "checkpoint"))


class Clock:
    def __init__(self, monkeypatch):
        self.now = 1_000_000.0
        monkeypatch.setattr(time, "time", lambda: self.now)


def test_a_grace_period_is_used_for_training_until_shortly_before_its_end(tmp_path, monkeypatch):
    clock, step, saved = Clock(monkeypatch), tf.Variable(0), []
    config = Config(
        lambda: int(step) == 3,
        grace_period=100,
        save_fn=lambda: saved.append(int(step)),
        exit_fn=lambda: saved.append("end"),
    )
    handler = Handler(None, tf.train.Checkpoint(step=step), str(tmp_path), config)

    def train():
        clock.now += 10
        step.assign_add(1)

    for _ in range(12):
        handler.run(train)

    # The notice came after the step 2 at the earliest, at 20 s; of the 100 s after it, those of six steps are kept back.
    assert [3, 6, "end"] == saved


def test_a_manager_saves_although_its_interval_has_not_passed_and_what_it_saves_itself_has_the_count(tmp_path):
    def made(notice):
        step = tf.Variable(0)
        manager = tf.train.CheckpointManager(
            tf.train.Checkpoint(step=step), str(tmp_path), 5, step_counter=step, checkpoint_interval=4
        )
        handler = Handler(None, manager, termination_config=Config(lambda: int(step) == notice, exit_fn=lambda: None))
        return step, manager, handler

    step, manager, handler = made(6)
    for _ in range(7):
        handler.run(step.assign_add, 1)
        manager.save()
    again, _, later = made(0)

    assert ["ckpt-1", "ckpt-2", "ckpt-3"] == [os.path.basename(path) for path in manager.checkpoints]
    assert [1, 5, 6] == [tf.train.load_variable(path, "step") for path in manager.checkpoints]
    assert [1, 5, 6] == [tf.train.load_variable(path, "checkpointed_runs") for path in manager.checkpoints]
    assert (6, 6) == (int(again), calls_of(later))
    assert "done with 2, 3" == later.run(lambda x, *, y: f"done with {x}, {y}", 2, y=3)


def test_what_is_given_to_save_reaches_it(tmp_path):
    step = tf.Variable(0)
    config = Config(lambda: True, exit_fn=lambda: None)
    handler = Handler(None, tf.train.Checkpoint(step=step), tmp_path, config)
    handler.save_checkpoint_if_preempted(checkpoint_number=17)

    assert str(tmp_path / "ckpt-17") == tf.train.latest_checkpoint(str(tmp_path))


def test_wrong_arguments_are_told(tmp_path):
    checkpoint = tf.train.Checkpoint(step=tf.Variable(0))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"no checkpoint_dir; expected both"):
        Handler(None, checkpoint)
    with pytest.raises(TypeError, match=r"expected a tf\.train\.Checkpoint or"):
        Handler(None, 3, str(tmp_path))
    cluster = tf.train.ClusterSpec({"ps": ["a:1"], "worker": ["b:1"]})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(cluster)
    with pytest.raises(NotImplementedError, match=r"parameter servers; expected"):
        Handler(resolver, checkpoint, str(tmp_path))


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What a program prints that gets real signals, by the starts that it consists of."""
    command = [sys.executable, preempted_program.__file__, str(tmp_path_factory.mktemp("signals"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    parts, lines = {}, []
    for name, *said in map(json.loads, done.stdout.splitlines()):
        lines.append([name, *said])
        if name in {"first", "second", "third", "restored", "in a thread", "with grace", "own code"}:
            parts[name], lines = [*lines[:-1], said[0]], []
    return parts


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("first", [["started", 0, 0], 42]),
        ("second", [["started", 2, 2], 42]),
        ("third", [["started", 5, 5], ["trained", 6], 0]),
        ("with grace", [["started", 0, 0], 42]),
        ("own code", [["started", 0, 0], 7]),
    ],
)
def test_sigterm_ends_a_program_with_the_documented_code_and_it_goes_on_when_it_is_started_again(told, part, said):
    assert said == told[part]


def test_the_handler_of_signals_from_before_is_back_when_the_program_trains_on_or_forgets_ours(told):
    assert [
        ["started", 0, 0],
        ["left", True],
        ["trained", 6],
        ["started", 3, 3],
        ["trained", 6],
        ["forgotten", True],
        ["the handler from before", 15],
        0,
    ] == told["restored"]


def test_signals_are_watched_for_in_the_main_thread_only(told):
    (_, words), code = told["in a thread"]

    assert all(
        part in words for part in ("the thread 'Thread-1", "; expected the main thread", "termination_watcher_fn")
    )
    assert 0 == code
