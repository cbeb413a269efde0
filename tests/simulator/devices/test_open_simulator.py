"""Opening the simulator: which backend there is, and which options are refused."""

import pytest

import refdist as tf
import simulator
from refdist._core.seam.capabilities import Timed, capability
from simulator.devices.cluster_backend import ClusterBackend
from simulator.devices.open_simulator import open_simulator
from simulator.devices.simulator_backend import SimulatorBackend
from tests.simulator.star import STAR


def test_a_cluster_opens_a_backend_with_time_and_counts_one_without():
    plain, clustered = open_simulator(gpus=2), open_simulator(cluster=STAR)

    assert (SimulatorBackend, ClusterBackend) == (type(plain), type(clustered))
    assert capability(plain, Timed) is None
    assert clustered is capability(clustered, Timed)
    assert "simulator" == plain.name == clustered.name


def test_a_cluster_says_how_many_devices_there_are():
    for wrong in ({"cluster": STAR, "gpus": 2}, {"cluster": 4}):
        with pytest.raises(TypeError, match=r"expected a simulator.Cluster alone.*\. Leave the others out"):
            tf.use("simulator", **wrong)


def test_an_algorithm_must_be_known_and_possible():
    torus = simulator.Cluster.torus((2, 2), 1e9, 0.0)

    with pytest.raises(ValueError, match=r"is 'best'; expected auto.*\. Use one of these"):
        tf.use("simulator", cluster=STAR, algorithm="best")
    with pytest.raises(ValueError, match="one switch"):
        tf.use("simulator", cluster=torus, algorithm="in_switch")


def test_how_to_add_up_is_asked_of_a_cluster_only():
    for wrong in ("int32", "float16", "nothing", 3):
        with pytest.raises(ValueError, match="expected float32 or float64"):
            tf.use("simulator", cluster=STAR, accumulate=wrong)
    for option in ({"accumulate": "float32"}, {"algorithm": "ring"}):
        with pytest.raises(TypeError, match="without a cluster"):
            tf.use("simulator", gpus=2, **option)
