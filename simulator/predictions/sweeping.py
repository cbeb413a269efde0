"""Scaling curves: one step on more and more devices, on several clusters, and by several algorithms."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from simulator.base.notebook_tables import DARK, LIGHT, escaped
from simulator.base.step_records import time_text
from simulator.machines.topology import Cluster
from simulator.predictions.predicted_step import StepPrediction, predict_traced
from simulator.predictions.step_tracing import traced_step

Clusters = Mapping[str, Callable[[int], Cluster]]


@dataclasses.dataclass(frozen=True)
class SweepRow:
    """A step on one cluster."""

    cluster: str
    algorithm: str
    replicas: int
    prediction: StepPrediction
    efficiency: float  # of the first number of replicas, in replicas per second


@dataclasses.dataclass(frozen=True)
class Sweep:
    """A step on all of them: a table when printed, a picture in notebooks."""

    rows: tuple[SweepRow, ...]

    def __repr__(self) -> str:
        return f"<Sweep of {len(self.rows)} steps>"

    def __str__(self) -> str:
        lines = [f"{'cluster':<16}{'algorithm':<12}{'replicas':>9}{'step':>12}{'exposed':>12}{'efficiency':>12}"]
        for row in self.rows:
            exposed = row.prediction.parts["exposed communication"]
            lines.append(
                f"{row.cluster:<16}{row.algorithm:<12}{row.replicas:>9,}{time_text(row.prediction.seconds):>12}"
                f"{time_text(exposed):>12}{row.efficiency:>12.1%}"
            )
        return "\n".join(lines)

    def to_svg(self) -> str:
        """Efficiency over the number of replicas, a line for each cluster and algorithm."""
        return curves(
            {
                " ".join(filter(None, (cluster, algorithm))): [
                    (row.replicas, row.efficiency)
                    for row in self.rows
                    if (row.cluster, row.algorithm) == (cluster, algorithm)
                ]
                for cluster, algorithm in dict.fromkeys((row.cluster, row.algorithm) for row in self.rows)
            }
        )

    def _repr_svg_(self) -> str:
        return self.to_svg()


def sweep(
    step: Any,
    specs: Sequence[Any] = (),
    *,
    clusters: Clusters | Callable[[int], Cluster],
    replicas: Sequence[int] = (8, 64, 512, 4096),
    algorithms: Sequence[str] = ("auto",),
    strategy: Any = None,
    axis_name: str | None = None,
    **options: Any,
) -> Sweep:
    """Predict a step on several numbers of replicas; the step is traced once.

    >>> import jax
    >>> from simulator import libraries, presets
    >>> def step(w, x):
    ...     return w - jax.lax.pmean(jax.grad(lambda w: (x @ w).sum())(w), "replicas")
    >>> shapes = jax.ShapeDtypeStruct((4096, 4096), "bfloat16"), jax.ShapeDtypeStruct((4096, 4096), "bfloat16")
    >>> found = sweep(step, shapes, clusters=lambda n: presets.dgx_h100(n // 8), replicas=[8, 64], axis_name="replicas",
    ...               library=libraries.nccl())
    >>> [row.replicas for row in found.rows]
    [8, 64]

    Args:
        clusters: makes a cluster, given the number of its devices; or several, by name.
        algorithms: "auto", or those of the library.
        options: as for `predict_step`.
    """
    named = _by_name(clusters)
    if not named or not replicas or not algorithms:
        raise ValueError(
            "sweep() got no clusters, replicas or algorithms; expected at least one of each. Give replicas=[8, 64]."
        )
    traced = traced_step(step, tuple(specs) if isinstance(specs, (tuple, list)) else (specs,), strategy, axis_name)
    rows: list[SweepRow] = []
    for name, make in named.items():
        for algorithm in algorithms:
            first: float | None = None
            for count in replicas:
                found = predict_traced(traced, cluster=make(count), algorithm=algorithm, **options)
                first = found.seconds if first is None else first
                shown = name or found.cluster.name
                rows.append(SweepRow(shown, algorithm, count, found, first / found.seconds))
    return Sweep(tuple(rows))


def _by_name(clusters: Clusters | Callable[[int], Cluster]) -> Clusters:
    named = {"": clusters} if callable(clusters) else clusters
    if not isinstance(named, Mapping) or not all(callable(make) for make in named.values()):
        raise TypeError(
            f"sweep() got clusters={clusters!r}; expected a function that makes a cluster of n devices, or several by name. "
            "Give clusters=lambda n: presets.dgx_h100(n // 8), or clusters={'H100': ..., 'A100': ...}."
        )
    return named


_COLOURS = ("#2b6cb0", "#c05621", "#2f855a", "#6b46c1", "#b83280", "#975a16")
_ON_DARK = ("#63a4e8", "#ee9157", "#5cc28d", "#a98bee", "#ec7ab8", "#d9a24e")
_HUES = len(_COLOURS)


def _hues(colours: Sequence[str]) -> str:
    return "".join(f".rd-curves .hue{place}{{--hue:{colour}}}" for place, colour in enumerate(colours))


_STYLE = (
    f".rd-curves{{{LIGHT};font:12px sans-serif}}{_hues(_COLOURS)}"
    f"@media(prefers-color-scheme:dark){{.rd-curves{{{DARK}}}{_hues(_ON_DARK)}}}"
    ".rd-curves .ground{fill:var(--ground);stroke:var(--edge)}.rd-curves .grid{stroke:#8884}"
    ".rd-curves text{fill:var(--faint)}.rd-curves .line{fill:none;stroke:var(--hue);stroke-width:2}"
    ".rd-curves .dot,.rd-curves text.name{fill:var(--hue)}"
)


def curves(lines: Mapping[str, Sequence[tuple[int, float]]]) -> str:
    """Lines over numbers of replicas, on an axis on which each doubling is as wide."""
    width, height, edge = 640, 320, 48
    counts = sorted({count for points in lines.values() for count, _ in points})
    low, high = math.log2(counts[0]), math.log2(max(counts[-1], counts[0] + 1))
    top = max(1.0, *(value for points in lines.values() for _, value in points))

    def x(count: int) -> float:
        return edge + (math.log2(count) - low) / (high - low) * (width - edge - 170)

    def y(value: float) -> float:
        return height - edge - value / top * (height - edge - 20)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="rd-curves" viewBox="0 0 {width} {height}" width="{width}" '
        f'style="max-width:100%;height:auto" role="img">',
        f"<title>Scaling efficiency</title><style>{_STYLE}</style>",
        f'<rect class="ground" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="6"/>',
    ]
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(f'<path class="grid" d="M{edge} {y(share):.1f}H{width - 170}"/>')
        parts.append(f'<text x="{edge - 6}" y="{y(share) + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    parts += [
        f'<text x="{x(count):.1f}" y="{height - edge + 18}" text-anchor="middle">{count:,}</text>' for count in counts
    ]
    parts.append(f'<text x="{(width - 120) / 2}" y="{height - 8}" text-anchor="middle">replicas</text>')
    for place, (name, points) in enumerate(lines.items()):
        hue = f"hue{place % _HUES}"
        path = "L".join(f"{x(count):.1f} {y(value):.1f}" for count, value in points)
        parts.append(f'<path d="M{path}" class="line {hue}"/>')
        parts += [
            f'<circle cx="{x(count):.1f}" cy="{y(value):.1f}" r="3" class="dot {hue}"/>' for count, value in points
        ]
        parts.append(f'<text x="{width - 160}" y="{30 + 18 * place}" class="name {hue}">{escaped(name)}</text>')
    return "\n".join([*parts, "</svg>"])
