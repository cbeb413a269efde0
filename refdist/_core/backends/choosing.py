"""Which backend is in use: chosen for the process, for a block of code, or from outside."""

import contextlib
import importlib
import os
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from refdist._core.base.extras import require
from refdist._core.base.where import HERE, Process, entered
from refdist._core.devices.device import Device
from refdist._core.seam.backend import Backend
from refdist._core.seam.inspection import LOOKS, inspection_in

if TYPE_CHECKING:
    from refdist._core.backends.backend_options import ClusterOptions, CountOptions

_BUILT_IN = {
    "host": "refdist._core.backends.host_backend:HostBackend",
    "simulator": "simulator.devices.open_simulator:open_simulator",
    "jax": "refdist._core.backends.jax_backend:JaxBackend",
}
_chosen: Backend | None = None
_choice: tuple[str, dict[str, Any]] = ("", {})  # what it was opened with
_used = False  # whether anybody has computed with it, or has asked for its logical devices
_virtual_cpus: int | None = None  # how many the program has made of the CPU
_physical: tuple[Device, ...] = ()  # all devices, where the program has hidden some
_shown: dict[str, tuple[int, ...]] = {}  # the numbers of those that it has not, by kind


@overload
def use(name: Literal["simulator", "host", "jax"], **options: "Unpack[CountOptions]") -> None: ...
@overload
def use(name: Literal["simulator"], **options: "Unpack[ClusterOptions]") -> None: ...
@overload
def use(name: str, **options: "Unpack[CountOptions]") -> None: ...
def use(name: str, **options: Any) -> None:
    """Choose the backend of this process for the strategies and tensors made from now on.

    `use("simulator", gpus=8)`, `use("host", cpus=2)` and `use("jax", cpus=4)` say how many devices there are. Every backend
    takes `numerics="check"`, which judges each reduction against float64, `watch="python"`, which tells what replicas
    change in Python objects that they share, and `randomness="check"`, which tells where they draw the same numbers.
    """
    global _chosen, _choice, _used, _virtual_cpus, _physical
    _chosen = _open(name, options)
    _choice, _used, _virtual_cpus, _physical = (name, options), False, None, ()
    _shown.clear()
    Process.changes += 1


@overload
def using(
    name: Literal["simulator", "host", "jax"], **options: "Unpack[CountOptions]"
) -> AbstractContextManager[Backend]: ...
@overload
def using(name: Literal["simulator"], **options: "Unpack[ClusterOptions]") -> AbstractContextManager[Backend]: ...
@overload
def using(name: str, **options: "Unpack[CountOptions]") -> AbstractContextManager[Backend]: ...
@contextlib.contextmanager
def using(name: str, **options: Any) -> Generator[Backend]:
    """Choose the backend for a block of code.

    >>> import refdist
    >>> with refdist.using("host", gpus=2):
    ...     refdist.distribute.MirroredStrategy().num_replicas_in_sync
    2
    """
    backend = _open(name, options)
    with entered(backend=backend):
        yield backend


def current() -> Backend:
    """The backend in use; REFDIST_BACKEND chooses it from outside, and else it is a simulator with one CPU."""
    global _used
    temporary = HERE.get().backend
    if temporary is not None:
        return temporary
    _used = True
    return unused() if _chosen is None else _chosen


def unused() -> Backend:
    """The backend in use, for those who only look at it: it can still be given other devices."""
    global _chosen, _choice, _physical
    temporary = HERE.get().backend
    if temporary is not None:
        return temporary
    if _chosen is None:
        _choice = _from_text(os.environ.get("REFDIST_BACKEND", "simulator"))
        _chosen, _physical = _open(*_choice), ()
        _shown.clear()
        Process.changes += 1
    return _chosen


def stay_with(backend: Backend) -> None:
    """Let this process keep a backend for one task of a cluster, whose devices are named after it, unless a block has chosen."""
    global _chosen
    if HERE.get().backend is None:
        _chosen = backend


def virtual_cpus() -> int | None:
    """How many devices the program has made of the CPU; None where it has not."""
    return _virtual_cpus if HERE.get().backend is None else None


def make_virtual_cpus(count: int) -> None:
    """Open the backend of this process with so many CPUs, unless it is in use."""
    global _chosen, _virtual_cpus
    if HERE.get().backend is not None:
        raise RuntimeError(
            f"{count} virtual devices were to be made in a block that has chosen its backend; expected this before. Ask for them "
            f"there: refdist.using(..., cpus={count})."
        )
    there = unused()
    if count == sum(device.kind == "CPU" and device.beside(there.devices()[0]) for device in there.devices()):
        _virtual_cpus = count
        return
    if _used:
        raise RuntimeError(
            f"{count} virtual devices were to be made of the CPU after the first use of a device; expected this before. Call "
            f"tf.config.set_logical_device_configuration() at the start of the program."
        )
    name, options = _choice
    _chosen = _open(name, {**options, "cpus": count})
    _virtual_cpus = count
    Process.changes += 1


def physical_devices() -> tuple[Device, ...]:
    """All devices, those that the program has hidden too."""
    return _physical if _physical and HERE.get().backend is None else unused().devices()


def shown(kind: str) -> Sequence[int]:
    """The numbers of the devices of a kind that are not hidden."""
    numbers = [device.number for device in physical_devices() if device.kind == kind]
    return _shown.get(kind, numbers) if HERE.get().backend is None else numbers


def show_only(kind: str, numbers: Sequence[int]) -> None:
    """Open the backend of this process with some of the devices of a kind, unless it is in use; they are numbered anew."""
    global _chosen, _choice, _physical
    there = physical_devices()
    if HERE.get().backend is not None or _used:
        where = (
            "after the first use of a device"
            if HERE.get().backend is None
            else "in a block that has chosen its backend"
        )
        raise RuntimeError(
            f"{kind}s were to be hidden {where}; expected this before. Call tf.config.set_visible_devices() at the start of the "
            f"program."
        )
    name, options = _choice
    counted = {f"{kind.lower()}s": len(numbers)}
    if kind == "CPU" or isinstance(options.get(f"{kind.lower()}s", 0), tuple) or "cluster" in options:
        raise NotImplementedError(
            f"{kind}s were to be hidden in refdist.use({name!r}, {', '.join(options)}=...); expected GPUs that are counted. Choose "
            f"a backend with fewer devices, or name those of the strategy."
        )
    visible = {**options.get("visible", {}), kind: tuple(numbers)}
    _choice = name, {**options, **({"visible": visible} if name == "jax" else counted)}
    _chosen, _physical = _open(*_choice), there
    _shown[kind] = tuple(numbers)
    Process.changes += 1


def _open(name: str, options: dict[str, Any]) -> Backend:
    inspection, options = inspection_in(options)
    backend = _made(name, options)
    if inspection is not None:
        setattr(backend, "inspection", inspection)  # noqa: B010 - no verb of the seam: see seam/inspection.py
    return backend


def _made(name: str, options: dict[str, Any]) -> Backend:
    target = _BUILT_IN.get(name) if isinstance(name, str) else None
    if target is not None:
        module, _, attribute = target.partition(":")
        factory: Callable[..., Backend] = getattr(_imported(module), attribute)
        return factory(**options)
    metadata = importlib.import_module("importlib.metadata")  # costs 30 ms, and is rarely needed
    others = {entry.name: entry for entry in metadata.entry_points(group="refdist.backends")}
    if not isinstance(name, str) or name not in others:
        raise ValueError(
            f"The backend is {name!r}; expected one of {', '.join(dict.fromkeys([*_BUILT_IN, *others]))}. Use one of these, or "
            f"install a package that offers it under the entry point group 'refdist.backends'."
        )
    return others[name].load()(**options)


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name == "jax":
            require("jax", by='tf.use("jax")')
        # A file of the user's that is called simulator.py may be what was found.
        shadows: Any = importlib.import_module("refdist_command.shadows")
        shadows.require_own(module.partition(".")[0])
        raise


def _from_text(text: str) -> tuple[str, dict[str, Any]]:
    """Read a choice such as `simulator:gpus=8,cpus=2`."""
    name, _, rest = text.partition(":")
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, separator, value = part.partition("=")
        if key in LOOKS:
            options[key] = value
            continue
        sizes = value.split("x")
        if not separator or not all(size.isdecimal() for size in sizes):
            raise ValueError(
                f"REFDIST_BACKEND is {text!r}; expected a form such as 'simulator:gpus=8' or 'jax:cpus=4'. "
                f"Correct the part {part!r}."
            )
        options[key] = int(value) if len(sizes) == 1 else tuple(map(int, sizes))
    return name, options
