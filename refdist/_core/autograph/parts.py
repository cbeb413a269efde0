"""A part of a draft that becomes a branch or a loop: what it writes is kept apart."""

import contextlib
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from refdist._core.base.where import HERE

if TYPE_CHECKING:
    from refdist._core.seam.draft import Draft


def own_draft() -> "Draft | None":
    """The draft whose variables a branch or a loop may write; None inside a transformation of JAX, where nothing is written."""
    draft = HERE.get().draft
    return None if draft is None or draft.in_transformation() else draft


@contextlib.contextmanager
def part_of(
    draft: "Draft | None", values: dict[Any, Any] | None = None, conditions: Sequence[Any] = ()
) -> Generator[dict[Any, Any]]:
    """Write a part; the dict has what variables hold, and what has to hold, at the current point of it.

    Args:
        conditions: on which the part depends.
    """
    if draft is None:
        yield {}
        return
    with draft.part(values, conditions) as own:
        yield own


def seen_by_tapes(draft: "Draft", key: Any) -> Any:
    """The value of a variable that a part has read; tapes around the part are told of it."""
    value, tapes = draft.values[key], HERE.get().tapes
    return value if tapes is None or key not in draft.read_in_parts else tapes.read(draft.read_in_parts[key], value)
