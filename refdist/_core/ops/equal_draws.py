"""Tells where one line draws the same numbers on several replicas, which seldom is meant: they hold different data."""

import warnings
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.call_sites import Site, call_site, frames_to_program, where
from refdist._core.base.errors import RandomnessWarning
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.where import HERE
from refdist._core.seam.inspection import inspection_of


def note_draw(what: str, seed: Any) -> None:
    """Warn if another replica has drawn with the same seed, at the same line and the same turn of this run."""
    here = HERE.get()
    if here.frame is None or here.frame.replica is None or here.creations is None:
        return
    backend = here.draft.compiler.real if here.draft is not None else here.frame.strategy.extended.plan.backend
    inspection = inspection_of(backend)
    if inspection is None or not inspection.randomness or any(map(is_tracer, nest.flatten(seed))):
        return
    number, site = here.frame.replica.replica_id_in_sync_group, call_site()
    if not isinstance(number, int):  # one trace stands for all replicas
        return
    known: dict[tuple[Site, int], dict[int, Any]] = here.creations.setdefault(_KEY, {})
    turn = sum(number in draws for (place, _), draws in known.items() if place == site)
    draws = known.setdefault((site, turn), {})
    equal = next((replica for replica, other in draws.items() if np.array_equal(other, seed)), None)
    draws[number] = np.asarray(seed)
    if equal is not None and len(draws) == 2:
        warnings.warn(
            f"{what} at {where(site)} draws the same numbers on the replicas {equal} and {number}, with the seed "
            f"{np.asarray(seed).tolist()}; expected other numbers on each, because they hold different data. Leave out the seed, "
            f"make a tf.random.Generator in the scope, or put the replica in: "
            f"tf.random.experimental.stateless_fold_in(seed, replica_id).",
            RandomnessWarning,
            stacklevel=frames_to_program(),
        )


_KEY = "draws of random numbers"  # among what the replicas of one run have in common
