"""Staged execution: a function calls its body once for each kind of input, and then runs compiled programs."""

import functools
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.base.callables import require_arguments, require_callable
from refdist._core.base.errors import OutOfRangeError
from refdist._core.base.where import HERE, entered
from refdist._core.replicas import context
from refdist._core.replicas.context import ReplicaContext
from refdist._core.replicas.values import regroup, select
from refdist._core.seam.draft import NeedsFirstRun, NeedsPython
from refdist._core.seam.peers import UNEVEN, uneven
from refdist._core.seam.tapes import called_under_tapes
from refdist._core.staging.argument_kinds import ArgumentKinds, quick_key
from refdist._core.staging.cache_keys import function_key
from refdist._core.staging.call_signature import call_signature
from refdist._core.staging.captured_numbers import captured_numbers, looks_at
from refdist._core.staging.concrete_function import ConcreteFunction
from refdist._core.staging.eager_functions import functions_run_eagerly
from refdist._core.staging.elements import at_the_end_of_data
from refdist._core.staging.exported_function import with_specs
from refdist._core.staging.input_signature import conforming
from refdist._core.staging.parameters import Parameters, taken_apart
from refdist._core.staging.program import Program
from refdist._core.staging.program_cache import Kept, ProgramCache
from refdist._core.staging.program_source import ForeignTrace, ProgramSource, not_called_yet
from refdist._core.staging.references import closes_over_tensors
from refdist._core.staging.replica_draft import UnevenReplicas
from refdist._core.staging.returned_values import returned_from_draft, returned_from_python, returning_from_python
from refdist._core.staging.steady_calls import SteadyCalls
from refdist._core.staging.trace_count import Signature, Sizes, Traces
from refdist._core.staging.writer import Call
from refdist._core.strategies.strategy import StrategyBase

_MOST_CLOSURES = 4
_MOST_CALLS = 64  # of which the kinds are remembered, to save a program for each
_OWN_FUNCTIONS: Any = object()  # the answer of a meeting to which replicas have brought different functions


class Function(SteadyCalls):
    """A Python function whose calls are compiled programs, one for each kind of input."""

    def __init__(
        self,
        python_function: Callable[..., Any],
        input_signature: Any,
        trace_once: bool,
        *,
        relax: bool = False,
        autograph: bool = True,
    ) -> None:
        functools.update_wrapper(self, python_function)
        self.python_function = python_function
        self.input_signature = None if input_signature is None else tuple(input_signature)
        self._trace_once, self._relax, self._autograph = trace_once, relax, autograph
        self._source = ProgramSource(self, Traces(relax=relax), once=trace_once, autograph=autograph)
        self._parameters = Parameters(python_function)
        # So many arguments by their places are in that form already; mostly there are.
        self._enough = (
            self._parameters.count if self.input_signature is None and self._parameters.plain else sys.maxsize
        )
        name = getattr(python_function, "__qualname__", repr(python_function))
        self._programs = ProgramCache(name, self._parameters.names)
        self._bound: dict[int, Function] = {}
        self._closures: dict[Any, set[Any]] = {}
        self._calls: dict[Any, tuple[tuple[Any, ...], dict[str, Any]]] = {}  # of which kinds they were

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        if functions_run_eagerly():
            return self.python_function(*args, **kwargs)
        if kwargs or len(args) < self._enough:
            args, kwargs = self._arguments(args, kwargs)
        here = HERE.get()
        frame = here.frame
        if frame is not None and frame.updating is not None:
            # A program knows a variable as a whole, not one of its copies.
            return self.python_function(*args, **kwargs)
        if here.draft is not None:
            if not self._source.writing:  # a part of the program of another function, which traces this one
                leaves, shape = taken_apart(args, kwargs)
                self._note(self._signature((context.get_strategy(), True, shape), leaves))
            return self._inlined(args, kwargs)
        if here.tapes is not None:
            return called_under_tapes(self, self._source.run_in_python, args, kwargs)
        if frame is None or frame.replica is None or frame.strategy.extended.plan.name == "default":
            return self._run(None, self.python_function, args, kwargs)
        if frame.strategy.extended.num_replicas == 1:
            with context.crossed(frame.strategy):
                return self.run_in_replicas(frame.strategy, self, args, kwargs)
        return self._meet(frame.replica, args, kwargs)

    def _inlined(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the body as part of the program of another function."""
        draft: Any = HERE.get().draft
        with draft.inlined(self.python_function, autograph=self._autograph) as function:
            return returned_from_draft(function(*args, **kwargs))

    def run_in_replicas(self, strategy: StrategyBase, fn: Any, args: Any, kwargs: Any) -> Any:
        """Do the work of `strategy.run` as one program."""
        require_callable(fn)
        if functions_run_eagerly():
            return strategy.extended.run(strategy, self.python_function if fn is self else fn, args, kwargs)
        require_arguments(args, kwargs)
        args, kwargs = tuple(args), dict(kwargs or {})
        if fn is self:
            args, kwargs = self._arguments(args, kwargs)
        elif self._always_new(fn):
            return self._run_in_python(strategy, fn, args, kwargs)
        return self._run(strategy, fn, args, kwargs)

    def _arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a call in one form, however they were written."""
        if self.input_signature is not None:
            return conforming(self.python_function, self.input_signature, args, kwargs)
        return self._parameters.placed(args, kwargs) if kwargs or len(args) < self._enough else (args, kwargs)

    def _always_new(self, fn: Callable[..., Any]) -> bool:
        """Say whether a function keeps coming back with other tensors inside, each of which would need a program of its own."""
        code = getattr(getattr(fn, "func", fn), "__code__", None)
        if code is None or not closes_over_tensors(fn):
            return False
        keys = self._closures.setdefault(code, set())
        if len(keys) <= _MOST_CLOSURES:
            keys.add(function_key(fn))
        return len(keys) > _MOST_CLOSURES

    @property
    def parameter_names(self) -> Sequence[str]:
        """The names of the parameters that have a place."""
        return self._parameters.names

    def tracing(self) -> dict[str, bool]:
        """How its programs are written."""
        return {"once": self._trace_once, "autograph": self._autograph}

    def kinds_of_calls(self) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        """The arguments for which there are programs outside of replicas, with a spec for each tensor."""
        return [(self.input_signature, {})] if self.input_signature is not None else list(self._calls.values())

    def written_for(self, call: Call) -> Program | None:
        """Write a program that is not kept, for the call of a function outside of replicas."""
        return self._source.written(call, context.get_strategy())

    def experimental_get_tracing_count(self) -> int:
        """How many kinds of input the function was traced for; several programs may do the work of one."""
        return self._source.traces.count

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The function for one kind of arguments: specs or tensors, and Python values, which it keeps.

        It is traced here, unless a spec leaves open how many dimensions there are.
        """
        if self.input_signature is not None and not args and not kwargs:
            args = self.input_signature
        args, kwargs = self._parameters.placed(args, kwargs)

        def program(examples: Any, specs: Any) -> Kept | None:
            return self._program(None, self.python_function, *self._arguments(*examples), specs)[1]

        return ConcreteFunction(self, program, self._parameters.names, args, kwargs)

    def experimental_get_compiler_ir(self, *args: Any, **kwargs: Any) -> Callable[..., str]:
        """A function that returns the text of the program for these arguments: `stage` is "hlo" or "optimized_hlo"."""
        args, kwargs = self._arguments(args, kwargs)
        leaves, program = self._program(None, self.python_function, args, kwargs)
        if program is None:
            raise ValueError(
                f"experimental_get_compiler_ir() was asked of {self!r}, which runs in Python for these arguments; expected one "
                f"program. Take loops over data, and values of different shapes, out of the function."
            )

        def text(stage: str = "hlo") -> str:
            return program.text(leaves, stage)

        return text

    def __get__(self, instance: Any, owner: Any = None) -> "Function":
        """The function as a method of an object, with programs of its own."""
        if instance is None:
            return self
        kept: Any = self._bound if isinstance(instance, type) else getattr(instance, "__dict__", self._bound)
        key = f"_function_{id(self)}" if kept is not self._bound else id(instance)
        # A copy of an object brings along the method of the original.
        if key not in kept or kept[key].python_function.__self__ is not instance:
            method = types.MethodType(self.python_function, instance)
            kept[key] = Function(
                method, self.input_signature, self._trace_once, relax=self._relax, autograph=self._autograph
            )
        return kept[key]

    def __deepcopy__(self, memo: dict[int, Any]) -> "Function":
        return self  # the copy of its object makes its own when it needs one

    def _meet(self, replica: ReplicaContext, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Meet the other replicas, so that one program does what all of them ask for.

        If they bring different functions, such as closures that each has made around a tensor of its own, each runs its
        own in Python.
        """

        def hold(strategy: StrategyBase, payloads: Any) -> list[Any]:
            keys = [key for key, _ in payloads]
            if any(key != keys[0] for key in keys):
                return [_OWN_FUNCTIONS] * len(payloads)
            positional, named = regroup([given for _, given in payloads])
            result = self.run_in_replicas(strategy, self, positional, named)
            return [select(result, index) for index in range(len(payloads))]

        payload = (function_key(self.python_function), (args, kwargs))
        answer = replica.meet("a tf.function", nest.shape_of((args, kwargs)), hold, payload)
        return self._run_in_python(None, self.python_function, args, kwargs) if answer is _OWN_FUNCTIONS else answer

    def _run(self, on: StrategyBase | None, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Any:
        if UNEVEN and uneven((args, kwargs)):  # also what runs in replicas, because that may be cut from these
            return self._run_in_python(on, fn, args, kwargs, staged=False)
        try:
            leaves, program = self._program(on, fn, args, kwargs)
        except ForeignTrace:
            if on is not None:
                context.require_no_trace("run()")
            return self._source.converted(fn)(*args, **kwargs)  # as part of a program that is being written elsewhere
        try:
            return self._run_in_python(on, fn, args, kwargs) if program is None else program.run(leaves)
        except NeedsPython:  # for the elements that come next
            return self._run_in_python(on, fn, args, kwargs)

    def _program(
        self, on: StrategyBase | None, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: Any, specs: Any = None
    ) -> tuple[Sequence[Any], Kept | None]:
        """The leaves of a call, of which its program takes some, and the program; None where Python has to do the work.

        Args:
            specs: the arguments as specs, where they only stand for others.
        """
        around = on if on is not None else context.get_strategy()
        place = around.extended  # a different one on each worker of a parameter server strategy
        quick = None if kwargs or specs or (on is not None and fn is not self) else quick_key(args)
        if quick is not None:
            program = self._programs.find_quickly((around, place, on is None, quick))
            if program is not None:
                return args, program
        leaves, shape = taken_apart(args, kwargs)
        kinds = ArgumentKinds(leaves)
        if kinds.has_tracers:
            raise ForeignTrace
        staged = fn is not self and on is not None
        outside = (around, place, on is None, function_key(fn) if staged else None, shape, self._recording())
        key = (*outside, kinds.key)
        program = self._programs.find(key) if specs is None else ProgramCache.missing
        if program is ProgramCache.missing:
            given = leaves if specs is None else taken_apart(*specs)[0]
            signature = None if staged else self._signature((around, on is None, shape), given)
            if kinds.in_python or around.extended.plan.in_lockstep:
                self._note(signature)
                return leaves, None
            declared = {} if signature is None else self._declared(signature)
            call = Call(fn, on, leaves, shape, kinds, declared=declared)
            try:
                program = self._source.program(call, around, outside)
            except UnevenReplicas:
                return leaves, None  # for these elements; the next ones may be of one shape
            except NeedsFirstRun:
                if specs is not None:
                    raise not_called_yet(fn) from None
                self._source.begin(fn, on)
                return leaves, None  # for this call, in which Python makes the variables
            except OutOfRangeError:
                self._note(signature)  # a trace needs no data
                raise
            self._note(signature)
            self._numbers = looks_at(captured_numbers(self.python_function))
            if on is None and program is not None and len(self._calls) < _MOST_CALLS:
                self._calls[shape, kinds.key] = with_specs((args, kwargs))
            key = (*outside[:-1], self._recording(), kinds.key)  # it may be known only now
            # A body may change what it refers to while it is called; that does not make it a different body.
            again = (*key[:3], function_key(fn), *key[4:]) if staged else key
            for one in dict.fromkeys((key, again)):
                self._programs.keep(one, program, leaves, declared)
        if quick is not None and program is not None and not self._source.summarizes:
            self._programs.keep_quickly((around, place, on is None, quick), program)
        return leaves, program

    def _recording(self) -> tuple[bool, bool] | None:
        """What programs that call tf.summary depend on: whether there is a writer around, and whether nothing is to be recorded."""
        if not self._source.summarizes:
            return None
        recording = HERE.get().recording
        return (False, False) if recording is None else (recording.writer is not None, recording.condition is False)

    def _signature(self, outside: Any, leaves: Sequence[Any]) -> Signature:
        """What calls have in common that need one trace."""
        return call_signature(outside, leaves if self.input_signature is None else nest.flatten(self.input_signature))

    def _declared(self, signature: Signature) -> dict[int, Sizes]:
        """The shapes of tensors in such calls, by their places."""
        shapes = self._source.traces.shapes(signature)
        return {place: shape for place, shape in zip(signature.places, shapes, strict=True) if place >= 0}

    def _note(self, signature: Signature | None) -> None:
        """Count a trace, unless it is only a part of one, or one for another shape of the same kind of input."""
        if signature is not None:
            self._source.traces.note(signature)

    def _run_in_python(
        self, on: StrategyBase | None, fn: Callable[..., Any], args: Any, kwargs: Any, *, staged: bool = True
    ) -> Any:
        """Run the body in Python; what it runs in replicas is staged where it can be."""
        body = self.python_function if fn is self else fn
        with entered(function=self if staged else None), self._source.recorded(body, (args, kwargs)):
            try:
                if on is None:
                    return returned_from_python(body(*args, **kwargs))
                return on.extended.run(on, returning_from_python(body) if fn is self else body, args, kwargs)
            except StopIteration as end:
                if not at_the_end_of_data(end):
                    raise
                raise OutOfRangeError(
                    f"An iterator had no more elements in {self!r}; expected one for each next(). Call the function as often as "
                    f"there are batches, or catch tf.errors.OutOfRangeError around it."
                ) from None

    def __repr__(self) -> str:
        return f"<refdist.function {getattr(self.python_function, '__qualname__', self.python_function)!s}>"
