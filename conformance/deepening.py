"""The checks of deep mode, each with its law if it has one."""

import os
from collections.abc import Mapping
from dataclasses import replace

from conformance import last
from conformance.checks import Check


def deepened(checks: Mapping[str, Check], seed: int | None) -> Mapping[str, Check]:
    """Add the laws to checks, drawn from a seed; without one the checks stay as they are."""
    if seed is None:
        return checks
    # Otherwise hypothesis makes a folder in the current directory.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(last.cache() / "hypothesis"))
    from conformance.deep import laws

    found = laws()
    return {id: replace(check, law=found[id].bound(seed)) if id in found else check for id, check in checks.items()}
