"""Switches say what they were set to, as in TensorFlow 2.21."""

import pytest

import refdist as tf
from refdist._core.ops import machine_switches

config, experimental = tf.config, tf.config.experimental


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    monkeypatch.setattr(machine_switches, "_settings", {})
    machine_switches._told.cache_clear()


@pytest.mark.parametrize(
    ("read", "write", "first", "given"),
    [
        (config.get_soft_device_placement, config.set_soft_device_placement, True, False),
        (config.optimizer.get_jit, config.optimizer.set_jit, "", "autoclustering"),
        (
            experimental.tensor_float_32_execution_enabled,
            experimental.enable_tensor_float_32_execution,
            True,
            False,
        ),
        (experimental.get_device_policy, experimental.set_device_policy, "silent", "warn"),
        (experimental.get_synchronous_execution, experimental.set_synchronous_execution, True, False),
    ],
)
def test_settings_are_kept(read, write, first, given):
    assert first == read()
    write(given)
    assert given == read()


def test_options_of_the_optimizer_are_kept():
    config.optimizer.set_jit(True)
    config.optimizer.set_experimental_options({"auto_mixed_precision": True})

    assert "autoclustering" == config.optimizer.get_jit()
    assert {
        "auto_mixed_precision": True,
        "disable_meta_optimizer": False,
        "disable_model_pruning": False,
    } == config.optimizer.get_experimental_options()


def test_devices_are_visible_as_far_as_the_backend_has_them():
    with tf.using("simulator", gpus=2):
        gpus = config.list_physical_devices("GPU")
        config.set_visible_devices(gpus, "GPU")
        config.set_visible_devices([], "TPU")

        assert gpus == config.get_visible_devices("GPU")
        with pytest.raises(RuntimeError, match=r"in a block that has chosen its backend; expected this before\. Call"):
            config.set_visible_devices([], "GPU")
        with pytest.raises(ValueError, match="list_physical_devices"):
            config.set_visible_devices(config.list_physical_devices("CPU"), "GPU")
        assert tf.test.is_gpu_available()
        assert "/device:GPU:0" == tf.test.gpu_device_name()
    assert not tf.test.is_gpu_available()
    assert "" == tf.test.gpu_device_name()


def test_some_devices_are_hidden_before_the_first_use_and_the_others_numbered_anew():
    tf.use("simulator", gpus=4)
    gpus = config.list_physical_devices("GPU")
    config.set_visible_devices(gpus[:1], "GPU")
    config.set_visible_devices(gpus[2:], "GPU")  # nobody has used them yet

    assert gpus == config.list_physical_devices("GPU")
    assert gpus[2:] == config.get_visible_devices("GPU")
    assert ["/device:GPU:0", "/device:GPU:1"] == [one.name for one in config.list_logical_devices("GPU")]
    assert 2 == tf.distribute.MirroredStrategy().num_replicas_in_sync
    with pytest.raises(RuntimeError, match=r"after the first use of a device; expected this before\. Call"):
        config.set_visible_devices([], "GPU")
    tf.use("simulator", gpus=4)
    config.set_visible_devices([], "GPU")
    assert 1 == tf.distribute.MirroredStrategy().num_replicas_in_sync
    tf.use("simulator", gpus=4)
    assert gpus == config.get_visible_devices("GPU")


def test_devices_that_are_not_counted_cannot_be_hidden():
    tf.use("simulator", tpus=(1, 2, 2, 1))
    with pytest.raises(NotImplementedError, match=r"expected GPUs that are counted\. Choose a backend"):
        config.set_visible_devices([], "TPU")
    with pytest.raises(NotImplementedError, match="CPUs were to be hidden"):
        config.set_visible_devices([], "CPU")


def test_a_jax_backend_leaves_out_what_is_hidden():
    tf.use("jax", cpus=1)
    config.set_visible_devices([], "GPU")

    assert ["CPU"] == [one.device_type for one in config.list_logical_devices()]


def test_what_is_known_of_a_device_is_told():
    [cpu] = config.list_physical_devices("CPU")

    assert {} == experimental.get_device_details(cpu)
    assert experimental.get_memory_growth(cpu)
    assert experimental.enable_op_determinism() is None
    with pytest.raises(tf.errors.NotFoundError, match="memory_stats"):
        experimental.get_memory_info("CPU:0")
    with pytest.raises(ValueError, match="expected one of"):
        experimental.get_memory_info("GPU:0")
    with pytest.raises(ValueError, match="silent_for_int32"):
        experimental.set_device_policy("x")


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.debugging.set_log_device_placement(True),
        tf.debugging.enable_check_numerics,
        lambda: tf.profiler.experimental.start("logs"),
        lambda: tf.profiler.experimental.Profile("logs").__enter__(),
    ],
)
def test_what_does_nothing_says_so_once(call):
    with pytest.warns(UserWarning, match=r"Nothing happens here\. (Use|Print)"):
        call()
    call()


def test_what_is_taken_back_is_accepted():
    tf.debugging.disable_check_numerics()
    tf.debugging.set_log_device_placement(False)
    tf.debugging.enable_traceback_filtering()
    tf.debugging.disable_traceback_filtering()
    tf.profiler.experimental.stop()
    with tf.profiler.experimental.Trace("train", step_num=1) as trace:
        trace.set_metadata(size=2)

    assert not tf.debugging.get_log_device_placement()
    assert not tf.debugging.is_traceback_filtering_enabled()


def test_what_is_built_in_is_told():
    assert [False, False, False, True] == [
        tf.test.is_built_with_cuda(),
        tf.test.is_built_with_gpu_support(),
        tf.test.is_built_with_rocm(),
        tf.test.is_built_with_xla(),
    ]
    assert "2.21.0" == tf.version.VERSION
