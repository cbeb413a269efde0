"""Where a function gets the programs from that it does not have yet."""

import contextlib
import dataclasses
import functools
import importlib
import threading
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from refdist._core.base import nest
from refdist._core.base.call_sites import Site, where
from refdist._core.base.dtypes import is_wide
from refdist._core.base.errors import OutOfRangeError
from refdist._core.base.jax_facts import asks_for_a_value, tracing
from refdist._core.base.where import HERE
from refdist._core.devices.tensor import Tensor
from refdist._core.seam.draft import NeedsFirstRun, NeedsPython, NeedsShape, NeedsWide
from refdist._core.seam.tapes import BodyTape, NeedsBodyTape, body_tape
from refdist._core.staging.branching import branches, names
from refdist._core.staging.cache_keys import function_key
from refdist._core.staging.elements import Elements
from refdist._core.staging.fed_program import FedProgram
from refdist._core.staging.open_program import OpenProgram
from refdist._core.staging.other_variables import OtherVariables
from refdist._core.staging.program import Program
from refdist._core.staging.program_cache import Kept
from refdist._core.staging.references import mentioned_iterators, mentioned_strategy
from refdist._core.staging.replica_draft import OtherStrategy, UnevenReplicas
from refdist._core.staging.trace_count import Traces
from refdist._core.staging.writer import Call, ProgramWriter, Written
from refdist._core.strategies.strategy import StrategyBase


class ForeignTrace(BaseException):
    """Says that JAX is tracing something else, from which a program of ours cannot be separated."""


class ProgramSource:
    """Writes the programs of one function, about the strategy that its body turns out to use.

    Args:
        owner: the function.
        traces: counts them.
        once: whether the replicas' part of a program is written once for all of them.
        autograph: whether `if` and loops over tensors become part of a program.
    """

    writer: type[ProgramWriter] = ProgramWriter

    def __init__(self, owner: Any, traces: Traces, *, once: bool, autograph: bool) -> None:
        self._owner, self.traces, self._once, self._autograph = owner, traces, once, autograph
        self._strategy: StrategyBase | None = None  # the one that the body uses without a scope around the call
        self._lock = threading.RLock()
        self.writing = False  # whether the body is being traced
        self.summarizes = False  # whether tf.summary is called: then programs depend on what is recorded around them
        self._opened: dict[Any, list[OpenProgram]] = {}  # programs for any sizes, by the kind of their calls
        self._others = OtherVariables()
        self._sources: list[Any] = []  # tensors from outside, with respect to which the body asks for gradients
        self._asks_for_gradients = False
        self._called: set[Any] = set()  # the functions that have had their first call, and so have made their variables

    def program(self, call: Call, around: StrategyBase, outside: Any) -> Kept | None:
        """Write a program; None where only Python can do what the body asks for.

        Args:
            outside: what calls have in common that differ only in what the leaves of their arguments are.
        """
        kind = (outside, call.kinds.without_shapes())
        opened = self._opened.setdefault(kind, []) if _leaves_sizes_open(call) else []
        made = _made(opened, call.leaves) or self._others.find(outside, call.leaves, call.kinds, call.function)
        if made is not None:
            return made
        try:
            written = self._written(call, around)
            if written.open is not None and not call.elements.sources:
                opened.append(written.open)
            if written.program is None or not call.elements.sources:
                self._others.keep(outside, call.leaves, call.kinds, written.program)
                return written.program
            return self._fed(call, around, written)
        finally:
            call.elements.put_back()

    def written(self, call: Call, around: StrategyBase) -> Program | None:
        """Write a program that is not kept, for a call that takes no elements of iterators."""
        try:
            return self._written(call, around).program
        except NeedsFirstRun:
            raise not_called_yet(call.function) from None

    def begin(self, fn: Any, on: StrategyBase | None) -> None:
        """Remember that a function has made its variables, in a first call in Python."""
        self._called.add(self._about(fn, on))

    def _about(self, fn: Any, on: StrategyBase | None) -> Any:
        """What tells apart the functions that make variables of their own."""
        return None if fn is self._owner or on is None else function_key(fn)

    def converted(self, body: Any) -> Any:
        """A body as it is called in a trace of JAX that is none of ours."""
        if not (self._autograph and branches(body)):
            return body
        return importlib.import_module("refdist._core.autograph.calls").converted(body)

    def run_in_python(self, args: Any, kwargs: Any) -> Any:
        """Call the body for tapes that record operations one by one."""
        body = self._owner.python_function
        with self.recorded(body, (args, kwargs)):
            return body(*args, **kwargs)

    def recorded(self, body: Any, given: Any) -> AbstractContextManager[Any]:
        """Record a body that runs in Python with some arguments, if it asks for gradients of what it computes."""
        tensors = [leaf for leaf in nest.flatten(given) if isinstance(leaf, Tensor)]
        return self._tape(body, tensors) or contextlib.nullcontext()

    def _tape(self, body: Any, given: Sequence[Any] = ()) -> BodyTape | None:
        """A tape for a body that calls tf.gradients, as far as that can be seen or is known by now."""
        asks = self._asks_for_gradients or names(body, "gradients") or names(body, "hessians")
        return body_tape([*self._sources, *given]) if asks else None

    def _fed(self, call: Call, around: StrategyBase, first: Written) -> FedProgram:
        """A program that takes elements, given the one for the first of them."""
        kind, opened = dataclasses.replace(call, leaves=(), elements=Elements()), [first.open]

        def write(leaves: Sequence[Any], elements: Elements) -> Program | None:
            made = _made(opened, [*leaves, *elements.leaves])
            if made is not None:
                return made
            written = self._written(dataclasses.replace(kind, leaves=leaves, elements=elements), around)
            elements.finish()
            opened.append(written.open)
            return written.program

        assert first.program is not None
        return FedProgram(repr(self._owner), call.leaves, call.elements, first.program, write)

    def _written(self, call: Call, around: StrategyBase) -> Written:
        if tracing():
            raise ForeignTrace
        fn, on, strategy = call.function, call.on, around
        wide = call.kinds.wide or any(is_wide(dtype) for loop in mentioned_iterators(fn) for dtype in loop.dtypes)
        about = self._about(fn, on)
        assumed = on is None and around.extended.plan.name == "default"
        if assumed:
            strategy = self._strategy or mentioned_strategy(fn) or around
        with self._lock:
            made_before, open_sizes = False, True
            body = self._owner.python_function if fn is self._owner else fn
            converting = self._autograph and branches(body)
            while not strategy.extended.plan.in_lockstep:
                writer = self.writer(
                    call,
                    strategy,
                    once=self._once,
                    wide=wide,
                    converting=converting,
                    open_sizes=open_sizes,
                    tape=self._tape(body),
                )
                try:
                    self.writing = True
                    written = writer.write()
                except OtherStrategy as other:
                    if not assumed:
                        break  # two strategies in one function: each run is a program of its own
                    assumed, strategy = False, other.strategy
                    self._strategy = strategy
                    continue
                except NeedsWide:
                    wide = True
                    continue
                except NeedsBodyTape as asked:
                    self._sources += asked.sources
                    self._asks_for_gradients = True
                    continue
                except NeedsShape as asked:
                    if not writer.shapes.open:
                        if HERE.get().drawing is None:  # in Dataset.map() everything runs in Python
                            tell_that_it_runs_in_python(asked.what, asked.remedy, asked.place)
                        break
                    open_sizes = False  # what is not known in a program for any sizes may be known in one for these
                    continue
                except NeedsPython:
                    break
                except NeedsFirstRun:
                    if about in self._called:
                        raise _made_again(fn, "a variable") from None
                    raise
                except UnevenReplicas:
                    if call.elements.sources:
                        raise
                    break
                except Exception as error:
                    if not converting and self._autograph and asks_for_a_value(error):
                        converting = True  # what a function branches on could not be seen before
                        continue
                    if not writer.shapes.open or isinstance(error, OutOfRangeError):
                        raise
                    open_sizes = False  # the body has to know the sizes; if that is not it, the error comes again
                    continue
                finally:
                    self.writing = False
                    self.summarizes = self.summarizes or writer.summarizes
                if not written.created:
                    self.traces.count += made_before  # the call that made variables was one trace, and this is another
                    self._called.add(about)
                    return written
                if made_before or about in self._called:
                    made = f"the variable {written.created[0].name!r} at {where(written.created_at)}"
                    raise _made_again(fn, made)
                made_before = True
        return Written(None)  # where there are several workers, too, because these meet in Python


@functools.cache
def tell_that_it_runs_in_python(what: str, remedy: str, place: Site) -> None:
    warnings.warn(
        f"{what} in a tf.function, at {where(place)}, which therefore runs in Python, operation by operation; expected one that is "
        f"known before the program runs, because the shape of the result depends on it. {remedy} Then it is quicker.",
        UserWarning,
        stacklevel=2,
    )


def not_called_yet(fn: Any) -> Exception:
    """What is wrong with a program that is to be written before the variables in it can be made."""
    return ValueError(
        f"The function {fn!r} makes a variable from what it computes, and was to be written before its first call; expected a "
        f"call, or an initial value that is known. Call it once, or pass a function that makes the value."
    )


def _made_again(fn: Any, what: str) -> Exception:
    return ValueError(
        f"The function {fn!r} made {what} when it was traced a second time; expected variables to be made in the first call only. "
        f"Make them outside, or only `if not made:` in the first call."
    )


def _leaves_sizes_open(call: Call) -> bool:
    return any(shape is not None and None in shape for shape in call.declared.values())


def _made(opened: Sequence[OpenProgram | None], leaves: Sequence[Any]) -> Program | None:
    """The program for a call, if one that was written for any sizes is for these, too."""
    return next((made for one in opened if one is not None and (made := one.at(leaves)) is not None), None)
