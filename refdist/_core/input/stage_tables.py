"""Datasets as tables for notebooks: the chain of their stages, from the source on."""

from collections.abc import Iterator, Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.base.html_tables import folded, page, paragraph, table
from refdist._core.input.stage import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Stage
from refdist._core.replicas.specs import PerReplicaSpec, shapes_text, types_text

_HEAD = ("stage", "shapes", "types", "elements")


def stage_table(title: str, stage: Stage) -> str:
    """A row for each stage; those of the inputs of a stage with several are indented."""
    return page(_rows(title, stage))


def distributed_table(spec: Any, stage: Stage, stages: Sequence[str]) -> str:
    """The same, with what a replica gets of it."""
    count = max((len(leaf.specs) for leaf in nest.flatten(spec) if isinstance(leaf, PerReplicaSpec)), default=1)
    first = nest.map_structure(lambda leaf: leaf.specs[0] if isinstance(leaf, PerReplicaSpec) else leaf, spec)
    gets = f"Each of {count:,} replicas gets" if count > 1 else "The replica gets"
    done = f"Distributed by {', '.join(stages)}." if stages else "Distributed as it is."
    told = f"{done} {gets} shapes {shapes_text(first)}, types {types_text(first)}."
    return page(_rows("DistributedDataset", stage), paragraph(told))


def _rows(title: str, stage: Stage) -> str:
    every = list(_in_order(stage, 0))
    rows: list[Sequence[str]] = []
    for index in folded(len(every)):
        if index is None:
            rows.append((f"... {len(every) - 9:,} more", "", "", ""))
            continue
        depth, one = every[index]
        spec, total = one.spec(), one.cardinality()
        count = {INFINITE_CARDINALITY: "without end", UNKNOWN_CARDINALITY: "unknown"}.get(total, f"{total:,}")
        rows.append(("  " * depth + one.name.lstrip("_"), shapes_text(spec), types_text(spec), count))
    return table(title, _HEAD, rows)


def _in_order(stage: Stage, depth: int) -> Iterator[tuple[int, Stage]]:
    inner = depth + (len(stage.inputs) > 1)
    for one in stage.inputs:
        yield from _in_order(one, inner)
    yield depth, stage
