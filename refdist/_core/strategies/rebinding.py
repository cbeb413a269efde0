"""Finds names that replicas bind to tensors, where they should assign to a variable.

`self.count = self.count + 1` binds the name to a tensor. If it was a variable, that is gone, and each replica goes on with a tensor
of its own. If it was a tensor or a number, each replica goes on with what the replica before it has left.
"""

import contextlib
import dis
import functools
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

from refdist._core.base.call_sites import line_text
from refdist._core.base.jax_facts import is_tracer
from refdist._core.replicas.context import get_replica_context
from refdist._core.variables.variable import Variable

QUIET: dict[int, CodeType] = {}
"""Code that binds no name outside of itself, nor does what it calls: by id, and kept alive, so that no other gets that id."""

_MOST_QUIET = 4096
_DEEP = 3  # how many functions that call each other are looked into
LIBRARIES = ("jax", "flax", "optax", "numpy", "refdist", "keras", "builtins", "equinox")
_GLOBALS = ""  # the name of the dict of globals
_BINDING = {"STORE_ATTR", "STORE_GLOBAL", "STORE_DEREF"}
_READING = {"LOAD_ATTR", "LOAD_GLOBAL", "LOAD_DEREF"}
Owners = list[tuple[str, Any]]
_UNBOUND: Any = object()
_NOTHING: dict[str, Any] = {}
# What is known of code, by its id. The code is kept alive, so that no other code gets its id.
_KNOWN: dict[int, "_Facts"] = {}


class _Binding(NamedTuple):
    """An instruction that binds a name outside of its function."""

    opname: str
    name: str
    place: str
    read_before: bool  # whether the code reads the name, too, and before it binds it
    of_own: bool  # whether it is an attribute of the code's first argument, and of nothing else


class _Facts(NamedTuple):
    """What code says of itself; looking at its instructions takes long, so that is done once."""

    code: CodeType
    bindings: tuple[_Binding, ...]  # of names outside of it
    globals_read: tuple[str, ...]
    methods: dict[type, tuple[FunctionType, ...]]  # that it names, by the class of an object
    own: str  # what it calls the object of which it is a method


class _Name(NamedTuple):
    """A name that code binds, and what it refers to before."""

    owner: Any  # an object or a dict of globals; or a cell, which has no name inside
    name: str
    shown: str
    value: Any
    place: str


class Rebinding:
    """The names that a function could bind to something else."""

    def __init__(self, names: list[_Name]) -> None:
        self._variables = [one for one in names if isinstance(one.value, Variable)]
        self._others = [one for one in names if not isinstance(one.value, Variable)]
        self._known = [one.value for one in self._others]
        self._first: dict[int, Any] = {}  # which replica has bound a name, by its place in the list

    def look(self) -> None:
        """Raise if a replica has bound the name of a variable, or one that an earlier one has bound; all is as it was before."""
        for one in self._variables:
            now = _bound(one.owner, one.name)
            if now is not one.value:
                kind = "tensor" if is_tracer(now) or is_tensor(now) else type(now).__name__
                _bind(one.owner, one.name, one.value)
                raise RuntimeError(
                    f"{one.shown!r}, the variable {one.value.name!r}, was replaced by a {kind}{_in_replica()} at {one.place}; "
                    f"expected it to stay the variable, because a tensor is that of one replica, and nobody keeps it equal. Write "
                    f"{one.shown}.assign(...). It is the variable again."
                )
        for place, one in enumerate(self._others):
            now = _bound(one.owner, one.name)
            if now is self._known[place]:
                continue
            self._known[place] = now
            first = self._first.setdefault(place, _number())
            # What a trace leaves behind has no value, so that no other replica can go on with it.
            if is_tracer(now) or (first != _number() and is_tensor(now)):
                _bind(one.owner, one.name, one.value)
                raise RuntimeError(
                    f"{one.shown!r} was read and then bound to a tensor{_in_replica()} at {one.place}, and all replicas share it; "
                    f"expected no replica to, because the next one goes on with what this one has left. Keep it in a tf.Variable "
                    f"and assign to that, or return it from the function. It is what it was before."
                )


def is_tensor(value: Any) -> bool:
    """Say whether a value is one of a device: arrays and numbers of numpy, and Python's own, are the host's."""
    return hasattr(value, "__array__") and type(value).__module__ != "numpy"


def _number() -> Any:
    replica = get_replica_context()
    return None if replica is None else replica.replica_id_in_sync_group


def _in_replica() -> str:
    number = _number()
    return "" if number is None else f" in replica {number}"


def watched(fn: Callable[..., Any]) -> Rebinding | None:
    """Find the names outside of it that a function binds; None where there are none."""
    function, own = getattr(fn, "__func__", fn), getattr(fn, "__self__", _UNBOUND)
    known = _FOUND.get((id(function), id(own)))
    if known is not None and known.function() is function and known.own() is own:
        # In one loop, because each eager run of a function that binds names comes by here.
        for held, name, matters in known.places:
            owner = own if held is known.own else held()
            value = getattr(owner, "__dict__", _NOTHING).get(name, _UNBOUND)
            if value is not _UNBOUND and (matters or isinstance(value, Variable)):
                return known.rebinding()
        return None
    walk = _Walk()
    walk.enter(function, own, _DEEP)
    if not walk.quiet:
        _Found.keep(function, own, walk.seen)
    if walk.quiet:
        code = getattr(fn, "__code__", None)
        if isinstance(code, CodeType) and len(QUIET) < _MOST_QUIET:
            QUIET[id(code)] = code
        return None
    return Rebinding(walk.names) if walk.names else None


class _Found:
    """What a walk has found, which mostly is the same in the next run: only what the names refer to is looked up again.

    It is kept only where a function looks at nothing but its own object, because other names could refer to other functions by
    then. Nothing is kept alive by it.
    """

    __slots__ = ("_owners", "function", "own", "places")

    def __init__(self, function: Any, own: Any, owners: Sequence[tuple[Any, _Binding, str]]) -> None:
        # Dead, or another object, where others have the ids now.
        self.function, self.own = weakref.ref(function), _held(own)
        self._owners = [(_held(owner), one, shown) for owner, one, shown in owners]
        # Where what is bound may matter, by name: whatever it is if the code reads it before, else if it is a variable.
        self.places = tuple((held, one.name, one.read_before) for held, one, _ in self._owners)

    @staticmethod
    def keep(function: Any, own: Any, owners: Sequence[tuple[Any, _Binding, str]] | None) -> None:
        """Remember a walk, if all that it saw can be referred to weakly."""
        if len(_FOUND) >= _MOST_QUIET:
            _FOUND.clear()
        if owners is not None:
            with contextlib.suppress(TypeError):
                _FOUND[id(function), id(own)] = _Found(function, own, owners)

    def rebinding(self) -> Rebinding | None:
        """The names that are bound at present, as a walk would find them."""
        names: list[_Name] = []
        for held, one, shown in self._owners:
            owner = held()
            value = getattr(owner, "__dict__", _NOTHING).get(one.name, _UNBOUND)
            if value is not _UNBOUND and (one.read_before or isinstance(value, Variable)):
                names.append(_Name(owner, one.name, f"{shown}.{one.name}", value, one.place))
        return Rebinding(names) if names else None


_FOUND: dict[tuple[int, int], _Found] = {}


def _held(value: Any) -> Callable[[], Any]:
    return _nobody if value is _UNBOUND else weakref.ref(value)


def _nobody() -> Any:
    return _UNBOUND


class _Walk:
    """Goes through a function and those that it names, as `reached` does, for what they bind.

    It is part of every eager run of a function that binds something, so that it makes no list of what nobody asks for, looks into
    each function once, and knows of code and classes what it has seen before.
    """

    __slots__ = ("_depths", "names", "quiet", "seen")

    def __init__(self) -> None:
        self.names: list[_Name] = []
        self.quiet = True  # whether nothing binds a name
        self.seen: (
            list[tuple[Any, _Binding, str]] | None
        ) = []  # objects whose attributes could be bound; None where there is more
        self._depths: dict[tuple[int, int], int] = {}  # of functions with their objects: how deep was looked from there

    def enter(self, function: Any, own: Any, depth: int) -> None:
        """Look into a function, and the object of which it is a method."""
        if type(function) is not FunctionType or self._depths.get(key := (id(function), id(own)), 0) >= depth:
            return
        self._depths[key] = depth
        if is_of_library(function.__module__):
            return
        if own is _UNBOUND:
            self.seen = None
        code, cells, space = function.__code__, function.__closure__, function.__globals__
        facts = _KNOWN.get(id(code)) or _facts(code)
        objects = [] if own is _UNBOUND else [(facts.own, own)]
        if cells:
            for name, cell in zip(code.co_freevars, cells, strict=True):
                try:
                    objects.append((name, cell.cell_contents))
                except ValueError:  # not bound yet
                    continue
        for name in facts.globals_read:
            if name in space:
                objects.append((name, space[name]))
        if facts.bindings:
            self.quiet = False
            for one in facts.bindings:
                self._note(one, function, own, objects)
        if depth > 1:
            for _, owner in objects:
                kind = type(owner)
                if kind is FunctionType:
                    self.enter(owner, _UNBOUND, depth - 1)
                elif kind is MethodType:
                    self.enter(owner.__func__, owner.__self__, depth - 1)
                else:
                    known = facts.methods.get(kind)
                    for method in _methods(facts, kind) if known is None else known:
                        self.enter(method, owner, depth - 1)
                        if owner is not own:
                            self.seen = None

    def _note(self, one: _Binding, function: FunctionType, own: Any, objects: Owners) -> None:
        """Note a name if it refers to a variable, or if code reads it before it binds it."""
        if one.opname != "STORE_ATTR":
            self.seen = None
        if one.opname == "STORE_ATTR":
            owners = objects[:1] if one.of_own and own is not _UNBOUND else objects
        elif one.opname == "STORE_GLOBAL":
            owners = [(_GLOBALS, function.__globals__)]
        elif one.name in function.__code__.co_freevars and function.__closure__:
            owners = [(one.name, function.__closure__[function.__code__.co_freevars.index(one.name)])]
        else:
            return  # a cell that the function makes itself
        for shown, owner in owners:
            if one.opname == "STORE_ATTR" and isinstance(owner, (dict, CellType)):
                continue
            if self.seen is not None and hasattr(owner, "__dict__"):
                self.seen.append((owner, one, shown))
                if shown != _KNOWN[id(function.__code__)].own and not isinstance(owner, (ModuleType, type)):
                    self.seen = None
            value = _bound(owner, one.name)
            if value is not _UNBOUND and (one.read_before or isinstance(value, Variable)):
                name = f"{shown}.{one.name}" if one.opname == "STORE_ATTR" else one.name
                self.names.append(_Name(owner, one.name, name, value, one.place))


class Reached(NamedTuple):
    """A function of the program, and what it can reach by name."""

    code: CodeType
    own: Owners  # the object of which it is a method, if it is one, with what the code calls it
    cells: dict[str, CellType]
    space: dict[str, Any]  # its globals


def reached(fn: Any, depth: int) -> Iterator[Reached]:
    """A function and those that it names, also in the functions that are written inside of it."""
    function = getattr(fn, "__func__", fn)
    if not isinstance(function, FunctionType) or is_of_library(function.__module__):
        return
    code, space = function.__code__, function.__globals__
    own: Owners = [] if not isinstance(fn, MethodType) else [((*code.co_varnames, "self")[0], fn.__self__)]
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    yield Reached(code, own, cells, space)
    if depth > 1:
        names = dict.fromkeys(name for one in with_inner(code) for name in one.co_names)
        owners = [owner for _, owner in own]
        owners += [cell.cell_contents for cell in cells.values() if _filled(cell)]
        owners += [space[name] for name in names if name in space]
        for owner in owners:
            if isinstance(owner, (FunctionType, MethodType)):
                yield from reached(owner, depth - 1)
            else:
                for method in _named_methods(names, type(owner)):
                    yield from reached(MethodType(method, owner), depth - 1)


def with_inner(code: CodeType) -> Iterator[CodeType]:
    """Code, and that of the functions that are written inside of it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from with_inner(one)


@functools.lru_cache(_MOST_QUIET)
def is_of_library(module: str | None) -> bool:
    """Say whether a module is part of a library, whose functions are not looked into."""
    return (module or "").split(".")[0] in LIBRARIES


def _methods(facts: _Facts, kind: type) -> tuple[FunctionType, ...]:
    """The methods of a class of the program that code names; looking for them takes long, so that is done once."""
    found = _named_methods(facts.code.co_names, kind)
    if len(facts.methods) >= _MOST_QUIET:
        facts.methods.clear()
    facts.methods[kind] = found
    return found


def _named_methods(names: Iterable[str], kind: type) -> tuple[FunctionType, ...]:
    if is_of_library(kind.__module__) or issubclass(kind, (type, Variable, ModuleType, CellType)):
        return ()
    named = [getattr(kind, name, None) for name in names]
    return tuple(one for one in named if isinstance(one, FunctionType))


def _filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:  # not bound yet
        return False


def _facts(code: CodeType) -> _Facts:
    found: list[_Binding] = []
    line, read, globals_read = code.co_firstlineno, set[Any](), dict[str, None]()
    own, instructions = code.co_varnames[0] if code.co_varnames else "self", list(dis.get_instructions(code))
    stays = not any(one.opname.startswith("STORE_FAST") and own in _names_of(one) for one in instructions)
    for before, one in zip([None, *instructions], instructions, strict=False):
        line = (one.positions and one.positions.lineno) or line
        if one.opname in _READING:
            read.add(one.argval)
            if one.opname == "LOAD_GLOBAL":
                globals_read[one.argval] = None
        elif one.opname in _BINDING:
            place = f"{line_text(code.co_filename, line)}, in {code.co_name}"
            of_own = before is not None and before.opname.startswith("LOAD_FAST") and _names_of(before)[-1] == own
            found.append(
                _Binding(one.opname, one.argval, place, one.argval in read, of_own and stays and not one.is_jump_target)
            )
            read.discard(one.argval)
    if len(_KNOWN) >= _MOST_QUIET:
        _KNOWN.clear()
    facts = _KNOWN[id(code)] = _Facts(code, tuple(found), tuple(globals_read), {}, own)
    return facts


def _names_of(one: dis.Instruction) -> tuple[Any, ...]:
    return one.argval if isinstance(one.argval, tuple) else (one.argval,)  # some instructions of Python 3.13 have two


def _bound(owner: Any, name: str) -> Any:
    if isinstance(owner, CellType):
        return owner.cell_contents if _filled(owner) else _UNBOUND
    names = owner if isinstance(owner, dict) else getattr(owner, "__dict__", _NOTHING)
    return names.get(name, _UNBOUND)


def _bind(owner: Any, name: str, value: Any) -> None:
    if isinstance(owner, CellType):
        owner.cell_contents = value
    elif isinstance(owner, dict):
        owner[name] = value
    else:
        setattr(owner, name, value)
