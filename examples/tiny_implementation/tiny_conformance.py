"""How the conformance suite opens tiny: what it has, and so what may be asked of it."""

import importlib

from conformance import Implementation


def _open():
    return importlib.import_module("tiny")  # not imported above, so that naming tiny costs nothing


tiny = Implementation(
    name="tiny",
    open=_open,
    kinds=frozenset({"Default", "OneDevice", "Mirrored"}),
    features=frozenset({"core"}),
    gpus=0,
    cpus=8,
)
