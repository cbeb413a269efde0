"""How to build each kind of strategy, in documented names only."""

from collections.abc import Callable, Mapping
from typing import Any

Builder = Callable[[Any, list[str]], Any]
"""Takes the documented namespace and the names of the replica devices."""

BUILDERS: Mapping[str, Builder] = {
    "Default": lambda tf, _: tf.distribute.get_strategy(),
    "OneDevice": lambda tf, names: tf.distribute.OneDeviceStrategy(names[0]),
    "OneDevice.v1": lambda tf, names: tf.compat.v1.distribute.OneDeviceStrategy(names[0]),
    "Mirrored": lambda tf, names: tf.distribute.MirroredStrategy(names),
    "Mirrored.v1": lambda tf, names: tf.compat.v1.distribute.MirroredStrategy(names),
    "CentralStorage": lambda tf, names: tf.distribute.experimental.CentralStorageStrategy(
        compute_devices=names, parameter_device="CPU:0"
    ),
    "CentralStorage.v1": lambda tf, names: tf.compat.v1.distribute.experimental.CentralStorageStrategy(
        compute_devices=names, parameter_device="CPU:0"
    ),
}

ONE_REPLICA = frozenset({"Default", "OneDevice", "OneDevice.v1"})
"""The kinds that have one replica, whatever is asked for."""
