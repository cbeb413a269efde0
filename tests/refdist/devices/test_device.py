import contextlib

import pytest

import refdist as tf
from refdist._core.devices.device import Device, resolve, resolve_all

FULL = "/job:localhost/replica:0/task:0/device:GPU:1"


@pytest.mark.parametrize(
    "spelling",
    [
        "gpu:1",
        "GPU:1",
        "/gpu:1",
        "/GPU:1",
        "/device:GPU:1",
        "device:gpu:1",
        FULL,
        "/task:0/device:GPU:1",
        "/job:localhost/gpu:1",
    ],
)
def test_every_spelling_means_the_same_device(spelling):
    assert FULL == Device(spelling)


def test_job_and_task_are_kept():
    device = Device("/job:worker/replica:0/task:3/device:CPU:2")

    assert ("worker", 3, "CPU", 2) == (device.job, device.task, device.kind, device.number)


def test_a_kind_without_a_number_is_its_first_device():
    assert "/job:localhost/replica:0/task:0/device:CPU:0" == Device("cpu")


@pytest.mark.parametrize("spelling", ["", "GPU:", "GPU:x", ":0", "/job:/gpu:0", "GPU:0:1", "GPU 0", None, 3])
def test_what_is_no_device_is_refused(spelling):
    with pytest.raises(ValueError, match="expected a name such as"):
        Device(spelling)


def test_an_unknown_device_is_an_error_that_lists_the_devices():
    with pytest.raises(ValueError, match="CPU:0, GPU:0"):
        resolve("GPU:7", (Device("CPU:0"), Device("GPU:0")))


def test_a_long_list_of_devices_is_cut():
    with pytest.raises(ValueError, match=r"100 devices there are: .*GPU:15, \.\.\."):
        resolve_all(["GPU:100"], [Device(f"GPU:{index}") for index in range(100)])


def placed(*names):
    with contextlib.ExitStack() as scopes:
        for name in names:
            scopes.enter_context(tf.device(name))
        return tf.constant(1.0).device, tf.Variable(1.0).device


HERE, SERVER = "/job:localhost/replica:0/task:0/device:", "/job:ps/replica:0/task:1/device:"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["/job:localhost"], f"{HERE}CPU:0"),
        (["/job:localhost/task:0"], f"{HERE}CPU:0"),
        (["/task:0"], f"{HERE}CPU:0"),
        (["/replica:0"], f"{HERE}CPU:0"),
        ([""], f"{HERE}CPU:0"),
        (["/device:CPU:*"], f"{HERE}CPU:0"),
        (["/device:CPU:2", "/job:localhost"], f"{HERE}CPU:2"),
        (["/device:CPU:2", "/task:0"], f"{HERE}CPU:2"),
        (["/device:CPU:2", ""], f"{HERE}CPU:2"),
        (["/job:localhost", "/device:CPU:3"], f"{HERE}CPU:3"),
        (["/job:localhost/task:0/device:CPU:2", "/device:CPU:1"], f"{HERE}CPU:1"),
        (["/job:ps/task:1"], f"{SERVER}CPU:0"),
        (["/job:ps/task:1/device:CPU:0"], f"{SERVER}CPU:0"),
        (["/job:ps/task:1", "/device:CPU:0"], f"{SERVER}CPU:0"),
        (["/job:ps", "/task:1"], f"{SERVER}CPU:0"),
        (["/job:ps/task:1", None], f"{HERE}CPU:0"),
        (["/job:ps/task:1", "/job:localhost"], f"{HERE}CPU:0"),
        (["/job:ps/task:1", "CPU:2"], f"{HERE}CPU:2"),
    ],
)
def test_what_a_name_leaves_out_is_as_in_the_outer_scope(names, expected):
    with tf.using("host", cpus=4):
        spec = tf.train.ClusterSpec({"worker": ["w:1"], "ps": ["p:1", "p:2"]})
        tf.distribute.ParameterServerStrategy(tf.distribute.cluster_resolver.SimpleClusterResolver(spec))

        assert (expected, expected) == placed(*names)


@pytest.mark.parametrize("names", [["/job:ps/task:1"], ["/device:CPU:1", "/job:ps"], ["/task:3"], [3], ["nonsense:"]])
def test_a_task_that_is_not_there_is_told(names):
    with tf.using("host", cpus=2), pytest.raises(ValueError, match="expected"):
        placed(*names)


def test_devices_that_were_listed_are_names_too(any_backend):
    listed = tf.config.list_logical_devices()
    one, other = listed[1:3]

    assert [full(one), full(other)] == list(tf.distribute.MirroredStrategy([one, other]).extended.worker_devices)
    assert (full(other),) == tf.distribute.OneDeviceStrategy(other).extended.worker_devices
    central = tf.distribute.experimental.CentralStorageStrategy([one, other], other)
    assert [full(other)] == list(central.extended.parameter_devices)
    with tf.device(other):
        assert full(other) == tf.device_name(tf.constant(1.0))
    with pytest.raises(ValueError, match="physical_device"):
        tf.distribute.OneDeviceStrategy(tf.config.list_physical_devices()[0])


def full(listed):
    return f"{HERE}{listed.name.removeprefix('/device:')}"
