"""One compiled program of a function: what it takes, what it changes, and what it returns."""

import pathlib
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import optree

from refdist._core.base import nest
from refdist._core.base.convert import to_array
from refdist._core.base.entropy import ENTROPY, fresh
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor
from refdist._core.replicas import context
from refdist._core.replicas.values import CompiledForm, DistributedValues, PerReplica
from refdist._core.staging.replica_draft import (
    PassedThrough,
    ReplicaDraft,
    Requirement,
    SymbolicPerReplica,
    passed_through,
)
from refdist._core.staging.signatures import ArgumentKinds
from refdist._core.staging.staged_strategy import StagedExtended
from refdist._core.strategies.arguments import require_count
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.variables.variable import LIVE, WRITING, Variable, current_value

_OWN = str(pathlib.Path(__file__).parents[2])
_NUMBERS = (bool, int, float, complex, str, bytes)


class _Output:
    """Where a leaf of the result comes from."""

    def __init__(self, place: int, each: bool, spec: Any, *, alone: bool = False) -> None:
        self.place, self.each, self.spec = place, each, spec
        self.alone = alone  # the one component of a per-replica value of one replica


class Program:
    """Runs a compiled program on the arguments of a call and on the variables that it uses."""

    used = False  # whether it was asked for again since somebody looked

    def __init__(
        self,
        compiler: Any,
        compiled: Callable[..., Sequence[Any]],
        takes: Sequence[tuple[int, bool]],
        reads: Sequence[Variable],
        writes: Sequence[tuple[int, Variable]],
        checked: Sequence[str],
        required: Sequence[tuple[int, Requirement]],
        result: Any,
        wide: bool,
        draws: bool,
        charge: Callable[..., AbstractContextManager[Any]] | None = None,
    ) -> None:
        self._charge = charge
        self._required, self._draws = tuple(required), draws
        self._compiler, self._compiled, self._takes = compiler, compiled, tuple(takes)
        self._reads, self._writes, self._checked = tuple(reads), tuple(writes), tuple(checked)
        self._leaves, self._shape = optree.tree_flatten(result, none_is_leaf=True)
        self._bare = self._shape.is_leaf()
        self._wide = compiler.exact and wide
        self._homes = [tuple(Device(one.device) for one in variable.all_copies) for _, variable in self._writes]

    def __call__(self, leaves: Sequence[Any]) -> Any:
        if self._charge is None:
            return self._run(leaves)
        with self._charge(lambda: self._brought(leaves)) as keep:
            return self._run(leaves, keep)

    def _run(self, leaves: Sequence[Any], keep: Callable[[Any, int, Sequence[Device]], None] | None = None) -> Any:
        if not self._writes:
            return self._computed(leaves, keep)[1]
        with WRITING:  # from the values read to the values written nobody else writes
            outputs, result = self._computed(leaves, keep)
            compiler = self._compiler
            before = [variable.held for _, variable in self._writes]
            try:
                for place, variable in self._writes:
                    variable.held = (None, compiler, outputs[place])
            except BaseException:  # a Ctrl-C: all variables are written, or none
                for (_, variable), held in zip(self._writes, before, strict=True):
                    variable.held = held
                raise
        return result

    def _computed(self, leaves: Sequence[Any], keep: Any) -> tuple[Sequence[Any], Any]:
        """What the program makes, and the result of the call."""
        outputs = self._outputs(leaves)
        try:
            if keep is not None:
                self._keep(outputs, keep)
            # The result is put together while the devices still compute.
            results = [self._result(leaf, outputs, leaves) for leaf in self._leaves]
            return outputs, results[0] if self._bare else optree.tree_unflatten(self._shape, results)
        finally:
            self._compiler.wait(outputs)

    def _brought(self, leaves: Sequence[Any]) -> Iterator[Any]:
        """The tensors that a call takes, as far as there are any: not what the last program has left in its own form."""
        for place, each in self._takes:
            yield from leaves[place].parts if each else [leaves[place]]
        for variable in self._reads:
            yield from [copy.stored for copy in variable.all_copies] if variable.held[0] else []

    def _keep(self, outputs: Sequence[Any], keep: Callable[[Any, int, Sequence[Device]], None]) -> None:
        """Say how many bytes of what the program has made stay on each device; what is lowered at once says so itself."""
        count = self._compiler.count
        for leaf in self._leaves:
            if type(leaf) is _Output and leaf.each:
                keep(outputs[leaf.place], outputs[leaf.place].nbytes // count, self._compiler.devices)
        for (place, variable), homes in zip(self._writes, self._homes, strict=True):
            own = variable.own_copies and count > 1
            keep(outputs[place], outputs[place].nbytes // (count if own else 1), homes)

    def _outputs(self, leaves: Sequence[Any]) -> Sequence[Any]:
        values = self._values(leaves)
        if self._wide:
            with self._compiler.widened(True):
                outputs = self._compiled(*values)
        else:
            outputs = self._compiled(*values)
        if self._reads and outputs and isinstance(outputs[0], self._compiler.tracer_type):
            raise RuntimeError(
                "A function that uses variables was called inside a transformation of JAX (jit, grad, vmap or scan); expected a "
                "call outside, because the variables would be frozen into that. Call it there, or pass the values as arguments."
            )
        for place, requirement in self._required:
            _require(np.ravel(np.asarray(outputs[place])), requirement)
        if self._checked:
            self._require_equal(outputs[-1])
        return outputs

    def text(self, leaves: Sequence[Any], stage: str) -> str:
        """The program as the compiler has it, before or after it was optimised."""
        with self._compiler.widened(self._wide):
            return self._compiler.text(self._compiled, self._values(leaves), optimised=stage.startswith("optimized"))

    def _values(self, leaves: Sequence[Any]) -> list[Any]:
        compiler = self._compiler
        values = [leaves[p].whole(compiler) if each else compiler.lift(leaves[p]) for p, each in self._takes]
        # Mostly a variable has what the last run of a program has left; asking it for that costs more than looking.
        values += [held[2] if (held := v.held)[1] is compiler else v.whole(compiler) for v in self._reads]
        return [*values, fresh()] if self._draws else values

    def _result(self, leaf: Any, outputs: Sequence[Any], inputs: Sequence[Any]) -> Any:
        if type(leaf) is _Output:
            array = outputs[leaf.place]
            if leaf.each:
                return PerReplica.of_compiled(CompiledForm(self._compiler, array, leaf.spec))
            tensor = self._compiler.lower(array)
            return PerReplica([tensor]) if leaf.alone else tensor
        return leaf.given(inputs[leaf.place]) if isinstance(leaf, PassedThrough) else leaf

    def _require_equal(self, flags: Any) -> None:
        equal = [bool(flag) for flag in self._compiler.lower(flags)]
        for name, same in zip(self._checked, equal, strict=True):
            if not same:
                raise ValueError(
                    f"{name} got different values on different replicas; expected equal ones, because there is one value for all. "
                    f"Combine them first with all_reduce(), or pass aggregation=... when you make the variable. Nothing was "
                    f"written."
                )


def _require(flags: Any, requirement: Requirement) -> None:
    """Raise where a replica says that something does not hold."""
    if not flags.all():
        found, count = list(map(str, np.flatnonzero(~flags))), len(flags)
        those = f"replica{'s' * (len(found) > 1)} {', '.join(found[:4])}{', ...' * (len(found) > 4)} of {count}"
        raise requirement.error(f"{requirement.text} {f'It happened in {those}. ' * (count > 1)}Nothing was written.")


def traced(
    strategy: StrategyBase,
    on: StrategyBase | None,
    fn: Callable[..., Any],
    leaves: Sequence[Any],
    shape: Any,
    kinds: ArgumentKinds,
    *,
    wide: bool,
    once: bool,
) -> tuple[Program | None, list[Variable]]:
    """Call a body to write a program; where it makes variables, they are returned and the program is not finished."""
    compiler = strategy.extended.compiler()
    draft = ReplicaDraft(compiler, strategy, StagedExtended, once=once or strategy.extended.plan.traces_once, wide=wide)
    backend = strategy.extended.backend
    variables = [
        v for v in list(LIVE.values()) if v.backend is backend and v.container is None and v.dtype.kind not in "OSU"
    ]
    several = compiler.count > 1
    known = [place for place in kinds.each if leaves[place].count == compiler.count]
    if on is not None and len(known) < len(kinds.each):
        require_count(next(leaves[place] for place in kinds.each if place not in known), compiler.count)
    takes = [(place, False) for place in kinds.tensors] + [(place, True) for place in known]
    specs = [_spec(leaves[place]) for place, _ in takes] + [(v.shape, v.dtype) for v in variables] + [ENTROPY]
    inputs = [each and several for _, each in takes] + [v.own_copies and several for v in variables] + [False]
    found: dict[str, Any] = {}

    def body(*values: Any) -> tuple[list[Any], list[bool]]:
        given = list(leaves)
        for place in [*kinds.text, *kinds.each]:
            given[place] = passed_through(place, leaves[place])
        for (place, each), value in zip(takes, values, strict=False):
            given[place] = (SymbolicPerReplica(draft, value) if several else PerReplica([value])) if each else value
        own = {id(v.copies[0]): value for v, value in zip(variables, values[len(takes) : -1], strict=True)}
        draft.entropy = values[-1]
        draft.values.update(own)
        args, kwargs = (tuple(given), {}) if shape is None else optree.tree_unflatten(shape, given)
        with draft.entered():
            try:
                result = fn(*args, **kwargs) if on is None else on.extended.run(on, fn, args, kwargs)
                result, outputs, each = _outputs(draft, nest.map_structure(returned, result))
            except BaseException as error:
                found["error"] = error
                raise
        changed = [v for v in variables if draft.values[id(v.copies[0])] is not own[id(v.copies[0])]]
        compared = {key: value for key, value in draft.values.items() if type(key) is tuple}
        required = {key: value for key, value in draft.values.items() if isinstance(key, Requirement)}
        found.update(result=result, changed=changed, required=list(required), compared=[key[0] for key in compared])
        new = [draft.values[id(v.copies[0])] for v in changed]
        own_outputs = [*each, *(v.own_copies and several for v in changed), *[several] * len(required)]
        return [*outputs, *new, *required.values(), *compared.values()], own_outputs

    try:
        with compiler.widened(compiler.exact and wide):
            written = compiler.write(body, specs, inputs)
    except BaseException as raised:
        error = found.get("error", raised)
        explain(error, fn)
        _forget_frames(error)
        raise error from error.__cause__
    if draft.created:
        return None, draft.created
    last = len(written.own_outputs) - len(found["required"])
    first = last - len(found["changed"])
    writes = [(first + number, v) for number, v in enumerate(found["changed"])]
    required = [(last + number, requirement) for number, requirement in enumerate(found["required"])]
    names = [*(f"assign() of {v.name!r}" for v in found["changed"]), *(one.text for one in found["required"])]
    names += found["compared"]
    checked = [names[i - first] if i >= first else "The result of the function" for i in written.compared]
    program = Program(
        compiler,
        compiler.compile(written),
        [takes[i] for i in written.used if i < len(takes)],
        [variables[i - len(takes)] for i in written.used if len(takes) <= i < len(specs) - 1],
        writes,
        checked,
        required,
        found["result"],
        wide,
        len(specs) - 1 in written.used,
        compiler.charge(written),
    )
    return program, []


def _spec(leaf: Any) -> Any:
    return leaf.spec if isinstance(leaf, DistributedValues) else (tuple(leaf.shape), leaf.dtype)


def returned(leaf: Any) -> Any:
    """What a leaf becomes when it leaves a function in a trace: variables their values, Python numbers tensors."""
    leaf = current_value(leaf)
    if isinstance(leaf, (str, bytes)) or (not isinstance(leaf, (*_NUMBERS, Tensor)) and not _array(leaf)):
        return leaf
    return context.backend().put(to_array(leaf), None)


def _array(leaf: Any) -> bool:
    return hasattr(leaf, "__array__") and not hasattr(leaf, "aval") and not isinstance(leaf, DistributedValues)


def converted(result: Any) -> Any:
    """What a function that ran in Python returns: variables as their values, Python values as tensors."""

    def one(leaf: Any) -> Any:
        if isinstance(leaf, DistributedValues) and not isinstance(leaf, Variable):
            plain = any(isinstance(value, _NUMBERS) for value in leaf.values)
            return type(leaf)([one(value) for value in leaf.values]) if plain else leaf
        leaf = current_value(leaf)
        return context.backend().put(to_array(leaf), None) if isinstance(leaf, _NUMBERS) else leaf

    return nest.map_structure(one, result)


def _outputs(draft: ReplicaDraft, result: Any) -> tuple[Any, list[Any], list[bool]]:
    """Take the tensors out of a result, and leave in their places where they are."""
    outputs: list[Any] = []
    each: list[bool] = []

    def one(leaf: Any) -> Any:
        if isinstance(leaf, DistributedValues) and not isinstance(leaf, Variable):
            if isinstance(leaf, PassedThrough):
                return leaf
            if draft.count == 1:
                (value,) = leaf.values
                found = one(returned(value))
                return _Output(found.place, False, found.spec, alone=True) if type(found) is _Output else leaf
            if not isinstance(leaf, SymbolicPerReplica) and all(
                v is None or isinstance(v, (str, bytes)) for v in leaf.values
            ):
                return leaf
            twin = draft.extended(draft.strategy)
            tensor, own = (
                twin.tensor(leaf.own if isinstance(leaf, SymbolicPerReplica) else twin.own_of(leaf), None),
                True,
            )
        elif isinstance(leaf, draft.backend.tensor_type):
            tensor, own = leaf, False
        else:
            return leaf
        outputs.append(tensor)
        each.append(own)
        return _Output(len(outputs) - 1, own, (tuple(tensor.shape), tensor.dtype))

    return nest.map_structure(one, result), outputs, each


_UNTRACEABLE = {
    "ConcretizationTypeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
}
_ADVICE = (
    "the value of a tensor was asked for, which is not known before the program runs. Use jnp.where or lax.cond in place of `if`, "
    "lax.fori_loop in place of a loop over a tensor's value, and jax.numpy in place of numpy; or take @tf.function away"
)
_LEAKED = (
    "it uses a tensor that another trace has left in a list, an attribute or the like, which has no value after that trace. "
    "Return the tensor from the function that makes it, or keep it in a tf.Variable"
)
_NOWHERE = "its tensors are not on a device before the program runs. Use tf.device_name(tensor), or ask outside of the function"


def explain(error: BaseException, fn: Callable[..., Any]) -> None:
    """Say where in the user's code a body could not be traced, and what to do."""
    advice, name = _advice(error), getattr(fn, "__qualname__", repr(fn))
    if advice is _LEAKED:
        error.add_note(f"The function {name} could not be traced: {advice}.")  # JAX says where it was made
        return
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _users(frame.filename)]
    if advice is not None and frames:
        last = frames[-1]
        error.add_note(
            f"The function {name} could not be traced at {last.filename}:{last.lineno}, in {last.name}: {advice}."
        )


def _advice(error: BaseException) -> str | None:
    """What to do where an error comes of tensors that have no value yet, or no longer; None for every other error."""
    kinds = {kind.__name__ for one in (error, error.__cause__) for kind in type(one).__mro__}
    if "UnexpectedTracerError" in kinds:
        return _LEAKED
    # Some operations of Python and numpy have errors of their own, such as that of a missing .numpy(), or of a format.
    named = isinstance(error, (AttributeError, TypeError)) and "Tracer" in str(error)
    if named and getattr(error, "name", None) == "device":
        return _NOWHERE
    return _ADVICE if named or kinds & _UNTRACEABLE else None


def _forget_frames(error: BaseException) -> None:
    """Take away what JAX says of frames that it has hidden: they are here, because the error is raised anew."""
    notes = getattr(error, "__notes__", None)
    if notes:
        notes[:] = [note for note in notes if "JAX has removed its internal frames" not in note]


def _users(filename: str) -> bool:
    return not filename.startswith((_OWN, "<")) and not any(
        f"/{name}/" in filename for name in ("jax", "numpy", "optree")
    )
