"""Every behavior of the areas that are built has one check, which passes, and one fault, on which it fails."""

import dataclasses
from importlib.util import find_spec

import pytest

import refdist as tf
from conformance import catalogue
from conformance.case import missing_features, run_case, run_with_fault
from conformance.checks import checks
from conformance.faults import faults
from conformance.implementations import find
from conformance.results import Status
from conformance.selection import quickest
from tests.own_warnings import own_warnings
from tests.thorough import examples

BUILT = ["ATTR", "SCOPE", "CTX", "VAR", "RUN", "REDUCE", "LOCAL", "VALUES", "ONE", "MIRROR", "CENTRAL", "DEVICE"]
BUILT += ["DATASET", "DATAFN", "NUMPY", "ITER", "V1RUN", "CONFIG", "CLUSTER", "LOGICAL", "FUNC", "KERAS"]
# What the pages themselves promise a warning of, or what a default leaves unused; none of it is about a wrong number.
DOCUMENTED = ("deprecated", "run() got an argument of type", "does not come from files alone", "leaves the other")
# Checks that mean to leave a replica without rows: of batches that the number of replicas does not divide.
IDLE = dict.fromkeys(("CENTRAL-07", "CENTRAL-11", "DATASET-31", "DATASET-37", "FUNC-06"), "got no rows in any of the")
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
        with own_warnings() as told:
            results = [run_case(find(implementation), check, count) for count in replicas]
        assert [] == [result for result in results if result.status is not Status.PASS]
        assert [] == [
            text for text in told if not any(word in text for word in (*DOCUMENTED, IDLE.get(id, "deprecated")))
        ]


def test_hundreds_of_correct_programs_are_told_nothing_by_the_checks():
    """Those above, which count a warning as a failure; the programs of tests/modes and tests/programs are more of them."""
    assert len(IDS) >= 300


def test_a_warning_of_a_check_is_seen_although_checks_are_run_without_warnings():
    def wrong(world):
        tf.use("simulator", gpus=2)
        strategy = tf.distribute.MirroredStrategy()
        for x in strategy.experimental_distribute_dataset(tf.data.Dataset.range(3).batch(2)):
            strategy.run(lambda x: tf.reduce_mean(tf.cast(x, tf.float32)), args=(x,))

    check = dataclasses.replace(checks()["RUN-01"], function=wrong)
    with own_warnings() as told:
        run_case(find("simulator"), check, 2)

    assert 1 == len([text for text in told if "the mean of no numbers, taken at" in text])


def test_every_check_and_every_fault_belongs_to_a_behavior_that_is_built():
    assert set(IDS) == set(checks())
    faulty = {id for id in IDS if supported(id) or "keras" in checks()[id].needs}
    assert faulty == set(faults())
