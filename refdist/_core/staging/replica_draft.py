"""A program while it is written: the values that variables have in it, and what it requires."""

import contextlib
import importlib
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from refdist._core.base import nest
from refdist._core.base.call_sites import Site, call_site, own_place, where
from refdist._core.base.dtypes import is_wide
from refdist._core.base.entropy import RUNS, FunctionDraws, program_stream
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.philox import Stream
from refdist._core.base.where import HERE, entered
from refdist._core.replicas.meeting import Meeting
from refdist._core.replicas.specs import is_dataset
from refdist._core.replicas.values import DistributedValues, of_parts
from refdist._core.seam.compiler import Compiler
from refdist._core.seam.draft import NeedsFirstRun, NeedsPython, NeedsWide
from refdist._core.seam.peers import UNEVEN
from refdist._core.seam.tapes import BodyTape, Tapes
from refdist._core.staging.branching import branches
from refdist._core.staging.elements import Elements
from refdist._core.staging.open_shapes import OpenShapes
from refdist._core.staging.stand_ins import SymbolicPerReplica, passed_through, spec_of
from refdist._core.variables.variable import LIVE, Variable

if TYPE_CHECKING:
    from refdist._core.input.position import Loop
    from refdist._core.staging.staged_strategy import StagedExtended
    from refdist._core.strategies.strategy import StrategyBase
    from refdist._core.strategies.verbs import StrategyExtended

MOST_TRACES = 64  # beyond this many replicas a body is called once for all


class OtherStrategy(BaseException):
    """Ends a draft that turns out to be about a different strategy than was assumed."""

    def __init__(self, strategy: "StrategyBase") -> None:
        super().__init__()
        self.strategy = strategy


class UnevenReplicas(BaseException):
    """Ends a draft in which the replicas have values of different shapes, which one program cannot hold."""


class Requirement(NamedTuple):
    """What has to hold when a program runs; each replica says whether it does."""

    error: type[Exception]
    text: str
    run: int  # of the function on replicas, in the order of the program
    turn: int
    judge: "Callable[[Any], None] | None" = None  # raises or warns, given the values of all replicas instead of flags


class Comparison(NamedTuple):
    """What has to be equal on all replicas when a program runs."""

    what: str
    site: Site
    run: int
    meeting: int


Key: TypeAlias = int | Requirement | Comparison
"""What a program makes besides its result: the new value of a variable, by the id of its first copy; or what it has to check."""


class ReplicaDraft:
    """A program while it is written: the values that variables have in it, and the strategy that it is about."""

    def __init__(
        self,
        compiler: Compiler,
        strategy: "StrategyBase",
        stage: "Callable[[ReplicaDraft, StrategyExtended, int], StagedExtended]",
        elements: Elements,
        shapes: OpenShapes,
        *,
        once: bool,
        wide: bool,
        converting: bool = False,
        tape: BodyTape | None = None,
    ) -> None:
        self.compiler, self.strategy, self.backend = compiler, strategy, compiler.draft_backend
        self.count, self.wide = compiler.count, wide
        self.once = once or self.count > MOST_TRACES  # one call of a body for all replicas, with a symbolic number
        self.values: dict[Key, Any] = {}  # at the current point of the program
        self.created: list[Variable] = []
        self.created_at: Site = ()  # the first of them
        self.meetings: list[Meeting] = []
        self._stage, self._staged = (
            stage,
            dict[int, "StagedExtended"](),
        )  # the verbs of strategies, by the id of the real ones
        self._traces: object = None  # those of JAX that are open where the draft was entered
        self._seen_inside: set[int] = set()  # variables read inside transformations of JAX, which may remember them
        self._contexts = contextlib.ExitStack()
        self.runs = 0
        self.turns = 0  # how many requirements and random numbers there are so far, on the path of one replica
        self.number: Any = None  # the symbolic one of the replica, while a body is called once for all
        self.refused: Exception | None = (
            None  # what the body of a replica has to end with, even if the program catches it
        )
        self.entropy: Any = None  # an input of the program that differs in each run
        self.draws, self.shares = FunctionDraws(), list[Any]()  # what has drawn numbers so far
        self.converting = converting  # whether `if` and loops over tensors become part of the program
        self.unconverted: list[str] = []  # the functions that could not be converted, and why
        self.conditions: list[Any] = []  # on which the code at the current point depends
        self.read_in_parts: dict[Any, Variable] = {}  # the variables that branches and loops have read
        self.recorded, self.summarizes = tape is not None, False
        self._tape = tape  # records what the body does, if the body asks for gradients of it
        self._parts = 0  # how many branches and loops the code is in
        self.elements, self._shapes = elements, shapes
        self.compared_at: dict[
            int, Site
        ] = {}  # where variables are written that take one value from all replicas, by their key
        # Tensors that merge_call has given to all replicas, by id, with where they come from: outside, each is one tensor.
        self._one_for_all: dict[int, tuple[Any, tuple[int, ...]]] = {}

    def extended(self, strategy: "StrategyBase") -> "StagedExtended":
        real, about = strategy._extended, self.strategy._extended  # pyright: ignore[reportPrivateUsage]
        if real is not about and real.plan.name != "default":
            raise OtherStrategy(strategy)
        staged = self._staged.get(id(real))
        if staged is None:
            staged = self._staged[id(real)] = self._stage(self, real, self.count if real is about else 1)
            staged.bind(strategy)
        return staged

    @contextlib.contextmanager
    def entered(self) -> Generator[None]:
        """Enter this draft, or the part of one replica in it."""
        before, self._traces = self._traces, self.compiler.open_traces()
        contexts, self._contexts = self._contexts, contextlib.ExitStack()
        tape, self._tape = self._tape, None if self._tape is None else self._tape.inner()
        try:
            with entered(draft=self, tapes=None), self._tape or contextlib.nullcontext(), self._contexts:
                yield
        finally:
            self._contexts, self._tape = contexts, tape
            self._traces = before

    @contextlib.contextmanager
    def part(self, values: dict[Any, Any] | None = None, conditions: Sequence[Any] = ()) -> Generator[dict[Any, Any]]:
        depended, self.conditions = self.conditions, [*self.conditions, *conditions]
        before, self.values = self.values, dict(self.values if values is None else values)
        self._parts += 1
        try:
            with self.entered(), self.numbering(own=True):
                yield self.values
        finally:
            self._parts -= 1
            self.values, self.conditions = before, depended

    def body_tapes(self) -> Tapes | None:
        """The tape of the body, where those of the user are not told of anything."""
        return None if self._tape is None else self._tape.alone()

    def hide(self, results: Any) -> None:
        """Tell the tape of the body of what several replicas have made, which it does not see."""
        if self._tape is not None and self.count > 1:
            self._tape.hide(results)

    def converted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function as this draft calls it."""
        if not self.converting:
            return function
        return importlib.import_module("refdist._core.autograph.calls").converted(function)

    @contextlib.contextmanager
    def inlined(self, function: Callable[..., Any], *, autograph: bool) -> Generator[Callable[..., Any]]:
        """Call the body of another `function` as a part of this one: it decides for itself whether it is converted."""
        before, self.converting = self.converting, autograph and (self.converting or branches(function))
        try:
            with self.numbering(own=not self._in_replica()):
                yield self.converted(function)
        finally:
            self.converting = before

    @contextlib.contextmanager
    def numbering(self, *, own: bool) -> Generator[None]:
        """Number the operations that draw as those of a function by itself, if it is one."""
        draws = self.draws
        if own:
            self.draws = FunctionDraws()
        try:
            yield
        finally:
            self.draws = draws

    def read(self, variable: Variable) -> Any:
        home = variable.container if variable.container is not None else variable
        self.require_wide(home.dtype)
        value = self.values.get(id(home.copies[0]))
        if value is None:
            return self._unknown(home)
        if self._parts:
            self.read_in_parts[id(home.copies[0])] = home
        if self.in_transformation():
            self._seen_inside.add(id(home.copies[0]))
        if home.own_copies and variable is not home.copies[0] and self.count > 1:
            index = next(i for i, copy in enumerate(home.all_copies) if copy is variable)
            return self.compiler.of_local_replicas(value)[index]
        return value

    def require_wide(self, dtype: Any) -> None:
        if is_wide(dtype) and self.compiler.exact and not self.wide:
            raise NeedsWide

    def _unknown(self, home: Variable) -> Any:
        if any(home is made for made in self.created):
            with self._left():  # this draft is thrown away, because the program has to take the variable as an input
                return self.backend.put(home.copies[0].backend.get(home.copies[0].stored), None)
        raise ValueError(
            f"The variable {home.name!r} was used in a function for {self.strategy!r}; expected one whose value a compiled "
            f"program can take, of the same backend. Make it under the backend of the strategy, and keep text out of it."
        )

    def write(self, variable: Variable, tensor: Any) -> None:
        if self.in_transformation():
            raise RuntimeError(
                f"The variable {variable.name!r} was written inside a transformation of JAX (grad, vmap, scan or jit); expected a "
                f"write in the function itself. Return the new value from the transformed function, and assign it there."
            )
        home = variable.container if variable.container is not None else variable
        frame = HERE.get().frame
        if frame is not None and variable.container is None and len(home.all_copies) == 1 and self._in_replica():
            home.require_own(frame.strategy)
        first = home.all_copies[0]
        if variable is not first:
            tensor = self._of_another_copy(home, variable, tensor)
        if id(first) in self._seen_inside:
            # So that no cache of JAX returns the old value.
            self._contexts.enter_context(self.compiler.unseen_trace())
        self.values[id(first)] = tensor

    def _of_another_copy(self, home: Variable, variable: Variable, tensor: Any) -> Any:
        if not home.own_copies:
            raise RuntimeError(
                f"One copy of the mirrored variable {home.name!r} was written by itself in a function; expected all of them to be. "
                f"Write the variable, or use extended.update()."
            )
        if self.compiler.local < self.count:
            raise NeedsPython  # this process knows its own copies only, and all processes have one program
        number = next(index for index, copy in enumerate(home.all_copies) if copy is variable)
        return self.compiler.on_replica(number, tensor, self.values[id(home.all_copies[0])])

    def on_first_replica(self, tensor: Any, others: Any) -> Any:
        """A tensor that the first replica has, where the others have another one."""
        return self.compiler.on_replica(0, tensor, others) if self.count > 1 else tensor

    def compare(self, variable: Variable, verb: str, tensor: Any) -> None:
        """Make the program compare, when it runs, the values that replicas write, which have to be equal."""
        what, site = f"{verb}() of {variable.name!r}", call_site()
        self.compared_at[id(variable.all_copies[0])] = site
        if not self._parts:
            self.values[Comparison(what, site, self.runs, len(self.meetings))] = tensor
            return
        first, *others = self.compiler.of_all_replicas(tensor)  # a loop writes several times: each is compared at once
        text = (
            f"{what} at {where(site)} got different values on different replicas; expected equal ones, because there is one value "
            f"for all. Combine them first with all_reduce()."
        )
        for other in others:
            self.require((first == other).all(), ValueError, text)

    def remember_one_for_all(self, tensor: Any, place: int) -> None:
        """Remember that all replicas get this very tensor from the current meeting, at a place in its result."""
        self._one_for_all[id(tensor)] = tensor, (self.runs, len(self.meetings), place)

    def one_for_all(self, tensor: Any) -> tuple[int, ...] | None:
        """Where a tensor that all replicas have got comes from; None for all other tensors."""
        found = self._one_for_all.get(id(tensor))
        return None if found is None else found[1]

    def require(self, flag: Any, error: type[Exception], text: str) -> None:
        if not self.in_transformation():  # what a transformation of JAX finds cannot be taken out of it
            self.turns += 1
            self.values[Requirement(error, text, self.runs, self.turns)] = flag

    def judge(self, value: Any, judge: Callable[[Any], None]) -> None:
        """Have the values that all replicas have at this point judged after each run of the program."""
        if not self.in_transformation() and not self.conditions:
            turn = -sum(
                isinstance(key, Requirement) for key in self.values
            )  # the others count from 1, with random numbers
            self.values[Requirement(ArithmeticError, "", self.runs, turn, judge)] = value

    def draw(self, seed: int | None, blocks: int) -> Stream:
        if self.in_transformation() and self.compiler.may_repeat():
            raise RuntimeError(
                "Random numbers were drawn inside jit, scan or cond of JAX; expected a call in the function itself, because there "
                "each turn would get the same ones. Draw them before, or use jax.random with a key of your own."
            )
        self.turns += 1
        replica = self.compiler.replica_number() if self._in_replica() else 0
        found = None
        if self.draws.decides(seed):
            if seed is None and not isinstance(replica, int):
                found = self._drawn_in_replica(replica, blocks)
            else:
                found = self.draws.stream(seed, self.entropy[RUNS], blocks)
        return program_stream(self.entropy, self.turns, replica, blocks) if found is None else found

    def _drawn_in_replica(self, replica: Any, blocks: int) -> Stream | None:
        frame = HERE.get().frame
        assert frame is not None
        assert frame.replica is not None
        number, where = frame.replica.replica_id_in_sync_group, (self.runs, len(self.meetings))
        path = number if isinstance(number, int) else None  # None where one trace stands for all replicas
        return self.draws.stream_in_replica(where, path, self.shares, self.entropy, replica, self.count, blocks)

    def refuse(self, error: Exception, about: Any = None) -> None:
        if about is None or (self.number is not None and self.compiler.made_from(about, self.number)):
            self.refused = self.refused or error

    def in_transformation(self) -> bool:
        return self.compiler.open_traces() != self._traces

    def _in_replica(self) -> bool:
        frame = HERE.get().frame
        return self.count > 1 and frame is not None and frame.replica is not None and frame.strategy is self.strategy

    def require_outside(self, what: str) -> None:
        """Raise inside a transformation of JAX, which cannot contain what replicas do together."""
        if self.in_transformation():
            raise RuntimeError(
                f"{what} was called inside a transformation of JAX (grad, vmap, scan or jit); expected a call in the function "
                f"itself. Transform inside the replicas' function, or outside of the tf.function."
            )

    def create(self, make: Callable[..., Any], kwargs: dict[str, Any]) -> Variable:
        if is_tracer(kwargs.get("initial_value")):
            raise NeedsFirstRun  # the variable is made only once, from numbers that only Python has then
        with self._left():
            made = make(**kwargs)
        if isinstance(made, Variable):
            new = [one for one in made.shards if id(one) not in LIVE]
            self.created_at = self.created_at or own_place()
            self.created += [one for one in new if not any(one is other for other in self.created)]
        return made

    @contextlib.contextmanager
    def _left(self) -> Generator[None]:
        """Leave the draft for a while."""
        with entered(draft=None, tapes=None), self.compiler.at_once():
            yield

    def next_of(self, loop: "Loop") -> Any:
        if self._parts or self.in_transformation() or self._in_replica():
            raise NeedsPython  # which takes one for each turn, and for each replica
        with self._left():
            element = self.elements.next_of(loop)
        return nest.map_structure(self._element_stand_in, element)

    def _element_stand_in(self, leaf: Any) -> Any:
        """What stands for a tensor of an element, which becomes an input of the program."""
        if is_dataset(leaf) or of_parts(leaf):
            raise NeedsPython
        (place, declared), each = self.elements.place_of(leaf), isinstance(leaf, DistributedValues)
        if (each and leaf.spec is None) or id(leaf) in UNEVEN:
            raise UnevenReplicas
        dtype = spec_of(leaf)[1]
        if dtype.kind in "OSU" or (each and leaf.count != self.compiler.local):
            return passed_through(place, leaf)
        self.require_wide(dtype)
        spec = self._shapes.spec(place, leaf, declared)
        value = self.compiler.further_input(spec, place, own=each)
        return self.per_replica(value) if each else value

    def per_replica(self, own: Any) -> Any:
        """A tensor of the replica, as code outside of the replicas sees it."""
        return own if self.compiler.local == 1 else SymbolicPerReplica(self, own)
