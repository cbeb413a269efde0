"""Which sizes in a program are those of a batch: the ones that double in the same program for batches of twice the size."""

from collections.abc import Sequence
from typing import Any

from jax.extend.core import Literal


class BatchAxes:
    """What the steps of a program have to do with each other, and which sizes are those of batches."""

    def __init__(self, jaxpr: Any, twin: Any) -> None:
        self._made = {var: eqn for eqn in jaxpr.eqns for var in eqn.outvars}
        self._used: dict[Any, list[Any]] = {}
        live = {atom for atom in jaxpr.outvars if not isinstance(atom, Literal)}
        self.dead: set[int] = set()
        for place, eqn in reversed(list(enumerate(jaxpr.eqns))):
            if not eqn.effects and not any(var in live for var in eqn.outvars):
                self.dead.add(place)
                continue
            for atom in eqn.invars:
                if not isinstance(atom, Literal):
                    live.add(atom)
                    self._used.setdefault(atom, []).append(eqn)
        self._axes: dict[Any, tuple[int, ...]] = {}
        if twin is not None:
            pairs = [(jaxpr.invars, twin.invars), (jaxpr.constvars, twin.constvars)]
            pairs += [(a.outvars, b.outvars) for a, b in zip(jaxpr.eqns, twin.eqns, strict=True)]
            for ours, theirs in pairs:
                for one, other in zip(ours, theirs, strict=True):
                    self._axes[one] = _differing(one.aval, other.aval)

    def rows(self, atom: Any) -> bool:
        """Whether a value has an axis for the rows of a batch."""
        return not isinstance(atom, Literal) and bool(self._axes.get(atom))

    def averaged(self, eqn: Any, place: int) -> Sequence[int] | None:
        """The sizes of the other axes over which a division makes a mean: summed before it, or, in a gradient, spread after it."""
        atom = eqn.invars[place]
        for _ in range(4):
            maker = None if isinstance(atom, Literal) else self._made.get(atom)
            if maker is None:
                break
            if maker.primitive.name == "reduce_sum":
                source, axes = maker.invars[0], maker.params["axes"]
                return self._others(source, axes)
            if maker.primitive.name not in ("convert_element_type", "reshape", "mul", "neg"):
                break
            atom = maker.invars[0] if not isinstance(maker.invars[0], Literal) else maker.invars[-1]
        users, looked = list(self._used.get(eqn.outvars[0], ())), 0
        while users and looked < 12:
            user, looked = users.pop(0), looked + 1
            if user.primitive.name == "broadcast_in_dim":
                kept = user.params["broadcast_dimensions"]
                new = [axis for axis in range(len(user.outvars[0].aval.shape)) if axis not in kept]
                return self._others(user.outvars[0], new)
            if user.primitive.name in ("mul", "neg", "convert_element_type", "reshape", "div"):
                users += self._used.get(user.outvars[0], ())
        return None

    def _others(self, var: Any, axes: Sequence[int]) -> list[int]:
        batch = self._axes.get(var, ())
        return [var.aval.shape[axis] for axis in axes if axis not in batch]


def alike_but_for_sizes(jaxpr: Any, twin: Any) -> bool:
    """Say whether two programs have the same steps."""
    return len(jaxpr.eqns) == len(twin.eqns) and all(
        a.primitive is b.primitive and len(a.invars) == len(b.invars)
        for a, b in zip(jaxpr.eqns, twin.eqns, strict=True)
    )


def _differing(one: Any, other: Any) -> tuple[int, ...]:
    ours, theirs = getattr(one, "shape", ()), getattr(other, "shape", ())
    if len(ours) != len(theirs):
        return (-1,)
    return tuple(axis for axis, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b)
