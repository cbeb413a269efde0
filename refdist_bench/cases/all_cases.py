"""All cases, in the order in which they are measured and shown."""

from refdist_bench.benchmark_case import Case
from refdist_bench.cases.collective_cases import collective_cases
from refdist_bench.cases.eager_cases import eager_cases
from refdist_bench.cases.overhead_cases import overhead_cases
from refdist_bench.cases.process_cases import process_cases
from refdist_bench.cases.training_cases import training_cases
from refdist_bench.cases.whole_program_cases import whole_program_cases
from refdist_bench.settings import Settings

KINDS = (eager_cases, training_cases, overhead_cases, collective_cases, process_cases, whole_program_cases)


def all_cases(settings: Settings) -> list[Case]:
    """Return every case that the settings ask for."""
    return [case for kind in KINDS for case in kind(settings)]
