"""Objects that hold variables under names, so that they can be saved and restored."""

import contextvars
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from refdist._core.base.jax_facts import tracing
from refdist._core.base.later_rooms import ask
from refdist._core.base.pytree_nodes import is_node, named_parts
from refdist._core.input.position import Loop
from refdist._core.saving.other_state import OtherState, states_in
from refdist._core.variables.variable import Variable

Place = tuple[Any, ...]  # the names that lead to a variable: strings, unless a dict has other keys

# The attribute of a module that keeps values for later variables; not an identifier, so that it hides no attribute.
WAITING = "values that wait"
# The attribute of a checkpoint that keeps an object whose parts count as the checkpoint's own.
ROOT = "the root"


class Trackable:
    """Has variables, and objects with variables, as attributes; a restored value waits until its variable exists."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        waiting = vars(self).get(WAITING)
        if isinstance(waiting, Waiting):
            waiting.values.give(value, (*waiting.place, name))


class Module(Trackable):
    """Has variables and other modules as attributes, and can list them all."""

    def __init__(self, name: str | None = None) -> None:
        self._name = name or type(self).__name__.lower()

    @property
    def name(self) -> str:
        """The name given, or that of the class."""
        return getattr(self, "_name", type(self).__name__.lower())

    @property
    def variables(self) -> tuple[Variable, ...]:
        """All variables that can be reached from here: those of this module by attribute, then those of inner modules."""
        found = {id(one): one for _, one in _walk(self, (), foreign=False) if isinstance(one, Variable)}
        return tuple(shard for variable in found.values() for shard in variable.shards)

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """The variables that are trained."""
        return tuple(variable for variable in self.variables if variable.trainable)


class SavedValues:
    """Saved values, by place, that have not been given to their variables yet."""

    def __init__(self, arrays: Mapping[str, np.ndarray[Any, Any]]) -> None:
        self._arrays: dict[Place, np.ndarray[Any, Any]] = {split(path): array for path, array in arrays.items()}
        self._above = {place[:length] for place in self._arrays for length in range(len(place))}
        self.given = 0  # how many have found their variables
        self._undo: Callable[[], None] = lambda: None  # takes back those that were given last

    @property
    def paths(self) -> list[str]:
        """The paths of the values that still wait."""
        return sorted(map(joined, self._arrays))

    def give(self, value: Any, place: Place, *, strict: bool = False) -> list[Place]:
        """Give their values to the variables at and below a place, all or none; values for later variables keep waiting.

        Returns the places of variables without a saved value; if strict, each of these must have a valid path. A variable with
        several places takes the first value.
        """
        found = list(_walk(value, place, self._above))
        variables: dict[Any, tuple[Place, Saved]] = {}
        for where, one in found:
            first = variables.get(_identity(one))
            better = first is None or (first[0] not in self._arrays and where in self._arrays)
            if isinstance(one, SAVED) and better:
                variables[_identity(one)] = where, one
        matched = {where: one for where, one in variables.values() if where in self._arrays}
        for where, one in matched.items():
            self._require_fitting(where, one)
        unmatched = [where for where, _ in variables.values() if where not in matched]
        for where in unmatched if strict else ():
            joined(where)
        holders = [(_holder(one), Waiting(self, where)) for where, one in found if not isinstance(one, SAVED)]
        _outside(lambda: self._assign(matched, holders))
        return unmatched

    def take_back(self) -> None:
        """Bring back what was there before the last values were given."""
        _outside(self._undo)

    def _assign(self, matched: "dict[Place, Saved]", holders: "list[tuple[dict[str, Any], Waiting]]") -> None:
        arrays = {where: self._arrays[where] for where in matched}
        undone = [undo for one in matched.values() for undo in _undoing(one)]
        earlier = [holder.get(WAITING) for holder, _ in holders]

        def undo_all() -> None:
            for undo in undone:
                undo()
            for (holder, _), before in zip(holders, earlier, strict=True):
                holder.update({WAITING: before}) if before is not None else holder.pop(WAITING, None)
            self._arrays.update(arrays)

        try:
            for where, one in matched.items():
                one.assign(_as_wide_as(one, self._arrays.pop(where)))
            for holder, waiting in holders if self._arrays else ():
                holder[WAITING] = waiting
            self.given += len(matched)
            self._undo = undo_all
        except BaseException:
            undo_all()
            raise

    def _require_fitting(self, place: Place, variable: "Saved") -> None:
        array, known = self._arrays[place], _likeness(variable)
        if known is not None and (array.shape != known[1] or not _has_room(known[0], array)):
            raise ValueError(
                f"The checkpoint has {joined(place)!r} as {array.dtype} of shape {array.shape}; expected {known[0]} of shape "
                f"{known[1]}, as the variable has. Restore a checkpoint of the same model. Nothing was restored."
            )


class Waiting(NamedTuple):
    """What an object waits for that may get more variables: saved values, and its own place among them."""

    values: SavedValues
    place: Place


Saved = Variable | OtherState
SAVED = (Variable, OtherState)


def named_variables(root: Any) -> "Iterator[tuple[str, Saved]]":
    """Find the variables below an object, each once, with paths such as `layer/kernel` or `layers/0/bias`."""
    found = {_identity(one): (place, one) for place, one in reversed(list(_walk(root, ()))) if isinstance(one, SAVED)}
    return ((joined(place), one) for place, one in reversed(found.values()))


def modules_below(root: Any) -> Iterator[tuple[Place, Trackable]]:
    """Find the modules at and below an object, each with its place."""
    return ((place, one) for place, one in _walk(root, ()) if isinstance(one, Trackable))


def is_trackable(value: Any) -> bool:
    """Say whether an object is of a kind in which variables can be found."""
    return (
        isinstance(value, (Variable, Trackable, Mapping, list, tuple))
        or is_node(value)
        or states_in(value) is not None
        or _of_keras(value) is not None
    )


def has_arrays(value: Any) -> bool:
    """Say whether there are arrays in a nest that are in no variable, and so could not be replaced by saved ones."""
    if isinstance(value, (Variable, Trackable)) or states_in(value) is not None:
        return False
    if isinstance(value, (Mapping, list, tuple)):
        return any(has_arrays(child) for _, child in _children(value))
    if is_node(value):
        return any(has_arrays(part) for _, part in named_parts(value))
    return hasattr(value, "__array__") and _of_keras(value) is None


def joined(place: Place) -> str:
    """Return the path under which the variable at a place is saved.

    >>> joined(("layers", "0", "in/out"))
    'layers/0/in~1out'
    """
    for name in place:
        if not isinstance(name, str):
            raise ValueError(
                f"A dict has a variable under the key {name!r}; expected a string, as paths in checkpoints have. Use {str(name)!r}."
            )
    return "/".join(name.replace("~", "~0").replace("/", "~1") for name in place)  # as in JSON pointers


def split(path: str) -> Place:
    """Return the place to which a path leads.

    >>> split("layers/0/in~1out")
    ('layers', '0', 'in/out')
    """
    return tuple(name.replace("~1", "/").replace("~0", "~") for name in path.split("/"))


def _walk(
    root: Any, place: Place, above: Collection[Place] = (), *, foreign: bool = True
) -> Iterator[tuple[Place, Any]]:
    """Find the variables at and below an object, and the objects that may get more; inner modules come last.

    An object that can be reached in several ways is searched once, and again if a saved value lies below its place.
    """
    seen: dict[int, Any] = {}  # keeps the objects alive, so that no id is reused
    nest: list[tuple[Place, Any]] = [(place, root)]
    inner: list[tuple[Place, Any]] = []
    outer: list[tuple[Place, Any]] = []
    while nest or inner or outer:
        if not nest:
            outer, inner = [*outer, *reversed(inner)], []
            place, value = outer.pop()
            yield place, value
            nest = [((*place, name), child) for name, child in reversed(list(_children(value)))]
            if (root := vars(value).get(ROOT) if isinstance(value, Trackable) else None) is not None:
                nest.append(((*place, "") if isinstance(root, (Variable, Loop)) else place, root))
            continue
        place, value = nest.pop()
        if isinstance(value, Variable):
            yield place, value
        elif id(value) not in seen or place in above:
            seen[id(value)] = value
            if isinstance(value, (Mapping, list, tuple)):
                nest += [((*place, name), child) for name, child in reversed(list(_children(value)))]
            elif isinstance(value, Trackable):
                inner.append((place, value))
            elif foreign and (states := states_in(value)) is not None:
                yield from (((*place, *names), state) for names, state in states)
            elif is_node(value):
                nest += [((*place, name), child) for name, child in reversed(named_parts(value))]
            elif foreign and (of_keras := _of_keras(value)) is not None:
                known = of_keras.variable(value)
                (inner if known is None else nest).append((place, value if known is None else known))


def _children(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, Trackable):
        return sorted((name, child) for name, child in vars(value).items() if name not in (WAITING, ROOT))
    if isinstance(value, (list, tuple)):
        names = getattr(value, "_fields", None) or map(str, range(len(value)))  # those of a named tuple
        return zip(names, value, strict=True)
    if not isinstance(value, Mapping):
        return _of_keras(value).children(value)
    try:
        return [(key, value[key]) for key in sorted(value)]
    except TypeError:  # keys of different types cannot be sorted
        return value.items()


def _outside(do: Callable[[], None]) -> None:
    """Do something outside of replicas and programs, wherever the caller is: all copies of a variable get a value once, without a
    meeting of replicas.
    """
    if tracing():
        from concurrent.futures import ThreadPoolExecutor  # which loads logging, and is seldom needed

        with ThreadPoolExecutor(1) as executor:  # a JAX trace is open only in its own thread
            executor.submit(do).result()
    else:
        contextvars.Context().run(do)


def _identity(value: Any) -> Any:
    return value.identity if isinstance(value, OtherState) else id(value)


def _likeness(value: Saved) -> Any:
    return value.likeness if isinstance(value, OtherState) else (value.dtype, tuple(value.shape))


def _has_room(dtype: Any, array: np.ndarray[Any, Any]) -> bool:
    """Say whether values can be taken as they are: integers may have 32 bits or 64, because JAX has cut some of them to 32, such as
    the iterations of an optimizer, which have 64 in TensorFlow.
    """
    if array.dtype == dtype:
        return True
    if array.dtype.kind != dtype.kind or dtype.kind not in "iu" or {array.dtype.itemsize, dtype.itemsize} != {4, 8}:
        return False
    return bool((array.astype(dtype) == array).all())


def _as_wide_as(variable: Saved, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    known = _likeness(variable)
    return array if known is None else array.astype(known[0], copy=False)


def _undoing(value: Saved) -> list[Callable[[], None]]:
    """Functions that bring the present value back."""
    if isinstance(value, OtherState):
        return [value.undo()]
    copies = [copy for shard in value.shards for copy in shard.all_copies]
    return [functools.partial(copy.store, copy.stored) for copy in copies]


def _holder(value: Any) -> dict[str, Any]:
    """Return the attributes among which an object keeps what it waits for."""
    return vars(value) if isinstance(value, Trackable) else _of_keras(value).holder(value)


def _of_keras(value: Any) -> Any:
    """Return the module that finds variables in Keras objects, or None for any other object; does not load Keras to find out."""
    if not any(str(kind.__module__).startswith("keras.") for kind in type(value).__mro__):
        return None
    tracked = ask("keras_objects")
    return tracked if tracked.is_trackable(value) else None


def servable(value: Any) -> Trackable | None:
    """A module that does what a model of Keras does; None for any other object."""
    of_keras = _of_keras(value)
    return None if of_keras is None else of_keras.servable(value)
