import pytest

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
