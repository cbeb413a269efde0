"""How many examples of a sentence tests run: enough for every change, or, when asked, many more."""

import os

THOROUGH = os.environ.get("REFDIST_TESTS_THOROUGH") == "1"  # which `./dev test --thorough` sets


def examples(few: int, many: int) -> int:
    """A number of examples; the few are among the many."""
    return many if THOROUGH else few
