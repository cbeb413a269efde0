"""Variables as tables for notebooks: which device holds which copy."""

from typing import Any

from refdist._core.base.enums import VariableAggregation
from refdist._core.base.html_tables import page, paragraph
from refdist._core.base.where import HERE
from refdist._core.devices.tensor import dtype_name
from refdist._core.replicas.value_tables import value_table


def variable_table(variable: Any) -> str:
    """A row for each copy, or for each shard; before a program runs, its variables have no value."""
    parts = variable.shards if len(variable.shards) > 1 else variable.all_copies
    kind = f"{dtype_name(variable.dtype)}[{','.join(map(str, variable.shape))}]"
    told = [] if variable.synchronization.name == "AUTO" else [f"synchronization {variable.synchronization.name}"]
    if variable.aggregation is not VariableAggregation.NONE:
        told.append(f"aggregation {variable.aggregation.name}")
    title = f"{type(variable).__name__} {', '.join([repr(variable.name), kind, *told])}"
    if HERE.get().draft is not None:
        return page(paragraph(title))
    return value_table(title, "shard" if len(variable.shards) > 1 else "copy", [one.stored for one in parts])
