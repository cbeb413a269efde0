"""What the documentation of tf.distribute.Strategy promises, and who keeps the promise.

From a shell: `python -m conformance run`. From Python, one case in this process:

    from conformance import find, run_case
    from conformance.checks import checks

    run_case(find("simulator"), checks()["RUN-03"], replicas=2)
"""

from conformance.case import caught, prove, run_case
from conformance.catalogue import Behavior, load
from conformance.checks import Check, check
from conformance.expectations import CheckFailed, Unsupported
from conformance.faults import Fault, Plant, fault
from conformance.implementations import Implementation, find
from conformance.results import Case, Result, Status, worst
from conformance.world import World

__all__ = [
    "Behavior",
    "Case",
    "Check",
    "CheckFailed",
    "Fault",
    "Implementation",
    "Plant",
    "Result",
    "Status",
    "Unsupported",
    "World",
    "caught",
    "check",
    "fault",
    "find",
    "load",
    "prove",
    "run_case",
    "worst",
]
