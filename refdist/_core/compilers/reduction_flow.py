"""Follows through a program what is equal on all replicas, what differs, and what a reduction would do to it.

`reduction_states.py` has the facts and their table; here is which step of a program does what to them.
"""

import dataclasses
import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jax.ad_checkpoint import checkpoint_name
from jax.extend.core import Literal

from refdist._core.base.call_sites import Place, of_user
from refdist._core.base.lint_finding import Finding
from refdist._core.compilers.batch_axes import BatchAxes, alike_but_for_sizes
from refdist._core.compilers.jaxpr_steps import parts_of_scan, plain
from refdist._core.compilers.reduction_checks import ReductionChecks
from refdist._core.compilers.reduction_states import (
    Division,
    State,
    added,
    divided,
    growth,
    is_count,
    joined,
    mixed,
    multiplied,
    shares_out,
)
from refdist._core.compilers.step_kinds import (
    ADDITIONS,
    EXTREMES,
    FOLDED,
    GATHERS,
    INNER,
    LINEAR,
    PRODUCTS,
    SHAPES,
    SUMS,
    TESTS,
    TOTALS,
)


def place_of(eqn: Any) -> Place | None:
    """The user's line of a step: the innermost one that is not in a library, or else the innermost one outside of ours."""
    traceback = eqn.source_info.traceback
    frames = [frame for frame in traceback.frames if of_user(frame.file_name)] if traceback is not None else []
    own = [frame for frame in frames if "site-packages" not in frame.file_name] or frames
    return Place(own[0].file_name, own[0].function_name, own[0].line_num, 0) if own else None


class ReductionFlow:
    """One look at a program over several replicas.

    Args:
        count: of the replicas.
        sizes: the sizes of batches, on one replica, that are doubled in the second program.
        uneven: how many rows each replica really has, where that differs.
    """

    def __init__(self, count: int, sizes: Sequence[int], uneven: Sequence[int] = ()) -> None:
        self._count, self._sizes = count, sizes
        self._checks = ReductionChecks(count, uneven, self.found)
        self.findings: dict[tuple[str, Place | None], Finding] = {}
        self._silent = 0  # in the turns of a loop before the last
        self._means: dict[float, Place | None] = {}  # where values are divided by a size, by the divisor
        self.picked: dict[object, set[int]] = {}  # the replicas whose part of something gathered is used

    def found(self, finding: Finding) -> None:
        """Note a finding, once for each kind and line."""
        if not self._silent:
            self.findings.setdefault((finding.kind, finding.place), finding)

    def follow(self, jaxpr: Any, twin: Any, inputs: Sequence[State]) -> list[State]:
        """The states of the outputs of a program, given those of its inputs.

        Args:
            twin: the same program for batches of twice the size; None if there is none.
        """
        if twin is not None and not alike_but_for_sizes(jaxpr, twin):
            twin = None
        env: dict[Any, State] = dict(zip(jaxpr.invars, inputs, strict=True))
        steps = BatchAxes(jaxpr, twin)
        for place, eqn in enumerate(jaxpr.eqns):
            if place in steps.dead:
                continue
            other = None if twin is None else twin.eqns[place]
            states = [self._read(env, atom, other, index) for index, atom in enumerate(eqn.invars)]
            made = self._step(eqn, other, states, steps)
            env.update(zip(eqn.outvars, made, strict=True))
        ends = None if twin is None else twin.outvars
        return [self._atom(env, atom, None if ends is None else ends[i]) for i, atom in enumerate(jaxpr.outvars)]

    def _read(self, env: dict[Any, State], atom: Any, other: Any, index: int) -> State:
        return self._atom(env, atom, None if other is None else other.invars[index])

    def _atom(self, env: dict[Any, State], atom: Any, other: Any) -> State:
        if not isinstance(atom, Literal):
            return env.get(atom, State())
        value = _number(atom.val)
        if value is None:
            return State()
        second = _number(other.val) if isinstance(other, Literal) else value
        numbers = (value, value if second is None else second)
        return State(numbers=numbers, degree=growth(numbers))

    def _step(self, eqn: Any, other: Any, states: list[State], steps: BatchAxes) -> list[State]:
        name, place = eqn.primitive.name, place_of(eqn)
        if name in SUMS:
            return [self._checks.reduced(state, place) for state in states]
        if name in EXTREMES:
            return [State(origins=state.origins | {("reduced", place)}, pending=state.pending) for state in states]
        if name in GATHERS:
            mark = eqn.outvars[0] if states[0].varying and not eqn.params.get("tiled") else None
            base = mixed(states)
            return [
                dataclasses.replace(base, varying=False, origins=base.origins | {("reduced", place)}, gathered=mark)
            ]
        if name == "axis_index":
            return [State(varying=True, origins=frozenset({("replica", None)}))]
        if name == "name":
            return [dataclasses.replace(states[0], origins=states[0].origins | _told(eqn.params["name"]))]
        if name == "cond":
            return self._cond(eqn, other, states)
        if name == "scan":
            return self._scan(eqn, other, states)
        if name == "while":
            return self._while(eqn, other, states)
        inner = eqn.params.get(INNER.get(name, "jaxpr"))
        if inner is None:
            inner = eqn.params.get("call_jaxpr")
        if hasattr(plain(inner), "eqns") and len(plain(inner).invars) == len(states):
            second = (
                None if other is None else other.params.get(INNER.get(name, "jaxpr"), other.params.get("call_jaxpr"))
            )
            return self.follow(plain(inner), None if second is None else plain(second), states)
        folded = self._constant(eqn, other, states, steps, place)
        if folded is not None:
            return [folded]
        rows_in = [steps.rows(atom) for atom in eqn.invars]
        made = self._computed(eqn, name, place, states, rows_in, steps)
        return [made] * len(eqn.outvars)

    def _computed(
        self, eqn: Any, name: str, place: Place | None, states: list[State], rows_in: list[bool], steps: BatchAxes
    ) -> State:
        rows = steps.rows(eqn.outvars[0])
        contracts = any(rows_in) and not rows
        if name in ADDITIONS:
            return added(states[0], states[1], rows, place)
        if name in PRODUCTS or name == "div":
            made = self._scaled(eqn, name, place, states, rows, steps)
            if made is None:
                made = (
                    divided(states[0], states[1], rows, rows_in[1], place)
                    if name == "div"
                    else multiplied(states[0], states[1], rows, place)
                )
            return self._contracted(made, eqn) if contracts and name != "div" else made
        if name in TOTALS:
            data = [state for state, has in zip(states, rows_in, strict=True) if has] or states[:1]
            made = dataclasses.replace(joined(data), numbers=None, varying=any(one.varying for one in states))
            return self._contracted(made, eqn) if contracts else made
        if name in LINEAR:
            return self._passed(eqn, name, states, contracts, rows)
        if name == "select_n":
            cases = [one for one in states[1:] if one.numbers is None] or states[1:]
            made = dataclasses.replace(joined(cases), numbers=None)
            return dataclasses.replace(
                made, varying=made.varying or states[0].varying, partial=made.partial and not rows
            )
        if name in ("max", "min") and any(one.numbers is not None for one in states):
            one = next(state for state in states if state.numbers is None)
            bends = name == "min" and one.partial and one.varying and not rows
            return dataclasses.replace(one, bent=one.bent or (("a minimum", place) if bends else None), numbers=None)
        base = mixed(states)
        if name in TESTS:
            return dataclasses.replace(base, degree=0 if rows else None)
        partial = any(one.partial and one.varying for one in states) and not rows
        sources = frozenset().union(*(one.sources for one in states)) if partial else frozenset[object]()
        bent = next((one.bent for one in states if one.bent), None) or (name, place) if partial else None
        return dataclasses.replace(
            base, partial=partial, sources=sources, bent=bent, degree=None if contracts else base.degree
        )

    def _contracted(self, state: State, eqn: Any) -> State:
        """A sum over the rows of the replica."""
        degree = None if state.degree is None else state.degree + 1
        return dataclasses.replace(state, degree=degree, partial=True, bent=None, sources=frozenset({eqn.outvars[0]}))

    def _passed(self, eqn: Any, name: str, states: list[State], contracts: bool, rows: bool) -> State:
        """A step that moves numbers, and changes none."""
        state = dataclasses.replace(
            states[0], varying=any(one.varying for one in states), partial=states[0].partial and not rows, numbers=None
        )
        if rows:
            state = dataclasses.replace(state, bent=None, sources=frozenset())
        if contracts:  # one row is no sum over rows
            state = dataclasses.replace(state, degree=None, partial=False)
        if name == "convert_element_type" and np.dtype(eqn.params["new_dtype"]).kind in "iub":
            state = dataclasses.replace(mixed(states), degree=0 if rows else None)
        if state.gathered is not None:
            gathered = state.gathered
            state = dataclasses.replace(state, gathered=None)
            if name == "slice" and eqn.outvars[0].aval.shape[0] == 1:
                index = int(eqn.params["start_indices"][0])
                self.picked.setdefault(gathered, set()).add(index)
                return dataclasses.replace(state, only=(gathered, index))
            self.picked.setdefault(gathered, set()).update(range(self._count))
        return state if name in SHAPES else dataclasses.replace(state, only=None)

    def _constant(
        self, eqn: Any, other: Any, states: list[State], steps: BatchAxes, place: Place | None
    ) -> State | None:
        """The result of a step on constants, if it is one."""
        name = eqn.primitive.name
        if not states or any(state.numbers is None for state in states):
            return None
        if name == "reduce_sum":
            sizes = [_size(one.invars[0]) / max(_size(one.outvars[0]), 1) for one in (eqn, other or eqn)]
            numbers = tuple(n * size for n, size in zip(states[0].numbers or (), sizes, strict=True))
        elif name in FOLDED:
            pairs = zip(*(state.numbers or () for state in states), strict=True)
            numbers = tuple(FOLDED[name](*pair) for pair in pairs)
        else:
            return None
        known = (numbers[0], numbers[1])
        made = State(
            numbers=known,
            degree=growth(known),
            counted=next((one.counted for one in states if one.counted), None),
            shared=any(one.shared for one in states),
            division=next((one.division for one in states if one.division), None),
        )
        divisor = states[1].numbers if name == "div" else None
        if divisor is None:
            return made
        if is_count(divisor[0], self._count) and divisor[0] == divisor[1]:
            return dataclasses.replace(made, counted=None, shared=True)
        if growth(divisor) == 1:
            features = steps.averaged(eqn, 0)
            return dataclasses.replace(
                self._divided_by_size(made, states[0], divisor[0], features, place), degree=made.degree
            )
        return made

    def _scaled(
        self, eqn: Any, name: str, place: Place | None, states: list[State], rows: bool, steps: BatchAxes
    ) -> State | None:
        """A value that is multiplied with a constant, or divided by one; None if neither operand is one."""
        constants = [one for one in (1, 0) if states[one].numbers is not None]
        if not constants or (name == "div" and 1 not in constants) or name not in ("mul", "div"):
            return None
        constant, value = states[constants[0]], states[1 - constants[0]]
        numbers = constant.numbers
        assert numbers is not None
        degree = growth(numbers)
        divisor = numbers[0] if name == "div" else 1 / numbers[0] if numbers[0] else math.inf
        grows = None if degree is None else degree if name == "div" else -degree
        made = dataclasses.replace(
            value,
            degree=None if value.degree is None or grows is None else value.degree - grows,
            counted=value.counted or constant.counted if name == "mul" else value.counted,
            shared=value.shared or constant.shared,
            partial=value.partial and not rows,
            only=None,
            gathered=None,
        )
        if degree == 0 and (
            is_count(divisor, self._count) or (name == "mul" and shares_out(abs(numbers[0]), self._count))
        ):
            pending = frozenset(one for one in made.pending if one.kind == "bent-before-reduce")
            return dataclasses.replace(made, shared=True, pending=pending, counted=None, terms=frozenset())
        if constant.division is not None or constant.shared:  # what it was divided by is known already
            return dataclasses.replace(made, division=value.division or constant.division)
        features = steps.averaged(eqn, 1 - constants[0])
        if grows == 1:
            return self._divided_by_size(made, value, divisor, features, place)
        if grows == -1:
            return dataclasses.replace(made, division=None)
        whole = (
            math.isfinite(divisor)
            and divisor >= self._count
            and divisor == int(divisor)
            and int(divisor) % self._count == 0
        )
        mean = features is not None and math.isclose(math.prod(features), divisor)
        if name == "div" and whole and not mean:
            return dataclasses.replace(made, shared=True, terms=frozenset())
        return made

    def _divided_by_size(
        self, made: State, value: State, divisor: float, features: Sequence[int] | None, place: Place | None
    ) -> State:
        each = [divisor / size for size in self._sizes if math.isclose(divisor / size, round(divisor / size))]
        if not each:
            return dataclasses.replace(made, degree=None)
        factor = min(each)
        if features is None:
            overall = factor % self._count == 0
        else:
            subsets = itertools.chain.from_iterable(
                itertools.combinations(features, n) for n in range(len(features) + 1)
            )
            overall = factor in {self._count * math.prod(one) for one in subsets}
        if overall:
            return dataclasses.replace(made, shared=True, terms=frozenset())
        if value.varying and value.partial:
            self._means.setdefault(divisor, place)
        return dataclasses.replace(made, division=Division("size", self._means.get(divisor, place)))

    # Programs inside of steps.

    def _cond(self, eqn: Any, other: Any, states: list[State]) -> list[State]:
        branches = eqn.params["branches"]
        twins = [None] * len(branches) if other is None else list(map(plain, other.params["branches"]))
        ends = [self.follow(plain(one), twin, states[1:]) for one, twin in zip(branches, twins, strict=True)]
        made = [joined(column) for column in zip(*ends, strict=True)]
        return [dataclasses.replace(one, varying=one.varying or states[0].varying) for one in made]

    def _scan(self, eqn: Any, other: Any, states: list[State]) -> list[State]:
        consts, carried = parts_of_scan(eqn)
        body = plain(eqn.params["jaxpr"])
        twin = None if other is None else plain(other.params["jaxpr"])
        open_length = other is not None and other.params["length"] != eqn.params["length"]

        def turn(now: list[State]) -> list[State]:
            return self.follow(body, twin, [*states[:consts], *now, *states[consts + carried :]])

        ends = self._settled(turn, states[consts : consts + carried], carried)
        return [_forgotten(one) for one in ends] if open_length else ends

    def _while(self, eqn: Any, other: Any, states: list[State]) -> list[State]:
        tested, first = eqn.params["cond_nconsts"], eqn.params["cond_nconsts"] + eqn.params["body_nconsts"]
        body = plain(eqn.params["body_jaxpr"])
        twin = None if other is None else plain(other.params["body_jaxpr"])

        def turn(now: list[State]) -> list[State]:
            return self.follow(body, twin, [*states[tested:first], *now])

        ends = self._settled(turn, states[first:], len(states) - first)
        (test,) = self.follow(plain(eqn.params["cond_jaxpr"]), None, [*states[:tested], *ends])
        return [dataclasses.replace(one, varying=one.varying or test.varying) for one in ends]

    def _settled(self, turn: Callable[[list[State]], list[State]], now: list[State], carried: int) -> list[State]:
        """What is known after any number of turns of a loop; only the last look notes what it finds."""
        self._silent += 1
        try:
            for _ in range(6):
                ends = turn(now)
                after = [joined(pair) for pair in zip(now, ends[:carried], strict=True)]
                if after == now:
                    break
                now = after
            else:
                now = [_forgotten(one) for one in now]
        finally:
            self._silent -= 1
        return [*now, *turn(now)[carried:]]


_ON_READ = "read in a replica: "


def read_in_replica(value: Any, name: str) -> Any:
    """A value with a mark that it comes from an ON_READ variable."""
    return checkpoint_name(value, f"{_ON_READ}{name}")


def _told(mark: str) -> frozenset[tuple[str, object]]:
    return frozenset({("on read", mark.removeprefix(_ON_READ))}) if mark.startswith(_ON_READ) else frozenset()


def _forgotten(state: State) -> State:
    return State(varying=state.varying, origins=state.origins, degree=None, pending=state.pending)


def _size(atom: Any) -> int:
    return math.prod(atom.aval.shape)


def _number(value: Any) -> float | None:
    array = np.asarray(value)
    return float(array.reshape(())) if array.size == 1 and array.dtype.kind in "fiub" else None
