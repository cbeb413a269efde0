"""What a program costs a device: operations, bytes, memory, and exchanges with other devices."""

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.extend.core import Literal, jaxprs_in_params

from refdist._core.base.call_sites import line_text, of_user
from refdist._core.compilers.jaxpr_steps import MEETINGS, plain

_FREE = frozenset(
    {
        "broadcast_in_dim",
        "reshape",
        "squeeze",
        "convert_element_type",
        "copy",
        "axis_index",
        "iota",
        "slice",
        "dynamic_slice",
    }
)

_CALLED = {
    "psum": "all_reduce SUM",
    "psum_invariant": "all_reduce SUM",
    "pmax": "all_reduce MAX",
    "pmin": "all_reduce MIN",
    "all_gather_invariant": "all_gather",
    "ppermute": "permute",
}


@dataclasses.dataclass(frozen=True)
class Step:
    """Work of one replica, or an exchange of its bytes with all others."""

    kind: str  # "compute", "all_reduce" or "all_gather"
    flops: float
    size_bytes: float  # moved from and to memory, or brought to the exchange
    needs: frozenset[int]  # for work, the exchanges that it waits for; for an exchange, the steps
    name: str = ""  # of the operation, or of the costliest one of several
    line: str = ""  # of the user's code that it comes from
    most: float = 0.0  # what the costliest operation costs


@dataclasses.dataclass(frozen=True)
class Cost:
    """The steps of a program in its own order, and the most memory that it takes besides its inputs."""

    steps: tuple[Step, ...]
    peak_bytes: float

    @property
    def flops(self) -> float:
        """All operations of one replica."""
        return sum(step.flops for step in self.steps)

    @property
    def exchanges(self) -> bool:
        """Whether it exchanges anything with others."""
        return any(step.kind != "compute" for step in self.steps)


@functools.lru_cache(256)
def cost_of(jaxpr: Any) -> Cost:
    """Estimate the cost of a program: two operations for each multiplication in a product, otherwise one for each number.

    Only products and the program's own inputs and outputs count as bytes moved: a compiler keeps the rest close at hand.
    """
    walk = _Walk()
    walk.compute(0.0, _bytes(jaxpr.invars), frozenset())
    for eqn in jaxpr.eqns:
        walk.take(eqn)
    walk.compute(0.0, _bytes(jaxpr.outvars), walk.needs(jaxpr.outvars) & walk.exchanges)
    return Cost(tuple(walk.steps), _peak(jaxpr))


def cost_of_call(
    primitive: Any, inputs: Sequence[Any], outputs: Sequence[Any], params: dict[str, Any]
) -> tuple[float, float]:
    """The operations, and the bytes read and written, of one operation that is called by itself.

    Args:
        inputs: their shapes and dtypes; likewise for outputs.
    """
    inner = [cost_of(plain(one)) for one in jaxprs_in_params(params)]
    moved = _size(inputs) + _size(outputs)
    if not inner:
        return _flops(primitive.name, params, inputs, outputs), moved
    times = params.get("length", 1) if primitive.name == "scan" else 1
    return times * max(one.flops for one in inner), moved


class _Walk:
    """Groups operations into steps: work continues in one step until it needs an exchange, or an exchange needs it."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        self.exchanges: frozenset[int] = frozenset()
        self._made: dict[Any, int] = {}  # which step makes a variable
        self._open = -1  # the current step of work

    def needs(self, atoms: Sequence[Any]) -> frozenset[int]:
        """The steps that make these."""
        return frozenset(self._made[atom] for atom in atoms if not isinstance(atom, Literal) and atom in self._made)

    def take(self, eqn: Any) -> None:
        """Add one operation."""
        name = eqn.primitive.name
        needed = self.needs(eqn.invars)
        if name in MEETINGS:
            kind = "all_gather" if name.startswith("all_gather") else "all_reduce"
            for atom, made in zip(eqn.invars, eqn.outvars, strict=True):
                # A ring sends a tensor twice to add it up, and each replica sends it once to move it.
                size = _bytes([atom]) / (2 if name == "ppermute" else 1)
                self._exchange(kind, size, self.needs([atom]), _CALLED.get(name, name), line_of(eqn))
                self._made[made] = len(self.steps) - 1
            return
        inner = [cost_of(plain(one)) for one in jaxprs_in_params(eqn.params)]
        if inner:
            times = int(eqn.params.get("length", 1)) if name == "scan" else 1
            largest = max(inner, key=lambda one: one.flops)  # only one branch of a condition is taken
            self._nested(largest, times, _bytes(eqn.invars) + _bytes(eqn.outvars), needed, line_of(eqn))
        else:
            avals = [atom.aval for atom in eqn.invars], [atom.aval for atom in eqn.outvars]
            moved = _bytes(eqn.invars) + _bytes(eqn.outvars) if name == "dot_general" else 0.0
            self.compute(_flops(name, eqn.params, *avals), moved, needed & self.exchanges, name, line_of(eqn))
        self._made.update(dict.fromkeys(eqn.outvars, len(self.steps) - 1))

    def compute(
        self,
        flops: float,
        moved: float,
        needed: frozenset[int],
        name: str = "",
        line: str = "",
        most: float | None = None,
    ) -> None:
        """Add work to the current step, or begin another one if it has to wait."""
        most = flops if most is None else most
        if self._open >= 0 and needed <= self.steps[self._open].needs:
            old = self.steps[self._open]
            called = (name, line, most) if name and most > old.most else (old.name, old.line, old.most)
            more = Step("compute", old.flops + flops, old.size_bytes + moved, old.needs, *called)
            self.steps[self._open] = more
            return
        before = self.steps[self._open].needs if self._open >= 0 else frozenset[int]()
        self.steps.append(Step("compute", flops, moved, needed | before, name, line, most))
        self._open = len(self.steps) - 1

    def _exchange(self, kind: str, size: float, needed: frozenset[int], name: str, line: str) -> None:
        self.steps.append(Step(kind, 0.0, size, needed, name, line))
        self.exchanges |= {len(self.steps) - 1}
        if self._open in needed:
            self._open = -1  # it begins when the work before it is done, not when all work is

    def _nested(self, inner: Cost, times: int, around: float, needed: frozenset[int], line: str) -> None:
        """Add the steps of an inner program, as many times as it runs; its inputs and outputs stay close at hand."""
        if not inner.exchanges:
            moved = sum(step.size_bytes for step in inner.steps)
            costliest = max(inner.steps, key=lambda step: step.most)
            called = costliest.name, costliest.line or line, times * costliest.most
            self.compute(times * inner.flops, times * max(moved - around, 0.0), needed & self.exchanges, *called)
            return
        for _ in range(times):
            first = len(self.steps)
            for step in inner.steps:
                own = frozenset(first + index for index in step.needs)
                self.steps.append(dataclasses.replace(step, needs=own | needed))
            self.exchanges |= {first + i for i, step in enumerate(inner.steps) if step.kind != "compute"}
            needed = frozenset({len(self.steps) - 1})
        self._open = -1


def _flops(name: str, params: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> float:
    if name == "dot_general":
        (left, _), _ = params["dimension_numbers"]
        return 2.0 * math.prod(outputs[0].shape) * math.prod(inputs[0].shape[axis] for axis in left)
    if name == "conv_general_dilated":
        kernel, channels = inputs[1].shape, params["dimension_numbers"].rhs_spec[0]
        return 2.0 * math.prod(outputs[0].shape) * math.prod(kernel) / max(kernel[channels], 1)
    if name in _FREE:
        return 0.0
    return float(max((math.prod(one.shape) for one in [*inputs, *outputs]), default=0))


def line_of(eqn: Any) -> str:
    """The innermost line of the user's code that an operation comes from, or nothing."""
    traceback = getattr(eqn.source_info, "traceback", None)
    for frame in () if traceback is None else traceback.frames:
        file = frame.file_name
        if of_user(file) and "site-packages" not in file:
            return f"{line_text(file, frame.line_num, folders=False)}, in {frame.function_name.rsplit('.', 1)[-1]}"
    return ""


def _peak(jaxpr: Any) -> float:
    """The most bytes that are alive at once, without the inputs: what an operation makes lives until its last use."""
    last = {atom: place for place, eqn in enumerate(jaxpr.eqns) for atom in eqn.invars if not isinstance(atom, Literal)}
    last.update({atom: len(jaxpr.eqns) for atom in jaxpr.outvars if not isinstance(atom, Literal)})
    given = {*jaxpr.invars, *jaxpr.constvars}
    alive: dict[Any, float] = {}
    now = most = 0.0
    for place, eqn in enumerate(jaxpr.eqns):
        inner = max((cost_of(plain(one)).peak_bytes for one in jaxprs_in_params(eqn.params)), default=0.0)
        # A compiler makes these where they are used.
        made = {} if eqn.primitive.name in _FREE else {atom: _bytes([atom]) for atom in eqn.outvars if atom in last}
        alive.update(made)
        now += sum(made.values())
        most = max(most, now, now - sum(made.values()) + inner)
        for atom in {one for one in eqn.invars if not isinstance(one, Literal)} - given:
            if last[atom] == place:
                now -= alive.pop(atom, 0.0)
    return most


def _bytes(atoms: Sequence[Any]) -> float:
    return _size([atom.aval for atom in atoms if not isinstance(atom, Literal)])


def _size(avals: Sequence[Any]) -> float:
    return float(
        sum(
            math.prod(one.shape) * one.dtype.itemsize
            for one in avals
            if isinstance(getattr(one, "dtype", None), np.dtype)
        )
    )
