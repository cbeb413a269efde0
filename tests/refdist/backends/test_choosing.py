import pathlib
import tomllib

import pytest

import refdist as tf
from refdist._core.backends import choosing
from refdist._core.backends.choosing import current
from refdist._core.devices.machine import device_counts
from refdist._core.seam.capabilities import Clustered, required


def test_nothing_said_is_a_simulator_with_one_cpu():
    assert ("simulator", ["CPU:0"]) == (current().name, [device.short for device in current().devices()])


def test_use_chooses_for_the_process_and_using_for_a_block():
    tf.use("host", gpus=2)
    with tf.using("simulator", gpus=3):
        assert 3 == tf.distribute.MirroredStrategy().num_replicas_in_sync
    assert 2 == tf.distribute.MirroredStrategy().num_replicas_in_sync


def test_a_worker_of_a_cluster_keeps_devices_that_are_named_after_it_unless_a_block_has_chosen():
    tf.use("host")
    own = required(current(), Clustered, "A test").for_task("worker", 1, 1)
    with tf.using("host", cpus=2):
        choosing.stay_with(own)
    assert "/job:localhost/replica:0/task:0/device:CPU:0" == tf.constant(1.0).device
    choosing.stay_with(own)
    assert "/job:worker/replica:0/task:1/device:CPU:0" == tf.constant(1.0).device


@pytest.mark.parametrize(
    ("text", "devices"),
    [
        ("host", 1),
        ("host:gpus=2", 3),
        ("simulator:gpus=2,cpus=2", 4),
        ("simulator:tpus=2x2x2x2", 19),
        ("jax:cpus=4", 4),
    ],
)
def test_the_environment_chooses_from_outside(monkeypatch, text, devices):
    monkeypatch.setenv("REFDIST_BACKEND", text)

    assert (text.partition(":")[0], devices) == (current().name, len(current().devices()))


@pytest.mark.parametrize("text", ["host:gpus", "host:gpus=x", "host:gpus=-1", "host:gpus=2x"])
def test_a_choice_from_outside_that_cannot_be_read_is_refused(monkeypatch, text):
    monkeypatch.setenv("REFDIST_BACKEND", text)
    with pytest.raises(ValueError, match="expected a form such as"):
        current()


def test_an_unknown_backend_is_an_error_that_lists_them():
    with pytest.raises(ValueError, match="host, simulator, jax"):
        tf.use("gpu")


def test_a_backend_of_another_package_is_found_by_its_entry_point(monkeypatch):
    class Entry:
        name = "mine"

        def load(self):
            return lambda **options: choosing._open("host", options)

    groups = {"refdist.backends": [Entry()]}
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: groups.get(group, []))
    tf.use("mine", gpus=3)

    assert 3 == tf.distribute.MirroredStrategy().num_replicas_in_sync


def test_the_backends_that_are_built_in_are_offered_under_their_entry_points():
    offered = tomllib.loads((pathlib.Path(__file__).parents[3] / "pyproject.toml").read_text())["project"][
        "entry-points"
    ]

    assert choosing._BUILT_IN == offered["refdist.backends"]


@pytest.mark.parametrize("counts", [{"cpus": 0}, {"gpus": -1}, {"gpus": 1.5}, {"gpus": True}, {"tpus": "2"}])
def test_a_count_that_is_none_is_refused(counts):
    with pytest.raises(ValueError, match="expected an int"):
        device_counts(**counts)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", ["host", "simulator"])
@pytest.mark.parametrize(
    "counts",
    [{"gpus": 99_999_999_999}, {"cpus": 10**30}, {"tpus": 99_999_999_977}, {"tpus": (10**5, 10**5, 1, 2)}]
    + [{"cpus": 500_000, "gpus": 500_001}],
)
def test_more_devices_than_anybody_can_wait_for_are_refused(monkeypatch, name, counts):
    text = ",".join(f"{key}={'x'.join(map(str, n)) if isinstance(n, tuple) else n}" for key, n in counts.items())
    monkeypatch.setenv("REFDIST_BACKEND", f"{name}:{text}")
    monkeypatch.setattr(choosing, "_chosen", None)

    for choose in (lambda: tf.use(name, **counts), current):
        with pytest.raises(ValueError, match=r"asked for [\d,]+ devices; expected at most 1,000,000, .*\. Use fewer"):
            choose()


@pytest.mark.parametrize("tpus", [(2, 2), (1, 2, 2, 0), (1, 2, 2, True), -1, 1.5])
def test_a_mesh_that_is_none_is_refused(tpus):
    with pytest.raises(ValueError, match="tpus is"):
        device_counts(tpus=tpus)


def test_up_to_eight_cores_are_of_this_machine_and_more_of_several_hosts():
    assert ["CPU:0", "TPU:0", "TPU:1"] == [device.short for device in device_counts(tpus=2)]
    hosts = [(device.job, device.task, device.short) for device in device_counts(tpus=(1, 1, 6, 2))][1:]

    assert [("worker", task, name) for task in (0, 1) for name in ["CPU:0", *(f"TPU:{i}" for i in range(6))]] == hosts


def test_a_worker_has_the_cores_of_its_own_machine_only():
    with tf.using("host", tpus=8) as one, tf.using("host", tpus=16) as several:
        assert (1, 2, 2, 2) == one.for_task("worker", 1, 2).tpu_mesh().shape
        assert 0 == several.for_task("worker", 1, 2).tpu_mesh().size


def test_a_device_kind_that_is_none_is_refused():
    with pytest.raises(TypeError, match="npus"):
        device_counts(npus=1)


def test_the_default_strategy_is_one_object_per_backend():
    first = tf.distribute.get_strategy()
    with tf.using("host"):
        other = tf.distribute.get_strategy()

    assert first is tf.distribute.get_strategy() is not other


@pytest.mark.parametrize("name", [["simulator"], {}, None, 5])
def test_a_name_that_is_no_text_is_refused_with_the_names_there_are(name):
    with pytest.raises(ValueError, match="expected one of host, simulator, jax"), tf.using(name):
        pass
