"""Faults of MirroredStrategy."""

from dataclasses import replace
from typing import Any

from conformance.faults import Plant, fault
from refdist._core.replicas.values import PerReplica
from refdist._core.strategies import mirrored
from refdist._core.strategies.cross_device_ops import (
    CrossDeviceOps,
    HierarchicalCopyAllReduce,
    NcclAllReduce,
    ReductionToOneDevice,
)
from refdist._core.strategies.mirrored import MirroredStrategy
from refdist._core.strategies.v1_strategies import TPUStrategyV1
from refdist._core.variables.distributed_variable import OnRead, OnWrite
from refdist.distribute import experimental


@fault("MIRROR-01")
def devices_have_no_default(plant: Plant) -> None:
    def strict(original: Any) -> Any:
        return lambda self, devices, cross_device_ops=None: original(self, devices, cross_device_ops)

    plant.wrap(MirroredStrategy, "__init__", strict)


@fault("MIRROR-02")
def only_the_first_gpu_is_used_by_default(plant: Plant) -> None:
    plant.wrap(
        mirrored, "chosen_devices", lambda original: lambda names, backend: original(names, backend)[: _some(names)]
    )


@fault("MIRROR-03")
def the_last_cpu_stands_in_for_the_gpus(plant: Plant) -> None:
    def last(original: Any) -> Any:
        def chosen(names: Any, backend: Any) -> Any:
            devices = original(names, backend)
            return backend.devices()[-1:] if not names and devices[0].kind == "CPU" else devices

        return chosen

    plant.wrap(mirrored, "chosen_devices", last)


@fault("MIRROR-04")
def devices_are_put_in_order(plant: Plant) -> None:
    plant.wrap(mirrored, "chosen_devices", lambda original: lambda *given: tuple(sorted(original(*given))))


@fault("MIRROR-05")
def reduction_to_one_device_is_the_default(plant: Plant) -> None:
    plant.replace(mirrored, "NcclAllReduce", ReductionToOneDevice)


@fault("MIRROR-06")
def unrelated_cross_device_ops_are_passed_over(plant: Plant) -> None:
    def lenient(original: Any) -> Any:
        return lambda names, ops: original(names, ops if isinstance(ops, CrossDeviceOps) else None)

    plant.wrap(mirrored, "mirrored_plan", lenient)


@fault("MIRROR-07")
def given_cross_device_ops_are_ignored(plant: Plant) -> None:
    def ignoring(original: Any) -> Any:
        return lambda names, ops: replace(original(names, ops), collectives=NcclAllReduce())

    plant.wrap(mirrored, "mirrored_plan", ignoring)


@fault("MIRROR-08")
def hierarchical_reduction_leaves_out_the_device_without_a_neighbour(plant: Plant) -> None:
    def in_pairs(original: Any) -> Any:
        def implementation(self: Any, reduce_op: Any, value: Any, destinations: Any, options: Any) -> Any:
            paired = value.values[: len(value.values) // 2 * 2] or value.values
            return original(self, reduce_op, PerReplica(paired), destinations, options)

        return implementation

    plant.wrap(HierarchicalCopyAllReduce, "reduce_implementation", in_pairs)


@fault("MIRROR-09")
def each_replica_writes_its_own_copy_without_waiting(plant: Plant) -> None:
    plant.replace(OnWrite, "write_in_replica", staticmethod(OnRead.write_in_replica))


@fault("MIRROR-10")
def the_strategy_for_tpus_is_the_v1_one(plant: Plant) -> None:
    plant.replace(experimental, "TPUStrategy", TPUStrategyV1)


def _some(names: Any) -> int | None:
    """Return one where the devices are not given, and no limit where they are."""
    return None if names else 1
