"""What a difference between two numbers of replicas usually means."""

import linecache
from collections.abc import Sequence

import numpy as np

from refdist._core.testing.factors import Factor, counted_each_time
from refdist._core.testing.facts import Fact
from refdist._core.testing.recorded_journal import users_place

_GLOBAL = "tf.nn.compute_average_loss(per_example, global_batch_size=...)"
_SUM_OF_MEANS = (
    f"a mean over the rows of each replica is summed over the replicas: a loss that is not divided by the global batch. Divide by "
    f"the number of rows of the whole batch, as {_GLOBAL} does, or combine with MEAN"
)
_OR_AGAIN = (
    "or the optimizer, which sums gradients, was given some that were reduced before; or a rate was multiplied by the number of "
    "replicas"
)
_TWICE = (
    "what is summed is already equal on all replicas: it was reduced before, or depends on no data (a regulariser, a constant). "
    "Drop one of the reductions, or divide by num_replicas_in_sync"
)
_SQUARED = (
    "two sums over the replicas come together: a gradient is taken through an all_reduce inside the tape, or is reduced twice, "
    "or a sum of local means is. Keep reductions outside of the tape, and reduce gradients once"
)
_COUNTER = (
    "a counter grows once on each replica instead of once in each step. Advance it outside of strategy.run, or with aggregation "
    "ONLY_FIRST_REPLICA"
)
_METRIC = (
    "each replica keeps a mean or a ratio, and reading the variable sums them. Keep a sum and a count in variables with "
    "aggregation SUM, and divide when you read them"
)
_DIVIDED = (
    "it is divided once too often: by the global batch, and then by a MEAN over the replicas. Use SUM there, or divide by the rows "
    "of the replica"
)
_REGULARISER = (
    "the difference is N - 1 times the same: a term that does not depend on a replica's rows, such as a regulariser, is counted "
    "once on each replica. Divide it by num_replicas_in_sync (tf.nn.scale_regularization_loss)"
)
STATISTICS = (
    "statistics of a batch are taken on each replica's own rows. Use BatchNormalization(synchronized=True), or leave the variable "
    "out with except_for="
)
_RANDOM = (
    "replicas draw random numbers (such as dropout), and draw others when there are more of them. Switch that off in the test, or "
    "draw what belongs to a row from stateless functions, with a seed that is made from the row"
)
_MEAN_OF_MEANS = (
    "means over different numbers of rows (or tokens) are averaged as if these were equal. Sum the values and the numbers over the "
    "replicas, and divide the sums"
)
_NON_LINEAR = (
    "something that is not linear comes before the reduction: clipping or normalising each replica's gradient, or dividing by a "
    "number that each replica counts by itself. Reduce first"
)
_UNREDUCED = (
    "it was not combined over the replicas: what one of them has is taken for the value of all. Reduce it first, with "
    "strategy.reduce() or all_reduce()"
)
_ORDER = "the sum depends on the order of its terms: large ones cancel. Sum in float64, or scale the values"


def meaning(facts: Sequence[tuple[int, Fact]], factor: Factor, rtol: float, *, draws: bool) -> str:
    """Say what usually makes such a difference, given the fact of each run and its number of replicas."""
    (_, one), *_, (_, fact) = facts
    equal = len(fact.brought) > 1 and all(np.array_equal(part, fact.brought[0]) for part in fact.brought)
    if factor.name == "N" and fact.kind == "meeting" and equal and _differentiates(fact):
        return _SQUARED
    if factor.name == "N":
        if fact.value.dtype.kind in "iu" and fact.kind == "write":
            return _COUNTER
        if fact.own_copies == "SUM":
            return _METRIC
        if len(fact.brought) < 2 and fact.kind == "write":  # as below an optimizer: what was summed is not known here
            return f"{_SUM_OF_MEANS}; {_OR_AGAIN}"
        return _TWICE if equal else _SUM_OF_MEANS
    if factor.name == "N squared":
        return _SQUARED
    if factor.name in ("1/N", "1/N squared"):
        return _UNREDUCED if fact.kind == "return" else _DIVIDED
    if any(word in fact.what for word in ("moving_mean", "moving_variance")):
        return STATISTICS
    if draws:
        return _RANDOM
    if fact.kind == "return" or fact.own_copies == "ONLY_FIRST_REPLICA":
        return _UNREDUCED
    if cancels(fact) or cancels(one):
        return _ORDER
    if counted_each_time(facts, rtol):
        return _REGULARISER
    if "MEAN" in fact.what or fact.own_copies == "MEAN":
        return _MEAN_OF_MEANS
    return f"either {_NON_LINEAR}; or {_MEAN_OF_MEANS}"


def _differentiates(fact: Fact) -> bool:
    """Say whether a meeting is held while a gradient is taken: then it is that of a meeting under the tape."""
    place = users_place(fact.site)
    return place is not None and "gradient(" in linecache.getline(place.file, place.line)


def cancels(fact: Fact) -> bool:
    """Say whether the terms of a sum are so large that rounding decides what it is."""
    shapes = {part.shape for part in fact.brought}
    if shapes != {fact.value.shape} or fact.value.dtype.kind != "f":
        return False
    parts = np.stack([part.astype(np.float64) for part in fact.brought])
    size, total = np.abs(parts).sum(0), np.abs(fact.value.astype(np.float64))
    return bool(np.any((size > 0) & (total < 64 * np.finfo(fact.value.dtype).eps * size)))
