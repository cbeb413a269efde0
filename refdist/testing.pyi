from refdist._core.input.distributed_dataset import stages_of as stages_of
from refdist._core.strategies.numerics import allow_nonfinite as allow_nonfinite
from refdist._core.testing.lint import lint as lint
from refdist._core.testing.lint_report import LintReport as LintReport, LintWarning as LintWarning
from refdist._core.testing.recorded_journal import (
    Made as Made,
    Met as Met,
    Ran as Ran,
    RecordedJournal as RecordedJournal,
    Written as Written,
    journal as journal,
)
from refdist._core.testing.same_on import (
    Difference as Difference,
    ReplicasDiffer as ReplicasDiffer,
    assert_same_on as assert_same_on,
)

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
