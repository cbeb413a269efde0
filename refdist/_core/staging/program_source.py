"""Where a function gets the programs from that it does not have yet."""

import dataclasses
import threading
from collections.abc import Sequence
from typing import Any

from refdist._core.base.dtypes import is_wide
from refdist._core.base.jax_facts import asks_for_a_value, tracing
from refdist._core.seam.draft import NeedsPython, NeedsWide
from refdist._core.staging.branching import branches
from refdist._core.staging.cache_keys import function_key
from refdist._core.staging.elements import Elements
from refdist._core.staging.fed_program import FedProgram
from refdist._core.staging.program import Program
from refdist._core.staging.program_cache import Kept
from refdist._core.staging.references import mentioned_iterators, mentioned_strategy
from refdist._core.staging.replica_draft import OtherStrategy, UnevenReplicas
from refdist._core.staging.trace_count import Traces
from refdist._core.staging.writer import Call, ProgramWriter
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

    def __init__(self, owner: Any, traces: Traces, *, once: bool, autograph: bool) -> None:
        self._owner, self.traces, self._once, self._autograph = owner, traces, once, autograph
        self._strategy: StrategyBase | None = None  # the one that the body uses without a scope around the call
        self._lock = threading.RLock()
        self._called: set[Any] = set()  # the functions that have had their first call, and so have made their variables

    def program(self, call: Call, around: StrategyBase) -> Kept | None:
        """Write a program; None where only Python can do what the body asks for."""
        try:
            program = self.written(call, around)
            if program is None or not call.elements.sources:
                return program

            def again(leaves: Sequence[Any], elements: Elements) -> Program | None:
                return self.written(dataclasses.replace(kind, leaves=leaves, elements=elements), around)

            kind = dataclasses.replace(call, leaves=(), elements=Elements())
            return FedProgram(repr(self._owner), call.leaves, call.elements, program, again)
        finally:
            call.elements.put_back()

    def written(self, call: Call, around: StrategyBase) -> Program | None:
        """The same for a call that takes no elements of iterators."""
        if tracing():
            raise ForeignTrace
        fn, on, strategy = call.function, call.on, around
        wide = call.kinds.wide or any(is_wide(dtype) for loop in mentioned_iterators(fn) for dtype in loop.dtypes)
        about = None if fn is self._owner or on is None else function_key(fn)
        assumed = on is None and around.extended.plan.name == "default"
        if assumed:
            strategy = self._strategy or mentioned_strategy(fn) or around
        with self._lock:
            made_before = False
            converting = self._autograph and branches(fn if fn is not self._owner else self._owner.python_function)
            while strategy.extended.plan.workers == 1:
                try:
                    written = ProgramWriter(call, strategy, once=self._once, wide=wide, converting=converting).write()
                except OtherStrategy as other:
                    if not assumed:
                        return None  # two strategies in one function: each run is a program of its own
                    assumed, strategy = False, other.strategy
                    self._strategy = strategy
                    continue
                except NeedsWide:
                    wide = True
                    continue
                except NeedsPython:
                    return None
                except UnevenReplicas:
                    if call.elements.sources:
                        raise
                    return None
                except Exception as error:
                    if converting or not self._autograph or not asks_for_a_value(error):
                        raise
                    converting = True  # what a function branches on could not be seen before
                    continue
                if not written.created:
                    self.traces.count += made_before  # the call that made variables was one trace, and this is another
                    self._called.add(about)
                    return written.program
                if made_before or about in self._called:
                    raise ValueError(
                        f"The function {fn!r} made the variable {written.created[0].name!r} when it was traced a second time; "
                        f"expected variables to be made in the first call only. Make them outside, or only `if not made:` in the "
                        f"first call."
                    )
                made_before = True
        return None  # the workers of a strategy meet in Python
