"""How long a step takes on many devices, given how long it takes on one: for those who have measured that."""

import math
import statistics

from simulator.libraries.library import Launch, Library
from simulator.machines.topology import Cluster
from simulator.predictions.predicted_step import exchange_on
from simulator.predictions.step_timeline import Exchange, Timeline, timeline
from simulator.predictions.step_work import Work

_BACKWARD = 2 / 3  # of a step without exchanges: for each product of the forward pass there are two
# GPUs of one kind differ by 8 % from whisker to whisker, which is 5.4 standard deviations (P. Sinha and others, "Not All GPUs Are
# Created Equal", SC 2022).
SPREAD = 0.08 / 5.4
_PIECES = 64  # at which gradients become ready while the backward pass goes on


def predict_scaled_step(
    single_device_seconds: float,
    gradient_bytes: float,
    *,
    cluster: Cluster,
    library: Library | None = None,
    launch: Launch | None = None,
    overlap: bool = True,
    bucket_bytes: float = 25e6,
    spread: float = SPREAD,
    overlap_slowdown: float = 0.0,
) -> Timeline:
    """Say how long a data-parallel step takes: gradients become ready during the backward pass, and are added up behind it.

    All wait for the slowest device: of many, that is some standard deviations slower than one alone.

    >>> from simulator import libraries, presets
    >>> found = predict_scaled_step(0.1, 102e6, cluster=presets.dgx_a100(), library=libraries.nccl())
    >>> round(found.seconds, 4), round(found.exposed_seconds * 1e6)
    (0.1024, 255)

    Args:
        single_device_seconds: what a step takes on one device of the same kind, with the same rows for it.
        gradient_bytes: of all gradients.
        spread: the standard deviation of the logarithm of the time that devices take for the same work.
        overlap_slowdown: by how much longer kernels take while an exchange runs beside them; `step_timeline.MEASURED_SLOWDOWN`
            is what others have measured.
    """
    numbers = {
        "single_device_seconds": single_device_seconds,
        "gradient_bytes": gradient_bytes,
        "spread": spread,
        "overlap_slowdown": overlap_slowdown,
    }
    for name, value in numbers.items():
        if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 <= value < math.inf:
            raise ValueError(
                f"predict_scaled_step() got {name}={value!r}; expected a number of at least 0. Give what is known."
            )
    single_device_seconds *= math.exp(spread * _deviations_of_slowest(cluster.device_count))
    predict = exchange_on(cluster, library, launch, "auto")

    def exchange(kind: str, size: float) -> Exchange:
        found = predict(kind, size)
        return Exchange(found.seconds, f"{found.algorithm} {found.protocol}".strip(), found.parts.get("launch", 0.0))

    work = [Work("forward", "compute", 0.0, 0.0, "", True, (), 0.0)]
    durations = [single_device_seconds * (1 - _BACKWARD)]
    for piece in range(_PIECES):
        before = 0 if piece == 0 else len(work) - 2
        work.append(Work("backward", "compute", 0.0, 0.0, "", True, (before,), 0.0))
        work.append(Work("gradients", "all_reduce", 0.0, gradient_bytes / _PIECES, "", True, (len(work) - 1,), 0.0))
        durations += [single_device_seconds * _BACKWARD / _PIECES, 0.0]
    return timeline(
        work,
        durations,
        exchange,
        overlap=overlap,
        bucket_bytes=bucket_bytes,
        overlap_slowdown=overlap_slowdown,
    )


def _deviations_of_slowest(count: int) -> float:
    """By how many standard deviations the slowest of so many is expected to be slower than the mean (Blom's approximation).

    >>> _deviations_of_slowest(1), round(_deviations_of_slowest(8), 2), round(_deviations_of_slowest(256), 2)
    (0.0, 1.43, 2.81)
    """
    return statistics.NormalDist().inv_cdf((count - 0.375) / (count + 0.25))
