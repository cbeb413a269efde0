"""How programs are run, and where that may differ from the oracle: what is here is not compared, all else is."""

from collections.abc import Callable
from typing import NamedTuple


class Mode(NamedTuple):
    """One way to run a program."""

    backend: str
    how: str  # eager; or staged: around the whole program, or inside of run
    workers: bool = False  # whether virtual workers share the replicas

    @property
    def staged(self) -> bool:
        return self.how != "eager"

    def __str__(self) -> str:
        return " ".join([self.backend, self.how, *["workers"] * self.workers])


MODES = tuple(
    Mode(backend, how)
    for backend, ways in {
        "host": ["eager"],
        "simulator": ["eager", "around", "inside"],
        "jax": ["eager", "around", "inside"],
    }.items()
    for how in ways
)
WORKERS = tuple(mode._replace(workers=True) for mode in MODES if mode.how != "inside" and mode.backend != "host")

BY_DESIGN: dict[str, Callable[[Mode], bool]] = {
    # JAX makes 64-bit dtypes 32-bit ones unless it is told not to; what does not fit is refused.
    "32 bits": lambda mode: mode.backend == "jax",
    "no text": lambda mode: mode.backend == "jax",
    # A compiled program has no text; it can only pass one on.
    "text is handed on only": lambda mode: mode.staged,
    # Tensors are JAX's own arrays: these take the last element for one beyond the end, and divide by zero in silence.
    "clamps indices": lambda mode: mode.backend == "jax" and not mode.staged,
    "divides integers by zero": lambda mode: mode.backend == "jax" and not mode.staged,
}


def departures(mode: Mode) -> frozenset[str]:
    """The names of what a mode does in its own way."""
    return frozenset(name for name, holds in BY_DESIGN.items() if holds(mode))
