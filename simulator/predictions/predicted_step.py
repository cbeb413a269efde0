"""How long a training step takes on a cluster, from shapes alone."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from simulator.base.notebook_tables import page, table
from simulator.base.step_records import time_text
from simulator.libraries.library import Launch, Library
from simulator.machines.topology import Cluster, DeviceKind
from simulator.predictions.collectives import predict_all_gather, predict_send
from simulator.predictions.prediction import Prediction, predict_all_reduce
from simulator.predictions.step_timeline import Exchange, Timeline, timeline
from simulator.predictions.step_tracing import TracedStep, traced_step
from simulator.predictions.step_work import Work, work_of
from simulator.recordings.traces import Span, Trace

# The peak of other dtypes, as a share of that of 16-bit floats, which a DeviceKind has. Products of 32-bit floats count as TF32.
DTYPE_SHARES: Mapping[str, float] = {
    "bfloat16": 1.0,
    "float16": 1.0,
    "float32": 0.5,
    "float64": 1 / 16,
    "float8_e4m3fn": 2.0,
    "float8_e5m2": 2.0,
    "int8": 2.0,
}


class OneReplica(ValueError):
    """A step that was written for one replica says nothing about several."""


@dataclasses.dataclass(frozen=True)
class Efficiency:
    """What kernels reach of a device: a share of its peak in products, of its memory bandwidth, and the least time of a kernel.

    The defaults are what large products and copies reach on A100 and H100 with the makers' libraries; a model of small layers
    reaches less. Measure one step on one device, and give what it reaches: that is worth more than any default.
    """

    flops: float = 0.7
    memory: float = 0.8
    kernel_seconds: float = 2e-6

    def __post_init__(self) -> None:
        if not (0 < self.flops <= 1 and 0 < self.memory <= 1 and 0 <= self.kernel_seconds < 1):
            raise ValueError(
                f"An Efficiency is {self!r}; expected shares above 0 and up to 1, and seconds of at least 0. Give what was reached."
            )


@dataclasses.dataclass(frozen=True)
class Variation:
    """How devices differ: by chance, from a seed, and some by a factor. Synchronous steps wait for the slowest."""

    spread: float = 0.0  # the standard deviation of the logarithm of the time that a device takes for the same work
    seed: int = 0
    stragglers: Mapping[int, float] = dataclasses.field(default_factory=dict[int, float])  # factors, by device

    def factors(self, devices: int) -> np.ndarray[Any, Any]:
        """How long each device takes for the work of a second."""
        drawn = np.exp(self.spread * np.random.default_rng(self.seed).standard_normal(devices))
        for device, factor in self.stragglers.items():
            if not 0 <= device < devices or not factor > 0:
                raise ValueError(
                    f"A straggler is device {device} with factor {factor}; expected one of {devices} devices and a factor above 0. "
                    f"Name a device of the cluster."
                )
            drawn[device] *= factor
        return drawn


@dataclasses.dataclass(frozen=True, eq=False)
class StepPrediction:
    """A step: how long it takes, of what that consists, what it needs, and what happens when."""

    seconds: float
    parts: dict[str, float]  # compute, exposed communication, waiting for slower devices, launch
    devices: int
    flops: float  # of one device
    peak_flops_per_second: float
    memory: dict[str, float]  # bytes of a device, at most: parameters, state, gradients, activations
    exchanged_bytes: float  # brought to all-reduces and the like by one device
    link_bytes: dict[str, float]  # by link, of the busiest of each kind
    line: Timeline = dataclasses.field(repr=False)
    cluster: Cluster = dataclasses.field(repr=False)

    @property
    def achieved_flops_per_second(self) -> float:
        """Of one device, over the whole step."""
        return self.flops / self.seconds if self.seconds else 0.0

    @property
    def utilisation(self) -> float:
        """The share of the peak that is reached."""
        return self.achieved_flops_per_second / self.peak_flops_per_second

    @property
    def memory_bytes(self) -> float:
        """All that a device holds at most."""
        return sum(self.memory.values())

    def trace(self) -> Trace:
        """What happens when, as devices that are all alike see it."""
        first, last = 0, self.devices - 1
        who = f"device {first}" if last == first else f"devices {first} ... {last}, the same"
        spans = [
            Span(
                who,
                one.name if not one.line else f"{one.name} {one.line}",
                one.start_seconds,
                one.end_seconds,
                one.kind,
            )
            for one in self.line.computing
        ]
        spans += [
            Span(f"{who}: exchanges", one.name, one.start_seconds, one.end_seconds, "collective")
            for one in self.line.exchanging
        ]
        return Trace(tuple(spans))

    def __repr__(self) -> str:
        return f"<StepPrediction of {time_text(self.seconds)} on {self.devices:,} x {self.cluster.kind.name}>"

    def __str__(self) -> str:
        return "\n".join(f"{name:<24}{value}" for name, value in self._rows())

    def _repr_html_(self) -> str:
        (title, seconds), *rows = self._rows()
        return page(table(f"{title}: {seconds}", [], rows))

    def _rows(self) -> list[tuple[str, str]]:
        share = {name: f"{time_text(value)} ({value / self.seconds:.1%})" for name, value in self.parts.items()}
        capacity = self.cluster.kind.memory_bytes
        most = "" if math.isinf(capacity) else f" of {capacity / 1e9:,.0f} GB"
        return [
            (f"step on {self.devices:,} x {self.cluster.kind.name}", time_text(self.seconds)),
            *((f"  {name}", text) for name, text in share.items()),
            ("FLOPs of a device", f"{self.flops / 1e12:,.2f} T"),
            ("achieved", f"{self.achieved_flops_per_second / 1e12:,.1f} TFLOP/s ({self.utilisation:.1%} of the peak)"),
            ("exchanged", f"{self.exchanged_bytes / 1e6:,.1f} MB in {len(self.line.exchanging)} exchanges"),
            ("memory of a device", f"{self.memory_bytes / 1e9:,.2f} GB{most}"),
            *((f"  {name}", f"{value / 1e9:,.2f} GB") for name, value in self.memory.items()),
        ]


def predict_step(
    step: Any,
    specs: Sequence[Any] = (),
    *,
    cluster: Cluster,
    library: Library | None = None,
    launch: Launch | None = None,
    algorithm: str = "auto",
    overlap: bool = True,
    bucket_bytes: float = 25e6,
    dtype_peaks: Mapping[str, float] | None = None,
    efficiency: Efficiency | float | None = None,
    variation: Variation | None = None,
    overlap_slowdown: float = 0.0,
    strategy: Any = None,
    axis_name: str | None = None,
) -> StepPrediction:
    """Say how long a data-parallel step takes on every device of a cluster, from shapes alone: nothing is computed.

    >>> import jax
    >>> from simulator import libraries, presets
    >>> def step(w, x):
    ...     gradient = jax.grad(lambda w: (x @ w).sum())(w)
    ...     return w - 0.1 * jax.lax.pmean(gradient, "replicas")
    >>> shapes = jax.ShapeDtypeStruct((4096, 4096), "bfloat16"), jax.ShapeDtypeStruct((512, 4096), "bfloat16")
    >>> found = predict_step(step, shapes, cluster=presets.dgx_h100(), library=libraries.nccl(), axis_name="replicas")
    >>> round(found.flops / 1e9, 1), round(found.exchanged_bytes / 1e6, 1)
    (17.2, 33.6)

    Args:
        step: a `tf.function`, or a function that calls `strategy.run`; with `strategy`, what runs in each replica; with
            `axis_name`, a function of JAX that meets the others by that name; a compiled Keras model, whose step of `fit` it is.
        specs: its arguments, as `TensorSpec`, `jax.ShapeDtypeStruct`, or nests of these; each is what one replica gets.
        cluster: where it runs, one replica on each device.
        overlap: whether all-reduces go on while devices compute.
        bucket_bytes: gradients that are ready wait for each other until there are so many bytes.
        dtype_peaks: operations per second by the name of a dtype, where DTYPE_SHARES of the device's peak is not right.
        efficiency: what kernels reach; a number is the share of the peak in products.
        variation: how devices differ.
        overlap_slowdown: by how much longer kernels take while an exchange runs beside them; `step_timeline.MEASURED_SLOWDOWN`
            is what others have measured.
    """
    require_cluster(cluster, bucket_bytes)
    traced = traced_step(step, tuple(specs) if isinstance(specs, (tuple, list)) else (specs,), strategy, axis_name)
    return predict_traced(
        traced, cluster=cluster, library=library, launch=launch, algorithm=algorithm, overlap=overlap, bucket_bytes=bucket_bytes,
        dtype_peaks=dtype_peaks, efficiency=efficiency, variation=variation, overlap_slowdown=overlap_slowdown,
    )  # fmt: skip


def predict_traced(
    traced: TracedStep,
    *,
    cluster: Cluster,
    library: Library | None = None,
    launch: Launch | None = None,
    algorithm: str = "auto",
    overlap: bool = True,
    bucket_bytes: float = 25e6,
    dtype_peaks: Mapping[str, float] | None = None,
    efficiency: Efficiency | float | None = None,
    variation: Variation | None = None,
    overlap_slowdown: float = 0.0,
) -> StepPrediction:
    """The same for a step that was traced before."""
    require_cluster(cluster, bucket_bytes)
    if not isinstance(overlap_slowdown, (int, float)) or not 0 <= overlap_slowdown < math.inf:
        raise ValueError(
            f"predict_step() got overlap_slowdown={overlap_slowdown!r}; expected at least 0. Use 0.189 for what was measured."
        )
    _require_replicas(traced, cluster)
    exchange = exchange_on(cluster, library, launch, algorithm)
    return _predicted(
        traced, cluster, exchange, overlap, float(bucket_bytes), dtype_peaks or {}, _efficiency(efficiency),
        variation or Variation(), overlap_slowdown,
    )  # fmt: skip


def require_cluster(cluster: Any, bucket_bytes: Any) -> None:
    """Raise unless devices are given that take time to compute, and buckets for their gradients."""
    if not isinstance(cluster, Cluster):
        raise TypeError(
            f"predict_step() got cluster={cluster!r}; expected a simulator.Cluster. Use one of simulator.presets."
        )
    if not isinstance(bucket_bytes, (int, float)) or not bucket_bytes >= 0:
        raise ValueError(
            f"predict_step() got bucket_bytes={bucket_bytes!r}; expected at least 0. Use 25e6, or 0 for none."
        )
    if math.isinf(cluster.kind.flops_per_second):
        raise ValueError(
            f"predict_step() got {cluster!r}, whose devices compute in no time; expected a DeviceKind with flops_per_second. Use "
            f"one of simulator.presets, or give the cluster a kind."
        )


def _require_replicas(traced: TracedStep, cluster: Cluster) -> None:
    """Raise for a step that was written for one replica, which exchanges nothing, on several devices."""
    if traced.replicas == 1 and cluster.device_count > 1:
        raise OneReplica(
            f"predict_step() got a step of a strategy with 1 replica for a cluster of {cluster.device_count:,} devices; expected "
            f"one with 2 replicas or more, because one replica exchanges nothing. Make the strategy, and its variables or its "
            f'model, on two virtual devices or more: after tf.use("simulator", gpus=2).'
        )


def _predicted(
    traced: TracedStep,
    cluster: Cluster,
    exchange: Callable[[str, float], Prediction],
    overlap: bool,
    bucket_bytes: float,
    peaks: Mapping[str, float],
    efficiency: Efficiency,
    variation: Variation,
    overlap_slowdown: float,
) -> StepPrediction:
    work = work_of(traced.jaxpr)
    factors = variation.factors(cluster.device_count)
    slowest, mean = float(factors.max()), float(factors.mean())
    plain = [seconds_of(one, cluster.kind, efficiency, peaks) for one in work]
    carried = np.zeros(cluster.link_count)

    def exchanged(kind: str, size: float) -> Exchange:
        found = exchange(kind, size)
        carried[:] += found.link_bytes
        name = f"{found.algorithm} {found.protocol}".strip()
        return Exchange(found.seconds, name, found.parts.get("launch", 0.0))

    line = timeline(
        work, [seconds * slowest for seconds, _ in plain], exchanged, overlap=overlap, bucket_bytes=bucket_bytes,
        overlap_slowdown=overlap_slowdown,
    )  # fmt: skip
    kernels = sum(launch for _, launch in plain)
    compute = line.compute_seconds * mean / slowest
    parts = {
        "compute": compute - kernels * mean,
        "exposed communication": line.exposed_seconds,
        "waiting": line.compute_seconds - compute,
        "launch": kernels * mean,
    }
    sent = sum(one.moved_bytes for one in work if one.kind != "compute")
    return StepPrediction(
        line.seconds, parts, cluster.device_count, sum(one.flops for one in work), cluster.kind.flops_per_second,
        _memory(traced, sent), sent, _busiest(cluster, carried), line, cluster,
    )  # fmt: skip


def seconds_of(one: Work, kind: DeviceKind, efficiency: Efficiency, peaks: Mapping[str, float]) -> tuple[float, float]:
    """How long a piece of work takes on a device, and how much of that is because no kernel is shorter."""
    if one.kind != "compute":
        return 0.0, 0.0
    peak = peaks.get(one.dtype, kind.flops_per_second * DTYPE_SHARES.get(one.dtype, 0.5))
    computing = one.flops / (peak * efficiency.flops)
    moving = one.moved_bytes / (kind.memory_bandwidth_bytes_per_second * efficiency.memory)
    seconds = max(computing, moving)
    least = efficiency.kernel_seconds if one.kernel else 0.0
    return max(seconds, least), max(least - seconds, 0.0)


def exchange_on(
    cluster: Cluster, library: Library | None, launch: Launch | None, algorithm: str
) -> Callable[[str, float], Prediction]:
    """What says how long a collective of some kind and size takes on a cluster."""
    known: dict[tuple[str, float], Prediction] = {}

    def exchange(kind: str, size: float) -> Prediction:
        key = (kind, size)
        if key not in known:
            if kind == "all_reduce":
                known[key] = predict_all_reduce(cluster, size, algorithm, library=library, launch=launch)
            else:
                other = predict_all_gather if kind == "all_gather" else predict_send
                known[key] = other(cluster, size, library=library, launch=launch)
        return known[key]

    if (library, launch, algorithm) != (None, None, "auto"):
        exchange("all_reduce", 0.0)  # says what is wrong with them, also to a step that exchanges nothing
    return exchange


def _efficiency(given: Any) -> Efficiency:
    if given is None or isinstance(given, Efficiency):
        return given or Efficiency()
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        return Efficiency(flops=float(given))
    raise TypeError(
        f"predict_step() got efficiency={given!r}; expected a share of the peak, or an Efficiency. Use 0.7."
    )


def _memory(traced: TracedStep, gradients: float) -> dict[str, float]:
    """What a device holds at most, and of what kind."""
    temporary = traced.temporary_bytes
    return {
        "parameters": traced.parameter_bytes,
        "other variables": traced.state_bytes,
        "arguments": traced.argument_bytes,
        "gradients": min(gradients, temporary),
        "activations": max(temporary - gradients, 0.0),
    }


def _busiest(cluster: Cluster, carried: np.ndarray[Any, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    place = 0
    for link in cluster.links:
        found[link.name or "link"] = float(carried[place : place + link.count].max(initial=0.0))
        place += link.count
    return found
