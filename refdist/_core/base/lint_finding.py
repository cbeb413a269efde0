"""What a static look at a step can find: the kinds, and one finding."""

import dataclasses

from refdist._core.base.call_sites import Place, line_text

KINDS = {
    "sum-of-equal": "Use MEAN, leave the reduction out, or divide by num_replicas_in_sync before it.",
    "reduced-twice": "Drop one of the two reductions; keep all_reduce() out of the tape if an optimizer reduces the gradients.",
    "local-mean-summed": "Divide by the global batch size, as tf.nn.compute_average_loss() does, or reduce with MEAN.",
    "mean-of-means": "Reduce the totals and the counts with SUM, each by itself, and divide afterwards.",
    "equal-term-summed": "Divide the term by num_replicas_in_sync, as tf.nn.scale_regularization_loss() does.",
    "bent-before-reduce": "Reduce first, and clip or normalise what comes out.",
    "unreduced-state": "Combine the values with all_reduce(), or pass aggregation=... when you make the variable.",
    "on-read-to-mirrored": "Combine the values of the variable with all_reduce() before they are used for others.",
    "one-replica-result": "Combine the values of all replicas with strategy.reduce().",
    "mean-in-summed-state": "Keep the total and the count, both with aggregation SUM, and divide when they are read.",
    "meeting": "Let all replicas meet in the same places.",
}
"""For each kind of finding, what to do about it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One line that is probably wrong, why, and the other lines that have to do with it."""

    kind: str
    place: Place | None
    message: str
    others: tuple[Place, ...] = ()

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return KINDS[self.kind]

    def __str__(self) -> str:
        where = f"{line_text(self.place.file, self.place.line)}: " if self.place is not None else ""
        return f"{where}{self.message} {self.remedy} [{self.kind}]"
