"""What the resolver of Kubernetes says, as recorded with TensorFlow: see `resolver_questions.py`."""

import json
import pathlib
import sys
import types

import pytest

import refdist as tf
from tests.refdist.clusters.resolver_questions import KUBERNETES, Client, kubernetes

RECORDED = json.loads((pathlib.Path(__file__).parents[2] / "fixtures" / "cluster_resolvers.json").read_text())
resolvers = tf.distribute.cluster_resolver
Resolver, Location = resolvers.KubernetesClusterResolver, resolvers.KubernetesExecutableLocation

EMPTY = "a_label_of_no_pods"  # TensorFlow answers with a job of no tasks, with which a strategy would train alone


@pytest.mark.parametrize("name", [name for name in KUBERNETES if name != EMPTY])
def test_answers_are_those_of_tensorflow(name):
    assert RECORDED[f"kubernetes:{name}"] == kubernetes(tf, name)


def test_a_label_that_selects_no_pod_is_an_error():
    assert "RuntimeError" == kubernetes(tf, EMPTY)


def test_the_task_is_what_the_user_says():
    resolver = Resolver(override_client=Client(KUBERNETES["pods_by_name"][0]))
    resolver.task_type, resolver.task_id = "worker", 1

    assert "grpc://10.1.2.4:8470" == resolver.master()


def test_two_pods_on_one_host_are_refused():
    pods = {"job-name=tensorflow": [("a", "Running", "10.1.2.3"), ("b", "Running", "10.1.2.3")]}
    with pytest.raises(RuntimeError, match=r"10\.1\.2\.3:8470.*expected one pod on each host"):
        Resolver(override_client=Client(pods)).cluster_spec()


@pytest.mark.parametrize(
    ("location", "loaded"),
    [(Location.WITHIN_CLUSTER, "load_incluster_config"), (Location.OFF_CLUSTER, "load_kube_config")],
)
def test_credentials_are_those_of_the_place(monkeypatch, location, loaded):
    calls, made = [], types.SimpleNamespace
    config = made(**{n: (lambda n=n: calls.append(n)) for n in ("load_incluster_config", "load_kube_config")})
    client = made(CoreV1Api=lambda: Client(KUBERNETES["the_default_label"][0]))
    monkeypatch.setitem(sys.modules, "kubernetes", made(config=config, client=client))
    resolver = Resolver(executable_location=location)

    assert {"worker": ["10.1.2.3:8470"]} == resolver.cluster_spec().as_dict()
    assert [loaded] == calls


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "kubernetes", None)
    with pytest.raises(ImportError, match="pip install kubernetes"):
        Resolver()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"executable_location": "off"}, ValueError),
        ({"job_to_label_mapping": {"worker": "job-name=x"}}, TypeError),
        ({"job_to_label_mapping": ["job-name=x"]}, TypeError),
    ],
)
def test_malformed_arguments_are_refused(given, error):
    with pytest.raises(error, match="expected"):
        Resolver(override_client=Client({}), **given)
