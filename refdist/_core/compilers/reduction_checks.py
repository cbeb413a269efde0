"""What is wrong with a value that is summed over the replicas: the findings of `tf.testing.lint` about reductions."""

from collections.abc import Callable, Sequence

from refdist._core.base.call_sites import Place
from refdist._core.base.lint_finding import Finding
from refdist._core.compilers.reduction_states import Division, State


class ReductionChecks:
    """Looks at the values that are summed over replicas.

    Args:
        count: of the replicas.
        uneven: how many rows each replica has, where that differs.
        found: is told of what is certain; what a division by the number of replicas puts right stays with the value.
    """

    def __init__(self, count: int, uneven: Sequence[int], found: Callable[[Finding], None]) -> None:
        self._count, self._uneven, self.found = count, tuple(uneven), found

    def reduced(self, state: State, place: Place | None) -> State:
        """The state of a sum over the replicas."""
        pending = set(state.pending)
        if state.numbers is not None:
            numbers = (state.numbers[0] * self._count, state.numbers[1] * self._count)
            counted = None if state.shared else (place,)
            return State(numbers=numbers, degree=state.degree, counted=counted)
        if not state.varying:
            pending |= self._equal(state, place)
        else:
            self._check_varying(state, place, pending)
        return State(
            origins=state.origins | {("reduced", place)},
            degree=state.degree,
            pending=frozenset(pending),
        )

    def _equal(self, state: State, place: Place | None) -> set[Finding]:
        if not state.origins or state.shared:
            return set()
        before = [what for kind, what in state.origins if kind == "reduced" and isinstance(what, Place)]
        if before:
            others = tuple(sorted(set(before) - {place}))[:2]
            text = f"reduced {_at(others[0])}" if others else "already reduced"
            return {
                Finding(
                    "reduced-twice",
                    place,
                    f"A value that is equal on all replicas ({text}) is summed over the {self._count} replicas again: "
                    f"{self._count} times too much.",
                    others,
                )
            }
        return {
            Finding(
                "sum-of-equal",
                place,
                f"A value that is equal on all replicas (made from {_named(state.origins)}) is summed over the {self._count} "
                f"replicas: {self._count} times too much.",
            )
        }

    def _check_varying(self, state: State, place: Place | None, pending: set[Finding]) -> None:
        count = self._count
        if state.counted is not None:
            other = tuple(one for one in state.counted if one is not None and one != place)
            self.found(
                Finding(
                    "reduced-twice",
                    place,
                    f"A gradient is summed over the {count} replicas, and so it was by the transpose of an all_reduce inside the "
                    f"tape{f' {_at(other[0])}' if other else ''}: {count} times too much.",
                    other,
                )
            )
        if state.bent is not None:
            what, where = state.bent
            pending.add(
                Finding(
                    "bent-before-reduce",
                    where,
                    f"What a replica has computed from its own rows goes through a function that is not linear ({what}) and is "
                    f"reduced over the replicas afterwards{f' {_at(place)}' if place != where else ''}: the result depends on how "
                    f"the batch is divided.",
                    (place,) if place is not None and place != where else (),
                )
            )
        elif state.partial and state.degree == 0 and state.division is not None:
            self._mean(state, state.division, place, pending)
        for where in state.terms:
            pending.add(
                Finding(
                    "equal-term-summed",
                    where,
                    f"A term that does not depend on the replica's data is added here, and summed over the {count} replicas"
                    f"{f' {_at(place)}' if place != where else ''}: it counts {count} times.",
                    (place,) if place is not None and place != where else (),
                )
            )

    def _mean(self, state: State, division: Division, place: Place | None, pending: set[Finding]) -> None:
        others = (division.place,) if division.place is not None and division.place != place else ()
        by = f", divided {_at(division.place)}," if others else ""
        if division.by == "data" or self._uneven:
            weights = (
                "weights that the data decide" if division.by == "data" else f"{', '.join(map(str, self._uneven))} rows"
            )
            self.found(
                Finding(
                    "mean-of-means",
                    place,
                    f"Means of the replicas{by} are combined, although they are means over {weights}: all count the same.",
                    others,
                )
            )
            return
        if state.shared:
            return
        pending.add(
            Finding(
                "local-mean-summed",
                place,
                f"A mean over the replica's own rows{by} is summed over the {self._count} replicas: {self._count} times the mean "
                f"over the global batch.",
                others,
            )
        )


def _at(place: Place | None) -> str:
    return f"at line {place.line}" if place is not None else ""


def _named(origins: frozenset[tuple[str, object]]) -> str:
    names = sorted(f"the variable {name!r}" for kind, name in origins if kind == "variable")
    return ", ".join(names[:3]) or "arguments that all replicas get alike"
