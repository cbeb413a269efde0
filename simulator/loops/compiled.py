"""Loading the loops that numba compiles, when they are first needed: numba takes half a second, and may not be there."""

import importlib
from typing import Any


def compiled(name: str) -> Any:
    """Load a module of this room, which needs numba."""
    try:
        return importlib.import_module(f"simulator.loops.{name}")
    except ModuleNotFoundError as error:
        if error.name != "numba":
            raise
        raise ModuleNotFoundError(
            "Clusters and predicted times need numba, which is not installed; expected it in this environment. Run "
            "pip install 'refdist[simulator]', or 'refdist[all]' for everything.",
            name="numba",
        ) from None
