"""Switches of `tf.config`, `tf.debugging` and `tf.profiler` that programs set: they are kept, and change no result."""

import functools
import warnings
from collections.abc import Sequence
from typing import Any

from refdist._core.backends.choosing import show_only, shown
from refdist._core.base.errors import NotFoundError
from refdist._core.devices.device import PhysicalDevice
from refdist._core.ops.device_listing import (
    get_logical_device_configuration,
    list_logical_devices,
    list_physical_devices,
    require_physical,
)

_settings: dict[str, Any] = {}  # of this process, as in TensorFlow
_POLICIES = ("silent", "silent_for_int32", "warn", "explicit")


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """List the physical devices without those that are hidden."""
    return [
        one for one in list_physical_devices(device_type) if int(one.name.rpartition(":")[2]) in shown(one.device_type)
    ]


def set_visible_devices(devices: PhysicalDevice | Sequence[PhysicalDevice], device_type: str | None = None) -> None:
    """Hide the other devices of a kind, before the first use of a device; those that are left are numbered anew."""
    given = [devices] if isinstance(devices, (PhysicalDevice, str)) else list(devices)
    there = list_physical_devices(device_type)
    for one in given:
        require_physical(one, there)
    for kind in dict.fromkeys(one.device_type for one in there):
        kept = [one for one in there if one.device_type == kind and one in given]
        if kept != get_visible_devices(kind):
            show_only(kind, [int(one.name.rpartition(":")[2]) for one in kept])


def get_soft_device_placement() -> bool:
    """Say whether operations may run on other devices than asked for."""
    return _settings.get("soft placement", True)


def set_soft_device_placement(enabled: bool) -> None:
    """Keep the setting: everything here runs on every device."""
    _settings["soft placement"] = bool(enabled)


def get_jit() -> str:
    """What set_jit() was given, as TensorFlow names it."""
    return _settings.get("jit", "")


def set_jit(enabled: bool | str) -> None:
    """Keep the setting: functions are compiled by XLA in any case."""
    _settings["jit"] = "autoclustering" if enabled in (True, "autoclustering") else ""


def get_experimental_options() -> dict[str, Any]:
    """What set_experimental_options() was given."""
    return {"disable_meta_optimizer": False, "disable_model_pruning": False, **_settings.get("optimizer", {})}


def set_experimental_options(options: dict[str, Any]) -> None:
    """Keep options of TensorFlow's graph optimizer; XLA optimizes here."""
    _settings["optimizer"] = {**_settings.get("optimizer", {}), **options}


def tensor_float_32_execution_enabled() -> bool:
    """Say whether TensorFloat-32 was allowed."""
    return _settings.get("tf32", True)


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Keep the setting: jax_default_matmul_precision decides about precision on real devices."""
    _settings["tf32"] = bool(enabled)


def enable_op_determinism() -> None:
    """Accept the call: the same seed gives the same bits on the simulator in any case."""


def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """What is known about a device beyond its name: nothing."""
    require_physical(device)
    return {}


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Say that memory grows as needed, unless logical devices were made of the device."""
    require_physical(device)
    return get_logical_device_configuration(device) is None


def get_memory_info(device: str) -> dict[str, int]:
    """Refuse: nobody counts how much memory is in use."""
    names = [one.name for one in list_logical_devices()]
    if not any(name.endswith(device.removeprefix("/device:")) for name in names):
        raise ValueError(f"The device is {device!r}; expected one of {', '.join(names)}. Use one of these.")
    raise NotFoundError(
        f"The memory in use on {device!r} was asked for; expected a device that counts it. Use "
        f"jax.devices()[0].memory_stats() on real devices."
    )


def get_device_policy() -> str:
    """What happens when tensors of several devices meet, as it was set."""
    return _settings.get("policy", "silent")


def set_device_policy(device_policy: str | None) -> None:
    """Keep the setting: tensors are moved silently."""
    if device_policy not in (None, *_POLICIES):
        raise ValueError(
            f"set_device_policy() got {device_policy!r}; expected one of {', '.join(_POLICIES)}, or None. Use one of these."
        )
    _settings["policy"] = device_policy or "silent"


def get_synchronous_execution() -> bool:
    """Say whether operations wait for their results, as it was set."""
    return _settings.get("synchronous", True)


def set_synchronous_execution(enable: bool) -> None:
    """Keep the setting."""
    _settings["synchronous"] = bool(enable)


def get_log_device_placement() -> bool:
    """Say whether the devices of operations were to be logged."""
    return _settings.get("log placement", False)


def set_log_device_placement(enabled: bool) -> None:
    """Keep the setting, and say once that tensors know their devices."""
    _settings["log placement"] = bool(enabled)
    if enabled:
        _told(
            "set_log_device_placement(True)",
            "the device of each operation is logged",
            "Print tensor.device, or tf.device_name(tensor)",
        )


def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Say once what to use instead."""
    _told(
        "enable_check_numerics()",
        "every operation is checked for nan",
        'Use jax.config.update("jax_debug_nans", True), or tf.debugging.check_numerics() where it matters',
    )


def disable_check_numerics() -> None:
    """Accept the call: operations are not checked."""


def enable_traceback_filtering() -> None:
    """Accept the call: tracebacks show everything."""


def disable_traceback_filtering() -> None:
    """Accept the call: tracebacks show everything."""


def is_traceback_filtering_enabled() -> bool:
    """Say that tracebacks show everything."""
    return False


def start(logdir: str, options: Any = None) -> None:
    """Accept the call, and say once what profiles programs."""
    _told("tf.profiler.experimental.start()", "a profile is written", _PROFILES)


def stop(save: bool = True) -> None:
    """Accept the call."""


class Profile:
    """A block that TensorFlow would profile."""

    def __init__(self, logdir: str, options: Any = None) -> None:
        start(logdir, options)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass


class Trace:
    """A block that would have a name in a profile."""

    def __init__(self, name: str, **kwargs: Any) -> None:
        self._metadata = kwargs

    def set_metadata(self, **kwargs: Any) -> None:
        """Keep what is known about the block."""
        self._metadata.update(kwargs)

    def __enter__(self) -> "Trace":
        return self

    def __exit__(self, *exception: object) -> None:
        pass


_PROFILES = "Use jax.profiler.trace(logdir), which TensorBoard reads, or the traces of refdist.simulator"


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: Any = None) -> bool:
    """Say whether the backend in use has a GPU."""
    return bool(list_physical_devices("GPU"))


def gpu_device_name() -> str:
    """The name of the first GPU; "" if there is none."""
    return next((device.name for device in list_logical_devices("GPU")), "")


def is_built_with_cuda() -> bool:
    """Say that no code for GPUs is built in: JAX brings its own."""
    return False


def is_built_with_gpu_support() -> bool:
    """Say that no code for GPUs is built in: JAX brings its own."""
    return False


def is_built_with_rocm() -> bool:
    """Say that no code for GPUs is built in: JAX brings its own."""
    return False


def is_built_with_xla() -> bool:
    """Say that functions are compiled by XLA."""
    return True


@functools.cache
def _told(call: str, happens: str, instead: str) -> None:
    warnings.warn(
        f"{call} was called, after which {happens} in TensorFlow; expected a program without it. Nothing happens here. {instead}.",
        UserWarning,
        stacklevel=3,
    )
