"""What the resolver of SLURM says, as recorded with TensorFlow: see `resolver_questions.py`."""

import json
import pathlib
import subprocess

import pytest

import refdist as tf
from tests.refdist.clusters.resolver_questions import SLURM, STEP, slurm, step

RECORDED = json.loads((pathlib.Path(__file__).parents[2] / "fixtures" / "cluster_resolvers.json").read_text())
Resolver = tf.distribute.cluster_resolver.SlurmClusterResolver

# TensorFlow sorts the nodes by their names; the page says that tasks are packed in the order of SLURM, as SLURM does itself.
IN_THE_ORDER_OF_SLURM = {"ranges_of_nodes"}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    with monkeypatch.context() as patch:
        for name in ("SLURM_PROCID", "SLURMD_NODENAME", "CUDA_VISIBLE_DEVICES"):
            patch.setenv(name, "")  # so that it is restored, whatever the test does
            patch.delenv(name)
        for name in STEP:
            patch.setenv(name, "")
        yield patch


@pytest.mark.parametrize("name", [name for name in SLURM if name not in IN_THE_ORDER_OF_SLURM])
def test_answers_are_those_of_tensorflow(name):
    assert RECORDED[f"slurm:{name}"] == slurm(tf, name)


@pytest.mark.parametrize("name", IN_THE_ORDER_OF_SLURM)
def test_nodes_stay_in_the_order_of_slurm(name):
    ours, theirs = slurm(tf, name)["cluster"], RECORDED[f"slurm:{name}"]["cluster"]

    assert sorted(ours["worker"]) == theirs["worker"]
    assert ["node1:8888", "node1:8889", "node2:8888"] == ours["worker"][:3]
    assert "gpu7:8888" == ours["worker"][-1]


def set_step(environment, *given):
    for name, value in step(*given).items():
        environment.setenv(name, value)


def test_the_tenth_node_comes_after_the_ninth(environment):
    set_step(environment, 0, "n[9-10]", "1(x2)", 2)

    assert {"worker": ["n9:8888", "n10:8888"]} == Resolver(gpus_per_node=1).cluster_spec().as_dict()
    given = Resolver(gpus_per_node=1, tasks_per_node={"n10": 1, "n9": 1})
    assert {"worker": ["n9:8888", "n10:8888"]} == given.cluster_spec().as_dict()


def test_nodes_may_have_no_gpus(environment):
    # TensorFlow raises an error here, about an argument of range().
    set_step(environment, 1, "n[1-2]", "2(x2)", 4)
    resolver = Resolver(gpus_per_node=0)

    assert {"worker": ["n1:8888", "n1:8889", "n2:8888", "n2:8889"]} == resolver.cluster_spec().as_dict()
    assert {"GPU": 0} == resolver.num_accelerators()
    environment.setenv("CUDA_VISIBLE_DEVICES", "")
    assert {"GPU": 0} == Resolver().num_accelerators()


@pytest.mark.parametrize("listed", ["GPU 0: A100 (UUID: x)\nGPU 1: A100 (UUID: y)\n", ""])
def test_the_driver_is_asked_for_the_gpus(environment, listed):
    set_step(environment, 0, "n1", "1", 1)
    environment.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 0, stdout=listed))

    assert {"GPU": listed.count("GPU")} == Resolver().num_accelerators()


def test_a_driver_that_is_missing_is_an_error(environment):
    set_step(environment, 0, "n1", "1", 1)

    def run(command, **_):
        raise FileNotFoundError(command[0])

    environment.setattr(subprocess, "run", run)
    with pytest.raises(RuntimeError, match=r"expected one or the other.*gpus_per_node=0"):
        Resolver()


def test_tasks_that_were_dealt_out_in_another_way_are_refused(environment):
    set_step(environment, 1, "n[1-2]", "2(x2)", 4)
    environment.setenv("SLURMD_NODENAME", "n2")  # as with --distribution=cyclic
    with pytest.raises(RuntimeError, match=r"task 1 runs on n2.*expected n1.*--distribution=block"):
        Resolver(gpus_per_node=2).cluster_spec()
    environment.setenv("SLURMD_NODENAME", "elsewhere")  # under a name that tells nothing

    assert 4 == Resolver(gpus_per_node=2).cluster_spec().num_tasks("worker")


@pytest.mark.parametrize(
    ("variables", "given", "error"),
    [
        (("x", "n1", "1", 1), {}, ValueError),
        ((0, "n1", "1", "many"), {}, ValueError),
        ((1, "n1", "1", 1), {}, RuntimeError),
        ((0, "n[1-2]", "1", 2), {}, RuntimeError),
        ((0, "n1,n1", "1(x2)", 2), {}, RuntimeError),
        ((0, "n1", "1", 1), {"tasks_per_node": {}}, ValueError),
        ((0, "n1", "1", 1), {"tasks_per_node": -1}, ValueError),
    ],
)
def test_what_contradicts_itself_is_refused(environment, variables, given, error):
    set_step(environment, *variables)
    with pytest.raises(error, match="expected"):
        Resolver(gpus_per_node=1, **given)


def test_a_strategy_takes_its_task_from_it(environment):
    set_step(environment, 0, "n1", "1", 1)
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=Resolver(gpus_per_node=2))

        assert 2 == strategy.num_replicas_in_sync
        assert "/job:worker/replica:0/task:0/device:GPU:1" == strategy.extended.worker_devices[1]
