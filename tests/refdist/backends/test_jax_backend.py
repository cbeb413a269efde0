"""The seam on JAX's devices: what they are called, what JAX would change silently, and where values without a device go."""

import jax
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as generators
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

import refdist as tf
from refdist._core.backends.jax_backend import JaxBackend
from refdist._core.devices.device import Device

BACKEND = JaxBackend(cpus=8)


def test_more_devices_than_jax_started_with_are_refused():
    with pytest.raises(RuntimeError, match="already started"):
        JaxBackend(cpus=64)


def test_tasks_are_spread_over_the_devices_of_this_machine():
    connected = JaxBackend(cpus=4)
    tasks = [Device(f"/job:ps/task:{index}/device:CPU:0") for index in range(6)]
    connected.connect(tasks)
    places = [connected.device_of(connected.put(np.ones(1), task)).short for task in tasks]

    assert ["CPU:0", "CPU:1", "CPU:2", "CPU:3", "CPU:0", "CPU:1"] == places


def test_an_array_that_somebody_else_spread_has_no_device():
    sharding = NamedSharding(Mesh(jax.devices()[:2], "x"), PartitionSpec("x"))
    with pytest.raises(ValueError, match="lies on"):
        JaxBackend(cpus=8).device_of(jax.device_put(jax.numpy.ones(2), sharding))


def test_the_compiler_is_asked_for_the_layout_where_the_mesh_has_axes_for_it():
    types = (AxisType.Auto,) * 2
    with jax.sharding.set_mesh(Mesh(np.array(jax.devices()[:4]).reshape(2, 2), ("l0", "l1"), axis_types=types)):
        step = jax.jit(lambda x: BACKEND.lay_out(x + 1, BACKEND.devices()[:4], [2, 1, 2]))
        result = step(np.zeros((2, 3, 4), np.float32))

    assert {(1, 3, 2)} == {shard.data.shape for shard in result.addressable_shards}
    assert result.sum() == 24


def test_text_is_refused_because_jax_has_no_strings():
    with pytest.raises(TypeError, match="text"):
        BACKEND.put("abc", None)


@pytest.mark.parametrize(("told", "count"), [("3", 3), ("", 1), ("0", 1), ("many", 1)])
def test_a_launched_worker_has_as_many_cpus_as_the_launcher_was_told(monkeypatch, told, count):
    monkeypatch.setenv("REFDIST_DEVICES_PER_WORKER", told)

    assert count == sum(device.kind == "CPU" for device in JaxBackend().devices())


@pytest.mark.parametrize("cpus", [0, -1, "2", True])
def test_a_count_that_is_none_is_refused(cpus):
    with pytest.raises(ValueError, match="cpus"):
        JaxBackend(cpus=cpus)


@pytest.mark.parametrize("options", [{"gpus": -1}, {"gpus": True}, {"tpus": (2, 2)}, {"tpus": ()}])
def test_a_count_of_accelerators_that_is_none_is_refused(options):
    with pytest.raises(ValueError, match=rf"{next(iter(options))} is .*; expected"):
        JaxBackend(**options)


def test_what_no_machine_has_is_not_asked_for():
    with pytest.raises(TypeError, match="asked for workers; expected cpus=, gpus= and tpus="):
        JaxBackend(gpus=2, workers=2)


def test_devices_have_the_names_of_jax_devices_in_their_order():
    assert tuple(f"/job:localhost/replica:0/task:0/device:CPU:{i}" for i in range(8)) == BACKEND.devices()
    assert jax.devices("cpu")[:8] == [BACKEND.real_device(device) for device in BACKEND.devices()]


def test_code_of_others_computes_on_the_device_that_was_entered():
    with BACKEND.on(BACKEND.devices()[3]):
        assert BACKEND.devices()[3] == BACKEND.device_of(jax.numpy.ones(2) + 1)
        with BACKEND.on(None):  # whatever block the code is in
            assert BACKEND.devices()[0] == BACKEND.device_of(jax.numpy.ones(2))
    assert BACKEND.devices()[0] == BACKEND.device_of(jax.numpy.ones(2))


def test_a_value_without_a_device_can_be_used_beside_one_on_any():
    free, placed = BACKEND.put(np.float32([1, 2]), None), BACKEND.put(np.float32([3, 4]), BACKEND.devices()[5])

    assert BACKEND.devices()[5] == BACKEND.device_of(free + placed)
    assert (False, True) == (free.committed, placed.committed)


@pytest.mark.parametrize(
    ("numbers", "dtype"),
    [([2**31], "int64"), ([-(2**31) - 1], "int64"), ([2**32], "uint64"), ([1e300], "float64"), ([0, -1e39], "float64")],
)
def test_numbers_that_jax_would_cut_to_32_bits_are_refused(numbers, dtype):
    with pytest.raises(OverflowError, match=rf"dtype {dtype} goes from .*; expected what fits into \w+32"):
        BACKEND.put(np.array(numbers, dtype), None)


@given(
    number=generators.integers(-(2**31), 2**31 - 1) | generators.floats(width=32, allow_nan=True, allow_infinity=True)
)
@example(2**31 - 1)
@example(-(2**31))
@example(float(np.finfo(np.float32).max))
@example(np.nan)
@settings(max_examples=20)
def test_numbers_that_fit_into_32_bits_are_taken_whatever_their_dtype(number):
    array = np.array([number, number], np.int64 if isinstance(number, int) else np.float64)
    tensor = BACKEND.put(array, None)

    assert tensor.dtype.itemsize == 4
    np.testing.assert_array_equal(array, np.asarray(tensor).astype(array.dtype))


def test_with_room_for_64_bits_nothing_is_cut():
    with jax.enable_x64(True):
        tensor = BACKEND.put(np.int64([2**40]), None)

        assert (2**40, "int64") == (int(tensor[0]), tensor.dtype)


@pytest.mark.parametrize("tasks", [2, 3, 8])
def test_tasks_share_the_devices_without_overlap(tasks):
    shares = [BACKEND.for_task("worker", index, tasks) for index in range(tasks)]
    real = [[share.real_device(device) for device in share.devices()] for share in shares]

    assert [8 // tasks] * tasks == list(map(len, real))
    assert tasks * (8 // tasks) == len({device for one in real for device in one})
    assert [one[0] for one in real] == [next(iter(share.put(np.ones(1), None).devices())) for share in shares]


def test_more_tasks_than_devices_are_refused():
    with pytest.raises(ValueError, match=r'9 workers were to share 8 CPUs of JAX; .* refdist\.use\("jax", cpus=9\)'):
        BACKEND.for_task("worker", 0, 9)


def test_where_there_is_no_tpu_the_processors_play_its_cores():
    with tf.using("jax", cpus=8):
        topology = tf.tpu.experimental.initialize_tpu_system()

    assert set(BACKEND.devices()) == set(BACKEND.tpu_mesh().flat)
    assert BACKEND.tpu_mesh().size == topology.num_tasks * topology.num_tpus_per_task
