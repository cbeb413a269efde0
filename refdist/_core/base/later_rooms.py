"""What rooms ask of later ones: `wiring.py` says who answers, when refdist is loaded, and before any room is."""

from collections.abc import Callable, Mapping
from typing import Any

_ANSWERS: dict[str, Callable[..., Any]] = {}


def tell(answers: Mapping[str, Callable[..., Any]]) -> None:
    """Say who answers which questions."""
    _ANSWERS.update(answers)


def ask(question: str, *details: Any, **named: Any) -> Any:
    """Ask a later room.

    >>> tell({"doubled": lambda number: 2 * number})
    >>> ask("doubled", 4)
    8
    """
    return _ANSWERS[question](*details, **named)
