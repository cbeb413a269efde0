"""Lists of devices, and logical devices made of the CPU; these in processes of their own, because they are made before all else."""

import pytest

import refdist as tf
from tests.children import run_python

MAKE = """
import refdist as tf
CPU = tf.config.list_physical_devices("CPU")[0]
def make(count):
    tf.config.set_logical_device_configuration(CPU, [tf.config.LogicalDeviceConfiguration()] * count)
"""


def printed(program, **environment):
    done = run_python(MAKE + program, **environment)
    assert 0 == done.returncode, done.stderr
    return done.stdout


@pytest.mark.parametrize("backend", ["simulator", "host", "jax"])
def test_several_logical_devices_are_made_of_the_cpu(backend):
    program = """
print(tf.config.get_logical_device_configuration(CPU))
make(3)
make(4)
print(len(tf.config.get_logical_device_configuration(CPU)), len(tf.config.list_physical_devices("CPU")))
devices = tf.config.list_logical_devices("CPU")
print(tf.distribute.MirroredStrategy(devices).num_replicas_in_sync)
make(4)
"""
    assert "None\n4 1\n4\n" == printed(program, REFDIST_BACKEND=backend)


@pytest.mark.parametrize(
    "first", ["tf.config.list_logical_devices()", "tf.constant(1.0)", "tf.distribute.get_strategy()"]
)
def test_after_the_first_use_it_is_too_late(first):
    program = f"""
{first}
try: make(2)
except RuntimeError as error: print(error)
"""
    assert "after the first use of a device; expected this before" in printed(program)


def test_the_choice_of_a_backend_is_no_use_of_it_and_is_kept():
    program = """
tf.use("host", gpus=2)
make(2)
print([device.name for device in tf.config.list_logical_devices()])
"""
    names = [f"/device:{name}" for name in ("CPU:0", "CPU:1", "GPU:0", "GPU:1")]
    assert f"{names}\n" == printed(program)


def test_what_cannot_be_configured_is_refused():
    config = tf.config
    with tf.using("host", gpus=1):
        cpu, gpu = config.list_physical_devices()
        with pytest.raises(RuntimeError, match="cpus=2"):
            config.set_logical_device_configuration(cpu, [config.LogicalDeviceConfiguration()] * 2)
        with pytest.raises(NotImplementedError, match="expected the CPU"):
            config.set_logical_device_configuration(gpu, [config.LogicalDeviceConfiguration()] * 2)
        with pytest.raises(ValueError, match="memory_limit=10"):
            config.set_logical_device_configuration(cpu, [config.LogicalDeviceConfiguration(memory_limit=10)])
        for wrong in (
            config.set_logical_device_configuration,
            lambda device, _: config.get_logical_device_configuration(device),
        ):
            with pytest.raises(ValueError, match="list_physical_devices"):
                wrong("CPU", [])
        assert config.get_logical_device_configuration(cpu) is None


def test_memory_may_grow_unless_logical_devices_were_made():
    with tf.using("host", gpus=2):
        for device in tf.config.list_physical_devices():
            assert tf.config.experimental.set_memory_growth(device, True) is None
        with pytest.raises(ValueError, match="list_physical_devices"):
            tf.config.experimental.set_memory_growth("GPU:0", True)
    program = """
make(2)
try: tf.config.experimental.set_memory_growth(CPU, True)
except ValueError as error: print(error)
"""
    assert "expected one or the other" in printed(program)
