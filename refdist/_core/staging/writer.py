"""Writes a program: the body of a function is called once, and what it does is recorded."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.base.call_sites import Site
from refdist._core.base.entropy import ENTROPY
from refdist._core.base.jax_facts import goes_back_through_a_loop, show_hidden_frames
from refdist._core.replicas.values import DistributedValues, PerReplica
from refdist._core.seam.backend import Backend
from refdist._core.seam.compiler import WrittenProgram
from refdist._core.seam.draft import NeedsPython
from refdist._core.seam.tapes import BodyTape
from refdist._core.staging.advice import explain
from refdist._core.staging.argument_kinds import ArgumentKinds
from refdist._core.staging.elements import Elements
from refdist._core.staging.open_program import OpenProgram
from refdist._core.staging.open_shapes import OpenShapes
from refdist._core.staging.program import Compared, Interface, Output, Program
from refdist._core.staging.replica_draft import Comparison, Key, ReplicaDraft, Requirement
from refdist._core.staging.returned_values import leaf_from_draft, returned_from_draft
from refdist._core.staging.staged_strategy import StagedExtended
from refdist._core.staging.stand_ins import OpenSlices, PassedThrough, SymbolicPerReplica, is_text, passed_through
from refdist._core.staging.trace_count import Sizes
from refdist._core.strategies.arguments import require_count
from refdist._core.strategies.plan import Plan
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.variables.distributed_variable import DistributedVariable
from refdist._core.variables.variable import LIVE, Variable


@dataclasses.dataclass(frozen=True)
class Call:
    """A call for which there is no program yet."""

    function: Callable[..., Any]
    on: StrategyBase | None  # the strategy in whose replicas it is to run; None if it runs outside of replicas
    leaves: Sequence[Any]  # the arguments, taken apart
    shape: Any  # of the nest that they come from; None where they are the positional arguments themselves
    kinds: ArgumentKinds
    elements: Elements = dataclasses.field(default_factory=Elements)  # what the body takes from iterators
    declared: Mapping[int, Sizes] = dataclasses.field(default_factory=dict[int, Sizes])  # shapes of tensors by place

    def arguments(self, leaves: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Other leaves, in the structure of the arguments."""
        nested: Any = (tuple(leaves), {}) if self.shape is None else nest.put_together(self.shape, leaves)
        return nested


@dataclasses.dataclass(frozen=True)
class Written:
    """The outcome of writing: a program, or the variables that the body has made, after which it has to be written again."""

    program: Program | None
    created: tuple[Variable, ...] = ()
    open: OpenProgram | None = None  # what the program was made from, and others can be
    created_at: Site = ()  # the first of the variables


@dataclasses.dataclass(frozen=True)
class _Record:
    """What a body has done."""

    result: Any  # with an Output in the place of each tensor
    changed: list[Variable]
    required: list[Requirement]
    compared: list[Comparison]


class ProgramWriter:
    """Writes a program for one kind of call, on the replicas of a strategy."""

    draft: type[ReplicaDraft] = ReplicaDraft
    open_shapes: type[OpenShapes] = OpenShapes

    def __init__(
        self,
        call: Call,
        strategy: StrategyBase,
        *,
        once: bool,
        wide: bool,
        converting: bool = False,
        open_sizes: bool = True,
        tape: BodyTape | None = None,
    ) -> None:
        extended = strategy.extended
        self._call, self._wide = call, wide
        self._compiler = extended.compiler()
        self._several = self._compiler.count > 1
        once = once or extended.plan.traces_once
        call.elements.start(len(call.leaves))
        self.shapes = self.open_shapes(self._compiler, allowed=open_sizes)
        self._draft = self.draft(
            self._compiler,
            strategy,
            StagedExtended,
            call.elements,
            self.shapes,
            once=once,
            wide=wide,
            converting=converting,
            tape=tape,
        )
        self._variables = _usable_variables(extended.backend)
        self._keys: list[Key] = [id(variable.copies[0]) for variable in self._variables]
        self._takes = self._taken_arguments()
        self._record: _Record | None = None
        self._error: BaseException | None = None

    @property
    def summarizes(self) -> bool:
        """Whether the body has met tf.summary so far."""
        return self._draft.summarizes

    def write(self) -> Written:
        """Call the body, and make a program from what it does."""
        variables, several = self._variables, self._several
        leaves, declared = self._call.leaves, self._call.declared
        specs = [self.shapes.spec(place, leaves[place], declared.get(place)) for place, _ in self._takes]
        specs += [(variable.shape, variable.dtype) for variable in variables] + [ENTROPY]
        own = [each and several for _, each in self._takes]
        own += [variable.own_copies and several for variable in variables] + [False]
        try:
            with self._compiler.widened(self._compiler.exact and self._wide):
                written = self._compiler.write(self._body, specs, own)
        except BaseException as raised:
            error = raised if self._error is None else self._error  # the user's own, not what JAX has made of it
            if goes_back_through_a_loop(error):
                raise NeedsPython from None
            explain(error, self._call.function, self._draft.unconverted)
            show_hidden_frames(error)
            raise error from error.__cause__
        if self._draft.created:
            return Written(None, tuple(self._draft.created), created_at=self._draft.created_at)
        written = self._with_ordered_inputs(self._compared(written))
        interface = self._interface(written)
        if not self.shapes.open:
            return Written(Program(self._compiler, written, interface))
        opened = OpenProgram(self._compiler, written, interface, self.shapes)
        return Written(opened.at([*leaves, *self._call.elements.leaves]), open=opened)

    def _compared(self, written: WrittenProgram) -> WrittenProgram:
        """The program as it compares what must be the same in all processes: what it writes to mirrored variables, for example."""
        record, further = self._record, len(written.further)
        assert record is not None
        results = len(written.own_outputs) - len(record.changed) - len(record.required)
        inputs = [False] * (further + len(self._takes)) + [_is_in_step(one) for one in self._variables] + [False]
        changed = [results + place for place, variable in enumerate(record.changed) if _is_in_step(variable)]
        compared = range(len(written.own_outputs), len(written.own_outputs) + len(record.compared))
        written = dataclasses.replace(written, results=results)
        return self._compiler.compared_between_processes(written, inputs, [*changed, *compared])

    def _taken_arguments(self) -> list[tuple[int, bool]]:
        """The places of the arguments that are inputs of the program, and whether each replica has its own."""
        leaves, kinds, count = self._call.leaves, self._call.kinds, self._compiler.local
        fitting = [place for place in kinds.per_replica if leaves[place].count == count]
        if self._call.on is not None and len(fitting) < len(kinds.per_replica):
            require_count(next(leaves[place] for place in kinds.per_replica if place not in fitting), count)
        return [(place, False) for place in kinds.tensors] + [(place, True) for place in fitting]

    def _body(self, *values: Any) -> tuple[list[Any], list[bool]]:
        """Call the function with what stands for its arguments, and return what the program makes, as `Compiler.write` asks."""
        draft, count = self._draft, len(self._takes)
        before: dict[Key, Any] = dict(zip(self._keys, values[count:-1], strict=True))
        draft.values.update(before)
        draft.entropy = values[-1]
        args, kwargs = self._call.arguments(self._stand_ins(values[:count]))
        outputs = _Outputs(draft)
        with draft.entered():
            try:
                result = outputs.taken_from(returned_from_draft(self._called(args, kwargs)))
            except BaseException as error:
                self._error = error
                raise
        after = draft.values
        changed = [v for v, key in zip(self._variables, self._keys, strict=True) if after[key] is not before[key]]
        required = [key for key in after if isinstance(key, Requirement)]
        compared = [key for key in after if isinstance(key, Comparison)]
        self._record = _Record(result, changed, required, compared)
        new = [after[key] for key in self._keys if after[key] is not before[key]]
        own = [variable.own_copies and self._several for variable in changed]
        flags = [after[key] for key in required]
        if self._compiler.local < self._compiler.count:  # a process knows its own flags only
            flags = [self._compiler.join(flag.reshape((1, *flag.shape)), 0) for flag in map(self._tensor, flags)]
            own += [False] * len(required)
        else:
            own += [self._several] * len(required)
        made = [*outputs.tensors, *new, *flags, *(after[key] for key in compared)]
        return made, [*outputs.own, *own]

    def _tensor(self, value: Any) -> Any:
        return self._draft.extended(self._draft.strategy).tensor(value, None)

    def _stand_ins(self, values: Sequence[Any]) -> list[Any]:
        """What the function gets in the places of the arguments."""
        given, kinds = list(self._call.leaves), self._call.kinds
        for place in [*kinds.text, *kinds.per_replica]:
            given[place] = passed_through(place, self._call.leaves[place])
        for (place, each), value in zip(self._takes, values, strict=True):
            if each:
                given[place] = SymbolicPerReplica(self._draft, value) if self._several else PerReplica([value])
            else:
                given[place] = value
        return given

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        function, on = self._call.function, self._call.on
        if on is not None:
            return on.extended.run(on, function, args, kwargs)
        return self._draft.converted(function)(*args, **kwargs)

    def _with_ordered_inputs(self, written: WrittenProgram) -> WrittenProgram:
        """The program with the variables that it also writes after those that it only reads, in the order of its outputs."""
        assert self._record is not None
        first = len(written.further) + len(self._takes)
        changed = {id(variable) for variable in self._record.changed}
        also_written = {place for place, one in enumerate(self._variables, first) if id(one) in changed}
        entropy = first + len(self._variables)
        used = sorted(written.used, key=lambda place: (place == entropy, place in also_written, place))
        return dataclasses.replace(written, used=tuple(used))

    def _interface(self, written: WrittenProgram) -> Interface:
        """What the program takes and makes, by the places of its inputs and outputs."""
        further = [(place, own) for place, own in zip(written.further, written.own_inputs, strict=False)]
        record, takes, variables = self._record, [*further, *self._takes], self._variables
        assert record is not None
        entropy = len(takes) + len(variables)  # the place of the last input
        first_changed = written.results
        sites = self._draft.compared_at
        named = [Compared(f"assign() of {one.name!r}", sites.get(id(one.all_copies[0]), ())) for one in record.changed]
        named += [Compared(one.text) for one in record.required]
        named += [Compared(one.what, one.site) for one in record.compared]
        return Interface(
            takes=tuple(takes[i] for i in written.used if i < len(takes)),
            reads=tuple(variables[i - len(takes)].storage for i in written.used if len(takes) <= i < entropy),
            draws=entropy in written.used,
            shares=tuple(passage.size for passage in self._draft.shares),
            result=record.result,
            first_written=first_changed,
            writes=tuple(variable.storage for variable in record.changed),
            required=tuple(record.required),
            compared=tuple(
                named[i - first_changed] if i >= first_changed else Compared("The result of the function")
                for i in written.compared
            ),
            wide=self._wide,
        )


class _Outputs:
    """The tensors of a result, and whether each replica has its own of each."""

    def __init__(self, draft: ReplicaDraft) -> None:
        self._draft = draft
        self.tensors: list[Any] = []
        self.own: list[bool] = []
        self._alone = draft.compiler.local == 1 < draft.count  # what a process has is what its only replica has

    def taken_from(self, result: Any) -> Any:
        """Take the tensors out of a nest, and leave in place of each where to find it."""
        return nest.map_structure(self._leaf, nest.map_structure(self._opened, result))

    def _opened(self, leaf: Any) -> Any:
        return OpenSlices.of(leaf, self._tensor)

    def _tensor(self, value: Any) -> Any:
        return self._draft.extended(self._draft.strategy).tensor(value, None)

    def _leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, DistributedValues) and not isinstance(leaf, Variable):
            return self._distributed(leaf)
        if is_text(leaf):
            compiler = self._draft.compiler
            return compiler.real.put(leaf, compiler.devices[0] if compiler.count == 1 else None)
        return self._added(leaf, own=False) if isinstance(leaf, self._draft.backend.tensor_type) else leaf

    def _distributed(self, value: DistributedValues) -> Any:
        if isinstance(value, PassedThrough):
            return value
        if self._draft.count == 1:
            (alone,) = value.values
            found = self._leaf(leaf_from_draft(alone))
            return dataclasses.replace(found, alone=True) if isinstance(found, Output) else PerReplica([found])
        if not isinstance(value, SymbolicPerReplica):
            if all(_no_number(one) for one in value.values):
                return value
            if all(is_text(one) for one in value.values):
                places = zip(value.values, self._draft.compiler.devices, strict=True)
                return PerReplica([self._draft.compiler.real.put(one, device) for one, device in places])
        extended = self._draft.extended(self._draft.strategy)
        own = value.own if isinstance(value, SymbolicPerReplica) else extended.own_of(value)
        return self._added(extended.tensor(own, None), own=True)

    def _added(self, tensor: Any, *, own: bool) -> Output:
        own = own or self._alone
        self.tensors.append(tensor)
        self.own.append(own)
        return Output(len(self.tensors) - 1, own, (tuple(tensor.shape), tensor.dtype))


def _usable_variables(backend: Backend) -> list[Variable]:
    """The variables that a program of a backend could meet; writing it shows which ones it needs."""
    living = [variable for variable in list(LIVE.values()) if variable.backend is backend]
    return [variable for variable in living if variable.container is None and variable.dtype.kind not in "OSU"]


def _is_in_step(variable: Variable) -> bool:
    """Say whether all workers have the same in a variable."""
    if not isinstance(variable, DistributedVariable) or variable.own_copies:
        return False
    plan: Plan = variable.strategy.extended.plan
    return plan.workers > 1


def _no_number(value: Any) -> bool:
    return value is None or isinstance(value, (str, bytes))
