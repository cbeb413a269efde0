"""Planted faults: data are shared out otherwise over several workers."""

from typing import Any

from conformance.faults import Plant, fault
from refdist.data.options import AutoShardPolicy, DistributeOptions


@fault("DATASET-22")
def sharding_is_off_unless_it_is_asked_for(plant: Plant) -> None:
    def init(self: DistributeOptions, auto_shard_policy: Any = AutoShardPolicy.OFF, num_devices: Any = None) -> None:
        self.auto_shard_policy, self.num_devices = auto_shard_policy, num_devices

    plant.replace(DistributeOptions, "__init__", init)
