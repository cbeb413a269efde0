"""What a device does in a step, operation by operation: how many numbers it computes and moves, and what waits for what."""

import dataclasses
import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from refdist._core.base.call_sites import line_text

# What a compiler joins into one kernel with what is before and after it.
_FUSED = frozenset(
    {
        "abs", "add", "add_any", "and", "axis_index", "broadcast_in_dim", "cbrt", "ceil", "clamp", "concatenate",
        "convert_element_type", "copy", "cos", "div", "dynamic_slice", "dynamic_update_slice", "eq", "erf", "erf_inv", "erfc",
        "exp", "exp2", "expand_dims", "expm1", "floor", "ge", "gt", "imag", "integer_pow", "iota", "is_finite", "le", "log",
        "log1p", "logistic", "lt", "max", "min", "mul", "ne", "neg", "nextafter", "not", "optimization_barrier", "or", "pad",
        "pcast", "pow", "pvary", "random_bits", "random_fold_in", "random_unwrap", "random_wrap", "real",
        "reduce_precision", "rem", "reshape", "rev",
        "round", "rsqrt", "select_n", "shift_left", "shift_right_logical", "sign", "sin", "slice", "sqrt", "square",
        "squeeze", "stop_gradient", "sub", "tanh", "threefry2x32", "transpose", "xor",
    }
)  # fmt: skip
_INLINED = frozenset(
    {
        "checkpoint", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr", "jit", "pjit",
        "remat", "shard_map",
    }
)  # fmt: skip
_FREE = frozenset(
    {
        "axis_index", "broadcast_in_dim", "copy", "expand_dims", "iota", "pcast", "pvary", "reshape", "squeeze", "stop_gradient",
    }
)  # fmt: skip


@dataclasses.dataclass(slots=True)
class Work:
    """One operation, or an exchange of bytes with the other devices."""

    name: str
    kind: str  # "compute", or the kind of the collective
    flops: float
    moved_bytes: float  # from and to memory, or brought to the exchange
    dtype: str
    kernel: bool  # whether it is a kernel of its own
    needs: tuple[int, ...]  # the work that makes its inputs
    made_bytes: float
    line: str = ""


def work_of(jaxpr: Any) -> list[Work]:
    """The work of a program, in its own order; programs inside it are taken apart, and loops stand as one."""
    reader = _Reader()
    reader.read(jaxpr, {})
    return reader.finished(jaxpr)


class _Reader:
    """Lists the operations of a program, and who makes what."""

    def __init__(self) -> None:
        self.steps: Any = importlib.import_module("refdist._core.compilers.jaxpr_steps")
        self.costs: Any = importlib.import_module("refdist._core.compilers.costs")
        self.found: list[Work] = []
        self.maker: dict[Any, int] = {}
        self.used: dict[int, set[str]] = {}  # by work, how its results are used
        self.known: dict[Any, Any] = {}  # what was computed before, which a compiler does not compute again

    def read(self, jaxpr: Any, names: dict[Any, Any]) -> dict[Any, Any]:
        """Add the operations of a program whose inputs have other names around it; return what its results are there."""
        for eqn in jaxpr.eqns:
            inputs = [self._name(atom, names) for atom in eqn.invars]
            inner = self._inner(eqn)
            if inner is not None:
                self._inline(eqn, inner, inputs, names)
            elif eqn.primitive.name in self.steps.MEETINGS:
                self._exchanges(eqn, inputs)
            elif not self._is_known(eqn, inputs, names):
                self._computes(eqn, inputs)
        return names

    def finished(self, jaxpr: Any) -> list[Work]:
        """All work, now that it is known which results are written to memory."""
        for atom in jaxpr.outvars:
            self._note(atom, "kernel")
        for place, work in enumerate(self.found):
            written = "kernel" in self.used.get(place, ()) or not self.used.get(place)
            if work.kind == "compute" and not work.kernel and written:
                work.moved_bytes += work.made_bytes
        return self.found

    def _inner(self, eqn: Any) -> Any:
        if eqn.primitive.name not in _INLINED:
            return None
        for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
            if key in eqn.params:
                return self.steps.plain(eqn.params[key])
        return None

    def _inline(self, eqn: Any, inner: Any, inputs: Sequence[Any], names: dict[Any, Any]) -> None:
        around = dict(zip(inner.invars, inputs[len(inputs) - len(inner.invars) :], strict=True))
        inside = self.read(inner, around)
        for out, made in zip(eqn.outvars, inner.outvars, strict=True):
            found = self._name(made, inside)
            names[out] = found
            if found is not None and found in self.maker:
                self.maker[out] = self.maker[found]

    def _exchanges(self, eqn: Any, inputs: Sequence[Any]) -> None:
        name = eqn.primitive.name
        kind = "all_gather" if name.startswith("all_gather") else "send" if name == "ppermute" else "all_reduce"
        for atom, name_of, made in zip(eqn.invars, inputs, eqn.outvars, strict=True):
            size = _bytes([atom if kind != "all_gather" else made])
            self._add(
                Work(
                    eqn.primitive.name, kind, 0.0, size, _dtype([atom]), True, self._makers([name_of]), size, _line(eqn)
                )
            )
            self._note(name_of, "kernel")
            self.maker[made] = len(self.found) - 1

    def _is_known(self, eqn: Any, inputs: Sequence[Any], names: dict[Any, Any]) -> bool:
        """Whether the same was computed from the same before; its results are then those."""
        if any(True for _ in self.costs.jaxprs_in_params(eqn.params)) or eqn.effects:
            return False
        values = [str(atom.val) if _is_literal(atom) else id(one) for atom, one in zip(eqn.invars, inputs, strict=True)]
        key = (eqn.primitive.name, *values, str(sorted(eqn.params.items(), key=lambda item: item[0])))
        before = self.known.setdefault(key, eqn)
        if before is eqn:
            return False
        for made, own in zip(before.outvars, eqn.outvars, strict=True):
            names[own] = made
            if made in self.maker:
                self.maker[own] = self.maker[made]
        return True

    def _computes(self, eqn: Any, inputs: Sequence[Any]) -> None:
        name = eqn.primitive.name
        flops, moved = self.costs.cost_of_call(
            eqn.primitive, [atom.aval for atom in eqn.invars], [atom.aval for atom in eqn.outvars], eqn.params
        )
        fused = name in _FUSED
        if fused:
            # Only what comes from memory is read; whether the result is written is known at the end.
            moved = sum(_bytes([atom]) for atom, one in zip(eqn.invars, inputs, strict=True) if self._in_memory(one))
        if name in _FREE:
            flops = moved = 0.0
        made = 0.0 if name in _FREE else _bytes(eqn.outvars)
        dtype = _dtype(eqn.invars)
        self._add(Work(name, "compute", flops, moved, dtype, not fused, self._makers(inputs), made, _line(eqn)))
        for one in inputs:
            self._note(one, "fused" if fused else "kernel")
        for atom in eqn.outvars:
            self.maker[atom] = len(self.found) - 1
        # An exchange inside of a loop happens as often as the loop goes around.
        for size, kind, times in self._inside(eqn):
            for _ in range(times):
                self._add(Work(name, kind, 0.0, size, dtype, True, (len(self.found) - 1,), 0.0, _line(eqn)))
            for atom in eqn.outvars:
                self.maker[atom] = len(self.found) - 1

    def _inside(self, eqn: Any) -> Iterator[tuple[float, str, int]]:
        times = int(eqn.params.get("length", 1)) if eqn.primitive.name == "scan" else 1
        for jaxpr in self.costs.jaxprs_in_params(eqn.params):
            for step in self.costs.cost_of(self.steps.plain(jaxpr)).steps:
                if step.kind != "compute":
                    yield step.size_bytes, step.kind, times

    def _add(self, work: Work) -> None:
        self.found.append(work)

    def _makers(self, names: Sequence[Any]) -> tuple[int, ...]:
        return tuple({self.maker[name] for name in names if name is not None and name in self.maker})

    def _in_memory(self, name: Any) -> bool:
        if name is None:
            return False
        place = self.maker.get(name)
        return place is None or self.found[place].kernel

    def _note(self, name: Any, how: str) -> None:
        place = self.maker.get(name) if name is not None and not _is_literal(name) else None
        if place is not None:
            self.used.setdefault(place, set()).add(how)

    def _name(self, atom: Any, names: dict[Any, Any]) -> Any:
        """The variable that an atom is at the place where it is made; None for a number."""
        if _is_literal(atom):
            return None
        return names.get(atom, atom)


def _is_literal(atom: Any) -> bool:
    return hasattr(atom, "val")


def _bytes(atoms: Sequence[Any]) -> float:
    sizes = [
        np.prod(atom.aval.shape, dtype=np.float64) * atom.aval.dtype.itemsize
        for atom in atoms
        if not _is_literal(atom) and isinstance(getattr(atom.aval, "dtype", None), np.dtype)
    ]
    return float(sum(sizes))


def _dtype(atoms: Sequence[Any]) -> str:
    """The dtype of the largest input."""
    known = [atom for atom in atoms if isinstance(getattr(atom.aval, "dtype", None), np.dtype)]
    return str(max(known, key=lambda atom: np.prod(atom.aval.shape, dtype=np.float64)).aval.dtype) if known else "int32"


def _line(eqn: Any) -> str:
    traceback = getattr(eqn.source_info, "traceback", None)
    frames: Any = [] if traceback is None else traceback.frames
    for frame in frames:
        file = frame.file_name
        if (
            "site-packages" not in file
            and "/refdist/" not in file
            and "/simulator/" not in file
            and not file.startswith("<")
        ):
            return line_text(file, frame.line_num, folders=False)
    return ""
