"""How long to wait for other workers before it is an error, or worth a word."""

import dataclasses
import os
from typing import Any


@dataclasses.dataclass(frozen=True)
class Limits:
    """In seconds."""

    initialization_timeout: float = 60.0  # for all workers to come together at the start
    silence_seconds: float = 10.0  # without a sign of life, after which a worker counts as lost
    stall_seconds: float = 30.0  # of waiting for one that is alive, after which it is said who is where
    stall_limit: float = 600.0  # of such waiting, after which it is an error
    abandon_seconds: float = 10.0  # inside JAX after a failure, after which the process of a worker ends


_NAMES = tuple(field.name for field in dataclasses.fields(Limits))
_told: dict[str, float] = {}  # by the program


def set_limits(**seconds: float) -> Limits:
    """Say how long to wait for other workers; what is left out stays as it is, and everything is returned.

    From outside, REFDIST_INITIALIZATION_TIMEOUT=120 and the like say the same.
    """
    for name, value in seconds.items():
        _told[name] = _required(name, value, "set_limits()")
    return limits()


def limits() -> Limits:
    """What holds now: what the program has said, or else the environment."""
    outside = {name: os.environ.get(f"REFDIST_{name.upper()}") for name in _NAMES}
    said = {name: _required(name, text, "The environment") for name, text in outside.items() if text}
    return Limits(**{**said, **_told})


def _required(name: str, value: Any, who: str) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        seconds = -1.0
    if name not in _NAMES or isinstance(value, bool) or not seconds > 0:
        raise ValueError(
            f"{who} gave {name}={value!r}; expected a number of seconds above 0 for one of {', '.join(_NAMES)}. Correct it."
        )
    return seconds
