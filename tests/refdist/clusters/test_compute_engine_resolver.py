"""What the resolver of Google Compute Engine says, as recorded with TensorFlow: see `resolver_questions.py`."""

import json
import pathlib
import sys
import types

import pytest

import refdist as tf
from tests.refdist.clusters.resolver_questions import COMPUTE_ENGINE, Service, compute_engine

RECORDED = json.loads((pathlib.Path(__file__).parents[2] / "fixtures" / "cluster_resolvers.json").read_text())
Resolver = tf.distribute.cluster_resolver.GCEClusterResolver


@pytest.mark.parametrize("name", COMPUTE_ENGINE)
def test_answers_are_those_of_tensorflow(name):
    assert RECORDED[f"gce:{name}"] == compute_engine(tf, name)


def test_running_instances_of_the_group_are_asked_for():
    service = Service([{"a": "10.0.0.1"}])
    Resolver("my-project", "my-zone", "my-group", 8470, service=service).cluster_spec()

    where = {"project": "my-project", "zone": "my-zone"}
    listed = {**where, "instanceGroup": "my-group", "body": {"instanceState": "RUNNING"}, "orderBy": "name"}
    assert [listed, ("my-project", "my-zone", "a")] == service.asked


def test_a_group_without_running_instances_is_an_error():
    with pytest.raises(RuntimeError, match="'my-group' has no running instance"):
        Resolver("p", "z", "my-group", 8470, service=Service([{}])).cluster_spec()


def test_the_index_may_be_set_later_but_not_the_job():
    resolver = Resolver("p", "z", "group", 8470, service=Service([{"a": "10.0.0.1", "b": "10.0.0.2"}]))
    resolver.task_id, resolver.rpc_layer = 1, "http"

    assert "http://10.0.0.2:8470" == resolver.master()
    with pytest.raises(RuntimeError, match="expected it to stay 'worker'"):
        resolver.task_type = "ps"


@pytest.mark.parametrize(("given", "passed"), [({}, None), ({"credentials": "mine"}, "mine")])
def test_a_service_is_made_with_the_credentials(monkeypatch, given, passed):
    asked = []

    def build(*names, credentials):
        asked.append((*names, credentials))
        return Service([{"a": "10.0.0.1"}])

    discovery = types.SimpleNamespace(build=build)
    monkeypatch.setitem(sys.modules, "googleapiclient", types.SimpleNamespace(discovery=discovery))
    monkeypatch.setitem(sys.modules, "googleapiclient.discovery", discovery)

    assert "grpc://10.0.0.1:8470" == Resolver("p", "z", "group", 8470, **given).master()
    assert [("compute", "v1", passed)] == asked


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "googleapiclient", None)
    with pytest.raises(ImportError, match="pip install google-api-python-client"):
        Resolver("p", "z", "group", 8470)
