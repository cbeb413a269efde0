"""The options of communication of MultiWorkerMirroredStrategy; what the workers do is in tests/refdist/clusters/test_workers.py."""

import numpy as np
import pytest

import refdist as tf
import simulator
from refdist._core.strategies.extended import EagerExtended

experimental = tf.distribute.experimental
Options = experimental.CommunicationOptions
AUTO, RING, NCCL = experimental.CommunicationImplementation
STAR = simulator.Cluster.star(8, bandwidth_bytes_per_second=1e9, latency_seconds=1e-4)


def communication(make):
    with tf.using("simulator", gpus=1):
        return make().extended.plan.communication


def test_a_strategy_keeps_its_options():
    options = Options(1024, 60.0, "ring")

    assert options is communication(lambda: tf.distribute.MultiWorkerMirroredStrategy(communication_options=options))
    assert Options() == communication(tf.distribute.MultiWorkerMirroredStrategy)
    assert Options() == communication(tf.distribute.MirroredStrategy)


@pytest.mark.parametrize(
    "module", [experimental, tf.compat.v1.distribute.experimental], ids=["experimental", "compat.v1"]
)
@pytest.mark.parametrize(("given", "implementation"), [((), AUTO), ((RING,), RING), (("nccl",), NCCL)])
def test_the_older_names_take_an_implementation(module, given, implementation):
    made = communication(lambda: module.MultiWorkerMirroredStrategy(*given))

    assert Options(implementation=implementation) == made


@pytest.mark.parametrize("wrong", [{}, RING, "ring", 3])
def test_options_of_another_kind_are_refused(wrong):
    with pytest.raises(ValueError, match=r"expected .*CommunicationOptions"):
        communication(lambda: tf.distribute.MultiWorkerMirroredStrategy(communication_options=wrong))


@pytest.mark.parametrize("wrong", [None, 3, "mpi", Options()])
def test_implementations_of_another_kind_are_refused(wrong):
    with pytest.raises(ValueError, match="expected one of AUTO, RING, NCCL"):
        communication(lambda: experimental.MultiWorkerMirroredStrategy(wrong))


def test_nccl_without_gpus_is_told():
    with tf.using("simulator", cpus=1), pytest.warns(UserWarning, match="NCCL, and has a CPU; expected GPUs"):
        tf.distribute.MultiWorkerMirroredStrategy(communication_options=Options(implementation=NCCL))


def taken(options, size, mode=lambda body: body, of_call=None):
    """How long 2 workers with 4 GPUs each take to add up two tensors of so many numbers, and what comes of it."""

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)

        def body():
            given = [tf.ones([size]), tf.ones([size])]
            return tf.distribute.get_replica_context().all_reduce("sum", given, options=of_call)

        step = mode(lambda: strategy.run(body))
        step()
        before = simulator.now()
        parts = strategy.experimental_local_results(step()[0])
        assert [part.device for part in parts] == list(strategy.extended.worker_devices)
        return simulator.now() - before, np.asarray(parts[0]).max()

    with tf.using("simulator", cluster=STAR):
        (one, total), (other, _) = tf.cluster.run_workers(program, 2)
    assert (one, total) == (pytest.approx(other), 8.0)
    return one


@pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
def test_nccl_takes_a_tree_for_what_is_small_and_a_ring_for_what_is_large(mode):
    small, large = 2, 1 << 20
    times = {
        (implementation, size): taken(Options(implementation=implementation), size, mode)
        for implementation in (AUTO, RING, NCCL)
        for size in (small, large)
    }

    for size in (small, large):
        ring, tree = (simulator.predict_all_reduce(STAR, 4 * size, name).seconds for name in ("ring", "double_tree"))
        assert 2 * ring == pytest.approx(times[AUTO, size], rel=1e-3) == pytest.approx(times[RING, size], rel=1e-3)
        assert 2 * min(ring, tree) == pytest.approx(times[NCCL, size], rel=1e-3)
    assert times[NCCL, small] < times[RING, small]


def test_the_options_of_a_call_win_over_those_of_the_strategy():
    packed = taken(Options(bytes_per_pack=100), 2)

    assert 2 * packed == pytest.approx(taken(Options(), 2), rel=1e-3)
    assert packed == pytest.approx(taken(Options(), 2, of_call=Options(bytes_per_pack=100)), rel=1e-3)
    assert packed == pytest.approx(
        taken(Options(bytes_per_pack=100), 2, of_call=Options(timeout_seconds=1.0)), rel=1e-3
    )
    assert 2 * packed == pytest.approx(
        taken(Options(bytes_per_pack=100), 2, of_call=Options(bytes_per_pack=1)), rel=1e-3
    )
    quick = taken(Options(implementation="ring"), 2, of_call=Options(implementation="nccl"))
    assert taken(Options(implementation="nccl"), 2) == pytest.approx(quick)


def test_workers_meet_once_for_several_reductions(monkeypatch):
    kinds = []
    whole = EagerExtended.from_all_workers

    def noted(self, kind, payloads, options=None):
        kinds.append((kind, options))
        return whole(self, kind, payloads, options)

    def program(index):
        strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=Options(timeout_seconds=9.0))
        value = strategy.run(lambda: tf.constant([1.0 + index]))
        pairs = [(value, "CPU:0"), (value, value), (value, "CPU:0")]
        found = strategy.extended.batch_reduce_to("sum", pairs, options=Options(timeout_seconds=5.0))
        strategy.run(lambda: tf.distribute.get_replica_context().all_gather(tf.ones([1]), 0, options=Options(8)))
        return [float(np.asarray(strategy.experimental_local_results(one)[0])[0]) for one in found]

    monkeypatch.setattr(EagerExtended, "from_all_workers", noted)
    with tf.using("simulator", gpus=2):
        results = tf.cluster.run_workers(program, 2)

    assert [[6.0, 6.0, 6.0]] * 2 == results
    waits = {("reduce(SUM) of 3 values", Options(timeout_seconds=5.0)), ("all_gather(axis=0)", Options(8, 9.0))}
    assert waits == set(kinds)
    assert 4 == len(kinds)
