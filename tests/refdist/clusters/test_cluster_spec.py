import pytest

import refdist as tf


@pytest.mark.parametrize(
    "cluster", [3, {"worker": "a:1"}, {"worker": [1]}, {"worker": 3}, {"worker": {1: 3}}, {"worker": {"x": "a:1"}}]
)
def test_a_malformed_cluster_is_refused(cluster):
    with pytest.raises(TypeError, match="expected"):
        tf.train.ClusterSpec(cluster)


def test_the_indices_of_a_job_may_leave_some_out():
    spec = tf.train.ClusterSpec({"worker": {3: "d:1", 1: "b:1"}, "ps": {"0": "a:1"}})

    assert ([1, 3], 2) == (spec.task_indices("worker"), spec.num_tasks("worker"))
    assert [None, "b:1", None, "d:1"] == spec.job_tasks("worker")
    assert {"worker": {1: "b:1", 3: "d:1"}, "ps": ["a:1"]} == spec.as_dict()
    assert "ClusterSpec({'worker': {1: 'b:1', 3: 'd:1'}, 'ps': ['a:1']})" == repr(spec)
    assert ("b:1", "d:1") == (spec.task_address("worker", 1), spec.task_address("worker", 3))
    assert spec == tf.train.ClusterSpec(spec)
    assert spec != tf.train.ClusterSpec({"worker": ["b:1", "d:1"], "ps": ["a:1"]})
    for absent in (0, 2, 9, -1):
        with pytest.raises(ValueError, match="expected one of 1, 3"):
            spec.task_address("worker", absent)
    with pytest.raises(ValueError, match="expected one of worker, ps"):
        spec.task_indices("chief")


def test_a_spec_is_equal_to_its_tasks_by_index():
    assert tf.train.ClusterSpec({"worker": ["a:1"]}) == {"worker": {0: "a:1"}}
