"""Which of JAX's devices has which name: those that are there, and host processors that play what the machine lacks."""

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax._src.xla_bridge import backends_are_initialized

from refdist._core.devices.device import Device

_CONFIG: Any = jax.config  # its settings are not in its type
_KINDS = {"cpu": "CPU", "gpu": "GPU", "cuda": "GPU", "rocm": "GPU", "tpu": "TPU"}
Visible = Mapping[str, Sequence[int]]  # by kind, the numbers of the devices that are not hidden


@dataclass(frozen=True)
class AskedDevices:
    """The names that were asked for, the CPUs first; which kinds of accelerators were counted, and what of each is hidden."""

    names: tuple[Device, ...]
    counted: frozenset[str]
    visible: Visible

    def played(self, real: Collection[str]) -> list[Device]:
        """What host processors have to be, where accelerators of these kinds are there."""
        # A TPU host elsewhere, with its CPU, is played as a whole.
        return [name for name in self.names if name.kind not in real and (name.job == "localhost" or "TPU" not in real)]


def local_devices(asked: AskedDevices) -> dict[Device, Any]:
    """Name the devices of this process; asking for them starts JAX, after which it can join no other processes."""
    return named_devices(asked, jax.local_devices(backend="cpu"), _accelerators())


def named_devices(asked: AskedDevices, host: Sequence[Any], accelerators: Sequence[Any]) -> dict[Device, Any]:
    """Name the devices of JAX: the accelerators that are there, all unless they are counted, and host processors.

    These are the CPUs, and play the accelerators that were asked for where there is none of their kind. Each has one name,
    so that an array says where it is.
    """
    real = _by_kind(accelerators)
    found = dict(zip(asked.played(real), host, strict=False))
    for kind, devices in real.items():
        wanted = sum(name.kind == kind for name in asked.names) if kind in asked.counted else len(devices)
        if wanted > len(devices):
            raise ValueError(
                f"The jax backend was asked for {wanted} {kind}s, and this machine has {len(devices)}; expected at most these, "
                f"because host processors play {kind}s only where there is none. Ask for fewer, or set JAX_PLATFORMS=cpu to let "
                f"them play all."
            )
        found |= {Device(f"{kind}:{number}"): device for number, device in enumerate(devices[:wanted])}
    return _visible(found, asked.visible) if asked.visible else found


def _visible(devices: Mapping[Device, Any], visible: Visible) -> dict[Device, Any]:
    """Leave out what is hidden, and number the others anew."""
    shown: dict[Device, Any] = {}
    for name, device in devices.items():
        if name.number in visible.get(name.kind, (name.number,)):
            number = sum(other.kind == name.kind and other.beside(name) for other in shown)
            shown[Device(f"{name.kind}:{number}").at(name.job, name.task)] = device
    return shown


def shared_out(devices: Mapping[Device, Any], job: str, task: int, tasks: int) -> dict[Device, Any]:
    """Give a task its part of the devices of each kind, under its own names; tasks with accelerators may share a CPU."""
    by_kind: dict[str, list[Any]] = {}
    for name, device in devices.items():
        by_kind.setdefault(name.kind, []).append(device)
    parts: dict[Device, Any] = {}
    for kind, there in by_kind.items():
        count = len(there) // tasks
        own = there[task % tasks * count :][:count]
        if not own and (kind != "CPU" or len(by_kind) == 1):
            raise ValueError(
                f"{tasks} workers were to share {len(there)} {kind}s of JAX; expected at least one for each. Ask for more: "
                f'refdist.use("jax", {kind.lower()}s={tasks}).'
            )
        parts |= {
            Device(f"{kind}:{number}").at(job, task): device
            for number, device in enumerate(own or [there[task % len(there)]])
        }
    return parts


def require_host_devices(asked: AskedDevices) -> None:
    """Ask JAX for host devices, which it can provide only before its first computation: CPUs, and what they may have to play."""
    count = len(asked.names)
    with contextlib.suppress(RuntimeError):  # raised once JAX has started; what counts then is how many devices it has
        before = _CONFIG.jax_num_cpu_devices
        jax.config.update("jax_num_cpu_devices", max(count, before))
    if not backends_are_initialized():
        return
    there, count = len(jax.local_devices(backend="cpu")), len(asked.played(_by_kind(_accelerators())))
    if there < count:
        raise RuntimeError(
            f"{count} host devices were asked of JAX, which has already started with {there}; expected the largest number to be "
            f"asked for first. Choose this backend before JAX computes anything, as functions on a simulator do, or set "
            f"JAX_NUM_CPU_DEVICES={count} in the environment; in pytest, the markers and options of refdist do so, and "
            f"refdist_host_devices = {count} in its configuration."
        )


def _accelerators() -> Sequence[Any]:
    return () if jax.default_backend() == "cpu" else jax.local_devices()


def _by_kind(accelerators: Sequence[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for device in accelerators:
        found.setdefault(_KINDS[device.platform], []).append(device)
    return found
