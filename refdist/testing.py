"""What tests of a program may ask beyond the documentation: ours, not documented."""

from refdist._core.input.distributed_dataset import stages_of
from refdist._core.strategies.numerics import allow_nonfinite
from refdist._core.testing.lint import lint
from refdist._core.testing.lint_report import LintReport, LintWarning
from refdist._core.testing.recorded_journal import Made, Met, Ran, RecordedJournal, Written, journal
from refdist._core.testing.same_on import Difference, ReplicasDiffer, assert_same_on

__all__ = [
    "Difference",
    "LintReport",
    "LintWarning",
    "Made",
    "Met",
    "Ran",
    "RecordedJournal",
    "ReplicasDiffer",
    "Written",
    "allow_nonfinite",
    "assert_same_on",
    "journal",
    "lint",
    "stages_of",
]
