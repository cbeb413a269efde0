"""Every behavior of the areas that are built has one check, which passes, and one fault, on which it fails."""

from importlib.util import find_spec

import pytest

from conformance import catalogue
from conformance.case import missing_features, run_case, run_with_fault
from conformance.checks import checks
from conformance.faults import faults
from conformance.implementations import find
from conformance.results import Status
from conformance.selection import quickest
from tests.thorough import examples

BUILT = ["ATTR", "SCOPE", "CTX", "VAR", "RUN", "REDUCE", "LOCAL", "VALUES", "ONE", "MIRROR", "CENTRAL", "DEVICE"]
BUILT += ["DATASET", "DATAFN", "NUMPY", "ITER", "V1RUN", "CONFIG", "CLUSTER", "LOGICAL", "FUNC", "KERAS"]
IDS = [id for id, behavior in catalogue.load().items() if behavior.area in BUILT]


def supported(id):
    return missing_features(find("simulator"), checks()[id]) is None


@pytest.mark.parametrize("id", IDS)
def test_the_check_fails_on_its_fault_and_passes_without_it(id):
    check = checks()[id]
    if "keras" in check.needs and find_spec("keras") is None:
        pytest.skip("needs keras")
    if not supported(id):
        assert id not in faults(), "a fault that cannot be shown to be caught proves nothing"
        assert {Status.UNSUPPORTED} == {run_case(find("simulator"), check, count).status for count in check.replicas}
        return

    # In this process nothing can time out, so that the first count of replicas with which the check fails settles it.
    broken = (run_with_fault(find("simulator"), check, count, faults()[id]).status for count in check.replicas)
    assert Status.FAIL in broken, "the check does not notice its planted fault"
    # The host does everything as the simulator does but for the folding of arrays, which two replicas show.
    counts = {"simulator": check.replicas, "host": quickest(check.replicas)[: examples(1, 8)]}
    for implementation, replicas in counts.items():
        results = [run_case(find(implementation), check, count) for count in replicas]
        assert [] == [result for result in results if result.status is not Status.PASS]


def test_every_check_and_every_fault_belongs_to_a_behavior_that_is_built():
    assert set(IDS) == set(checks())
    faulty = {id for id in IDS if supported(id) or "keras" in checks()[id].needs}
    assert faulty == set(faults())
