"""What a backend was asked to look at while it computes: the options `numerics`, `watch` and `randomness` of `use`."""

import dataclasses
from typing import Any

from refdist._core.seam.backend import Backend

LOOKS = {"numerics": ("off", "check"), "watch": ("off", "python"), "randomness": ("off", "check")}


@dataclasses.dataclass(frozen=True, slots=True)
class Inspection:
    """What is looked at, beyond what always is.

    Args:
        numerics: each reduction is repeated in float64.
        python: what replicas change in Python, and which files workers write.
        randomness: draws of equal numbers on several replicas.
    """

    numerics: bool = False
    python: bool = False
    randomness: bool = False


def inspection_in(options: dict[str, Any]) -> tuple[Inspection | None, dict[str, Any]]:
    """What the options of a backend ask to look at, None for nothing, and the other options."""
    others = {key: value for key, value in options.items() if key not in LOOKS}
    for key, words in LOOKS.items():
        word = options.get(key, "off")
        if word not in words:
            raise ValueError(
                f"{key} is {word!r}; expected {' or '.join(map(repr, words))}. Write {key}={words[-1]!r}, or leave it out."
            )
    found = Inspection(*(options.get(key, "off") != "off" for key in LOOKS))
    return (None if found == Inspection() else found), others


def inspection_of(backend: Backend) -> Inspection | None:
    """What a backend was asked to look at; backends of others need not know of it."""
    return getattr(backend, "inspection", None)
