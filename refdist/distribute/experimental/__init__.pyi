from refdist._core.base.enums import (
    CommunicationImplementation as CollectiveCommunication,
    CommunicationImplementation as CommunicationImplementation,
)
from refdist._core.base.options import (
    CollectiveHints as CollectiveHints,
    CommunicationOptions as CommunicationOptions,
    ValueContext as ValueContext,
)
from refdist._core.saving.preemption import (
    PreemptionCheckpointHandler as PreemptionCheckpointHandler,
    TerminationConfig as TerminationConfig,
)
from refdist._core.strategies.central_storage import CentralStorageStrategy as CentralStorageStrategy
from refdist._core.strategies.multi_worker_mirrored import (
    ExperimentalMultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy,
)
from refdist._core.strategies.parameter_server import ParameterServerStrategy as ParameterServerStrategy
from refdist._core.strategies.tpu_strategy import ExperimentalTPUStrategy as TPUStrategy
from refdist.distribute.experimental import coordinator as coordinator, partitioners as partitioners

__all__ = [
    "CentralStorageStrategy",
    "CollectiveCommunication",
    "CollectiveHints",
    "CommunicationImplementation",
    "CommunicationOptions",
    "MultiWorkerMirroredStrategy",
    "ParameterServerStrategy",
    "PreemptionCheckpointHandler",
    "TPUStrategy",
    "TerminationConfig",
    "ValueContext",
    "coordinator",
    "partitioners",
]
