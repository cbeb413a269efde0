import pytest

from refdist._core.launching.worker_environment import TooFewDevices, device_settings

GPUS = "CUDA_VISIBLE_DEVICES"
HOST = {"REFDIST_BACKEND": "host"}  # what is chosen stays


@pytest.fixture
def three_gpus(tmp_path):
    for name in ("0000:01:00.0", "0000:02:00.0", "0000:03:00.0"):
        (tmp_path / name).mkdir()
    return tmp_path


def test_without_gpus_only_devices_of_the_cpu_are_set(tmp_path):
    assert [{}, {}] == device_settings(2, None, HOST, tmp_path)
    both = {"JAX_NUM_CPU_DEVICES": "3", "REFDIST_DEVICES_PER_WORKER": "3"}
    assert [both, both] == device_settings(2, 3, HOST, tmp_path)


def test_programs_that_choose_no_backend_run_on_jax(tmp_path):
    assert ["jax:cpus=1"] * 2 == [own["REFDIST_BACKEND"] for own in device_settings(2, None, {}, tmp_path)]
    assert ["jax:cpus=3"] == [own["REFDIST_BACKEND"] for own in device_settings(1, 3, {}, tmp_path)]


def test_the_gpus_of_the_machine_are_shared_out(three_gpus):
    assert [{GPUS: "0,1,2"}] == device_settings(1, None, HOST, three_gpus)
    assert [{GPUS: "0"}, {GPUS: "1"}] == device_settings(2, None, HOST, three_gpus)
    assert [{GPUS: "0"}, {GPUS: "1"}] == device_settings(2, None, {"JAX_PLATFORMS": "cuda,cpu", **HOST}, three_gpus)


def test_the_gpus_that_are_visible_are_shared_out(three_gpus):
    own = device_settings(2, 2, {GPUS: "7, 5,3,1,"}, three_gpus)

    assert ["7,5", "3,1"] == [each[GPUS] for each in own]


@pytest.mark.parametrize("environment", [{"JAX_PLATFORMS": "cpu"}, {GPUS: ""}])
def test_who_wants_no_gpus_gets_none(three_gpus, environment):
    assert [{}] * 8 == device_settings(8, None, {**HOST, **environment}, three_gpus)


@pytest.mark.parametrize(("workers", "each"), [(4, None), (2, 2)])
def test_too_few_gpus_are_an_error(three_gpus, workers, each):
    with pytest.raises(
        TooFewDevices, match=rf"got {workers} workers .* 3 GPUs \(0, 1, 2\); expected .* JAX_PLATFORMS=cpu"
    ):
        device_settings(workers, each, {}, three_gpus)
