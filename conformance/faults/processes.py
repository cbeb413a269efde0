"""Planted faults that only workers in processes of their own can have: `faults --impl jax-processes --faults <this>:faults`.

Virtual workers share one process, where there is nothing to send and nobody to miss; so these change what a process hears
of the others, and what it takes itself for. Each must fail the check of its behavior, and nothing may hang or die of it.
They are not among the faults of the package, of which each behavior has one; and they load JAX only when they are planted.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from conformance.faults import Fault, Plant
from refdist._core.strategies import multi_worker_mirrored

Heard = Callable[[list[Any], list[Any]], list[Any]]
"""Takes what this worker has sent, and what all have, and returns what this worker believes that all have sent."""


def a_worker_keeps_its_own_initial_value(plant: Plant) -> None:
    _change_what_is_heard(plant, "a new variable", lambda own, everything: own * (len(everything) // len(own)))


def a_sum_leaves_the_last_worker_out(plant: Plant) -> None:
    def without_the_last(own: list[Any], everything: list[Any]) -> list[Any]:
        nothing = [payload - payload for payload in everything[-len(own) :]]
        return everything[: -len(own)] + nothing

    _change_what_is_heard(plant, "all_reduce", without_the_last)


def a_worker_counts_itself_for_all_others(plant: Plant) -> None:
    _change_what_is_heard(plant, "reduce", lambda own, everything: own * (len(everything) // len(own)))


def all_end_with_the_first_worker_that_has_no_more_data(plant: Plant) -> None:
    _change_what_is_heard(
        plant,
        "the next step of a distributed dataset",
        lambda own, everything: [None] * len(everything) if None in everything else everything,
    )


def a_compiled_sum_leaves_the_last_worker_out(plant: Plant) -> None:
    import jax

    from refdist._core.compilers import replica_compiler

    def wrapper(original: Callable[..., Any]) -> Any:
        def added_up(tensor: Any) -> Any:
            is_last = jax.lax.axis_index(replica_compiler.AXIS) * jax.process_count() // jax.device_count() > 0
            return original(jax.numpy.where(is_last, 0, tensor) if jax.process_count() > 1 else tensor)

        return added_up

    plant.wrap(replica_compiler, "_added_up", wrapper)


def every_process_takes_itself_for_the_first(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def plan(*arguments: Any) -> Any:
            made = original(*arguments)
            return made if made.peers is None else replace(made, worker=0)

        return plan

    plant.wrap(multi_worker_mirrored, "multi_worker_plan", wrapper)


def _change_what_is_heard(plant: Plant, kind: str, heard: Heard) -> None:
    """Change what a worker receives in exchanges of one kind."""
    from refdist._core.processes.worker_processes import Processes

    def wrapper(original: Callable[..., Any]) -> Any:
        def exchange(self: Any, doing: str, payloads: Any, *others: Any, **options: Any) -> list[Any]:
            everything = original(self, doing, payloads, *others, **options)
            return heard(list(payloads), everything) if doing.startswith(kind) else everything

        return exchange

    plant.wrap(Processes, "exchange", wrapper)


_FAULTS = {
    "VAR-02": a_worker_keeps_its_own_initial_value,
    "CTX-05": a_sum_leaves_the_last_worker_out,
    "RUN-30": a_compiled_sum_leaves_the_last_worker_out,
    "REDUCE-18": a_worker_counts_itself_for_all_others,
    "DATASET-32": all_end_with_the_first_worker_that_has_no_more_data,
    "LOCAL-10": every_process_takes_itself_for_the_first,
    "DATAFN-13": every_process_takes_itself_for_the_first,
}


def faults() -> Mapping[str, Fault]:
    """Return the faults by the id of the behavior whose check must notice."""
    return {id: Fault(id, function) for id, function in _FAULTS.items()}
