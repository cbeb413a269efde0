"""Planted faults: device names are misread, or reported in another form."""

from collections.abc import Callable, Sequence
from typing import Any

import refdist
from conformance.faults import Plant, fault
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor
from refdist._core.strategies import mirrored, one_device


@fault("DEVICE-01")
def tensors_report_the_short_name(plant: Plant) -> None:
    plant.wrap(Tensor, "device", lambda original: lambda self: Device(original(self)).short)


@fault("DEVICE-02")
def a_short_name_falls_back_to_the_cpu(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda name, available: original("CPU:0" if name.startswith("/gpu") else name, available)

    plant.wrap(one_device, "resolve", wrapper)


@fault("DEVICE-03")
def names_with_a_slash_count_as_one(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda names, available: original(names[:1] if names[0].startswith("/") else names, available)

    plant.wrap(mirrored, "resolve_all", wrapper)


@fault("DEVICE-04")
def names_without_a_slash_lose_their_order(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda names, available: original(names if names[0].startswith("/") else names[::-1], available)

    plant.wrap(mirrored, "resolve_all", wrapper)


@fault("DEVICE-05")
def the_type_is_reported_as_it_was_written(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def resolve_all(names: Sequence[str], available: Sequence[Device]) -> tuple[Device, ...]:
            found: tuple[Device, ...] = original(names, available)
            return tuple(
                _lowered(device) if name.islower() else device for name, device in zip(names, found, strict=True)
            )

        return resolve_all

    plant.wrap(mirrored, "resolve_all", wrapper)


@fault("DEVICE-06")
def the_number_of_a_device_does_not_count(plant: Plant) -> None:
    plant.wrap(refdist, "device", lambda original: lambda name: original(f"{Device(name).rpartition(':')[0]}:0"))


@fault("DEVICE-07")
def every_cpu_is_a_device_of_its_own(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda names, backend: original(names, backend) if names else backend.devices()

    plant.wrap(mirrored, "chosen_devices", wrapper)


def _lowered(device: Device) -> Device:
    """Spell a device in lower case without reading the name again, which would correct it."""
    spelled = str.__new__(Device, device.lower())
    spelled.kind, spelled.index, spelled.job, spelled.task = device.kind, device.index, device.job, device.task
    return spelled
