"""Programs for variables that are arguments: what was written for one is for all that are like it."""

import gc
import types
from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.staging.argument_kinds import ArgumentKinds
from refdist._core.staging.program import Program
from refdist._core.staging.program_cache import Kept
from refdist._core.staging.references import mentioned
from refdist._core.variables.variable import Variable

_MOST_OBJECTS = 5000
_OPAQUE = (types.ModuleType, type, types.FunctionType, types.CodeType, str, bytes, int, float)


class OtherVariables:
    """Finds the program of a call whose variables are only others than in a call before."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[Program, Sequence[Variable]]] = {}

    def keep(self, outside: Any, leaves: Sequence[Any], kinds: ArgumentKinds, program: Kept | None) -> None:
        """Remember a program that was written."""
        if kinds.variables and isinstance(program, Program):
            variables = [leaves[place] for place in kinds.variables]
            self._known[outside, _key(leaves, kinds)] = program, variables

    def find(self, outside: Any, leaves: Sequence[Any], kinds: ArgumentKinds, fn: Callable[..., Any]) -> Program | None:
        """The program for a call; None if there is none, or if its body may know its variables by another way, too."""
        if not kinds.variables:
            return None
        program, variables = self._known.get((outside, _key(leaves, kinds)), (None, ()))
        if program is None or _reaches(mentioned(fn), variables):
            return None
        pairs = zip(variables, [leaves[place] for place in kinds.variables], strict=True)
        shards = [pair for old, new in pairs for pair in zip(old.shards, new.shards, strict=True)]
        return program.rebound({old.storage: new.storage for old, new in shards})


def _key(leaves: Sequence[Any], kinds: ArgumentKinds) -> tuple[Any, ...]:
    """The key of a call with the kinds of variables in the place of these."""
    parts, ids = list(kinds.key), [id(leaf) for leaf in leaves]
    for place in kinds.variables:
        one: Variable = leaves[place]
        policy = one.synchronization, one.aggregation, one.trainable, one.own_copies
        homes = tuple((shard.shape, tuple(shard.storage.homes)) for shard in one.shards)
        home = type(one), one.distribute_strategy, homes, one.container is None
        parts[place] = one.shape, one.dtype, *policy, *home, ids.index(id(one))
    return tuple(parts)


def _reaches(things: Sequence[Any], variables: Sequence[Variable]) -> bool:
    """Say whether variables can be reached from some objects; if that takes too long, they may be."""
    wanted = {id(one) for variable in variables for one in (variable, *variable.shards, *variable.all_copies)}
    seen: set[int] = set()
    waiting = list(things)
    while waiting and len(seen) < _MOST_OBJECTS:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, _OPAQUE):
            continue
        seen.add(id(thing))
        if id(thing) in wanted:
            return True
        waiting += gc.get_referents(thing)
    return bool(waiting)
