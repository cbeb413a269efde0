"""What Keras keeps for a thread or a process is kept for each replica and each worker."""

import contextvars
import importlib
import random

import refdist as tf
from refdist._core.keras.keras_state import _ContextLocal, _Random


def in_a_copy(function):
    """Run a function in a copy of the context, as a replica."""
    return contextvars.copy_context().run(function)


def on_two_workers(function):
    with tf.using("host", cpus=1):
        return tf.cluster.run_workers(lambda _: function(), 2)


def test_attributes_are_seen_in_the_context_that_has_set_them_and_in_its_copies():
    kept = _ContextLocal()

    def test():
        kept.scope = "outer"

        def replica():
            before = kept.scope
            kept.scope = "inner"
            return before, kept.scope

        return in_a_copy(replica), kept.scope

    assert (("outer", "inner"), "outer") == in_a_copy(test)
    assert not hasattr(kept, "scope")


def test_each_worker_starts_with_a_copy_and_goes_on_by_itself():
    kept = _ContextLocal()

    def test():
        kept.counts = {"dense": 1}

        def worker():
            kept.counts["dense"] += 1
            return kept.counts["dense"]

        return on_two_workers(worker), kept.counts

    assert ([2, 2], {"dense": 1}) == in_a_copy(test)


def test_each_worker_draws_the_numbers_that_it_would_draw_alone():
    keras_random = _Random()
    state = random.getstate()
    try:
        random.seed(3)
        alone = [random.randint(1, 10**9) for _ in range(3)]
        random.seed(3)

        assert [alone, alone] == on_two_workers(lambda: [keras_random.randint(1, 10**9) for _ in range(3)])
        assert alone == [keras_random.randint(1, 10**9) for _ in range(3)]
    finally:
        random.setstate(state)


def test_each_worker_has_a_seed_of_its_own():
    keras_random = _Random()
    state = random.getstate()

    def worker():
        number = tf.distribute.MultiWorkerMirroredStrategy().cluster_resolver.task_id
        keras_random.seed(number)
        return keras_random.randint(1, 10**9)

    try:
        assert [random.Random(number).randint(1, 10**9) for number in range(2)] == on_two_workers(worker)
    finally:
        random.setstate(state)


def test_variables_that_wait_are_initialized_once_for_all_contexts():
    assert tf.keras  # installs it
    common = importlib.import_module("keras.src.backend.common")

    class Variable:
        times = 0

        def _deferred_initialize(self):
            self.times += 1

    def test():
        variable = Variable()
        common.global_state.set_global_attribute("uninitialized_variables", [variable])
        for _ in range(2):
            in_a_copy(common.variables.initialize_all_variables)
        return variable.times, common.global_state.get_global_attribute("uninitialized_variables")

    assert (1, []) == in_a_copy(test)
