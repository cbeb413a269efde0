"""`tf.distribute.experimental`."""

from refdist._core.base.enums import CommunicationImplementation
from refdist._core.base.enums import CommunicationImplementation as CollectiveCommunication
from refdist._core.base.options import CollectiveHints, CommunicationOptions, ValueContext
from refdist._core.ops.late_names import late_names as _late_names
from refdist._core.strategies.central_storage import CentralStorageStrategy
from refdist._core.strategies.multi_worker_mirrored import (
    ExperimentalMultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from refdist._core.strategies.parameter_server import ParameterServerStrategy
from refdist._core.strategies.tpu_strategy import ExperimentalTPUStrategy as TPUStrategy
from refdist.distribute.experimental import coordinator, partitioners

_LATE = {"refdist._core.saving.preemption": "PreemptionCheckpointHandler TerminationConfig"}
__getattr__, __dir__ = _late_names("distribute.experimental", globals(), _LATE)

__all__ = [
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "CollectiveHints",
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
    "TPUStrategy",
    "ValueContext",
    "coordinator",
    "partitioners",
]
