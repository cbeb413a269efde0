import os
import sys

import pytest
from jax._src import clusters

from refdist._core.clusters.membership import Membership, found
from refdist._core.processes.detection import Detected, detected

POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "JOB_COMPLETION_INDEX": "2"}
SLURM = {
    "SLURM_JOB_ID": "1",
    "SLURM_STEP_NODELIST": "n1",
    "SLURM_NTASKS": "1",
    "SLURM_PROCID": "0",
    "SLURM_LOCALID": "0",
}


def answering(monkeypatch, cluster, **answers):
    asked = []
    for name, answer in answers.items():

        def method(answer=answer, name=name, **given):
            asked.append((name, given))
            return answer

        monkeypatch.setattr(cluster, name, method)
    return asked


def test_the_variables_that_jax_sees_are_those_that_are_given():
    before = dict(os.environ)

    assert detected("SLURM", {}, None, 60) is None
    assert Detected(None, 0, 1, 0) == detected("SLURM", SLURM, None, 60)
    assert before == dict(os.environ)
    with pytest.raises(ValueError, match="invalid literal"):
        detected("SLURM", {**SLURM, "SLURM_PROCID": "x"}, None, 60)
    assert before == dict(os.environ)


def test_the_pods_of_an_indexed_job_are_what_jax_finds(monkeypatch):
    asked = answering(
        monkeypatch,
        clusters.K8sCluster,
        is_env_present=True,
        get_process_count=4,
        get_process_id=2,
        get_coordinator_address="job-0.service:55527",
    )

    assert Membership("job-0.service:55527", 2, 4, None, "Kubernetes") == found(POD, timeout_seconds=7)
    assert ("get_coordinator_address", {"timeout_secs": 7, "override_coordinator_port": None}) == asked[-1]


def test_pods_without_the_package_say_so_without_a_warning(monkeypatch):
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(RuntimeError, match=r"JOB_COMPLETION_INDEX=2.*pip install kubernetes.*WORLD_SIZE=1"):
        found(POD)


def test_the_hosts_of_a_tpu_pod_are_what_jax_finds(monkeypatch):
    hosts = {"TPU_WORKER_HOSTNAMES": "a,b", "TPU_WORKER_ID": "1"}
    given = {"get_coordinator_address": "a:8482", "get_process_count": 2, "get_process_id": 1}

    assert found(hosts) is None, "a machine without TPUs"
    answering(monkeypatch, clusters.GceTpuCluster, is_env_present=True, **given)
    assert Membership("a:8482", 1, 2, None, "Cloud TPU") == found(hosts)
    answering(monkeypatch, clusters.GkeTpuCluster, is_env_present=True, **{**given, "get_process_id": 0})
    assert 0 == found(hosts).index


def test_a_host_that_is_alone_asks_for_no_address(monkeypatch):
    asked = answering(
        monkeypatch,
        clusters.GkeTpuCluster,
        is_env_present=True,
        get_process_count=1,
        get_process_id=0,
        get_coordinator_address="a:1",
    )

    assert Membership(None, 0, 1, None, "Cloud TPU") == found({"TPU_WORKER_ID": "0"})
    assert "get_coordinator_address" not in dict(asked)


def test_numbers_that_make_no_sense_are_refused(monkeypatch):
    answering(monkeypatch, clusters.GkeTpuCluster, is_env_present=True, get_process_count=1, get_process_id=1)
    with pytest.raises(RuntimeError, match=r"process 1 of 1 \(TPU_WORKER_ID=1\); expected"):
        found({"TPU_WORKER_ID": "1"})
