"""What the programs of a function are told apart by: shapes, dtypes, Python values, and the functions inside."""

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base import convert, nest
from refdist._core.devices.tensor import dtype_name
from refdist._core.input.dataset import Dataset, DatasetIterator
from refdist._core.input.distributed_dataset import DistributedDataset, DistributedIterator
from refdist._core.input.input_iterator import InputIterator
from refdist._core.replicas import context
from refdist._core.replicas.specs import PerReplicaSpec, TensorSpec
from refdist._core.replicas.values import DistributedValues, PerReplica
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.variables.variable import Variable

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_FEW = 32
_TENSORS: set[type] = set()  # the types of tensors met so far, to know them quickly
_SOURCES = (Dataset, DatasetIterator, DistributedDataset, DistributedIterator, InputIterator)


class Identity:
    """An object as part of a key: equal to itself alone, and kept alive by the key."""

    __slots__ = ("_object",)

    def __init__(self, thing: Any) -> None:
        self._object = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self._object is other._object

    def __hash__(self) -> int:
        return id(self._object)

    def __str__(self) -> str:
        return f"{self._object!r} ({id(self._object):#x})"


class ArgumentKinds:
    """Of what kind the arguments of a call are: tensors, one tensor for each replica, or Python values."""

    __slots__ = ("each", "key", "on_host", "tensors", "text", "traced", "wide")

    def __init__(self, leaves: Sequence[Any]) -> None:
        self.tensors: list[int] = []  # places of plain tensors
        self.each: list[int] = []  # of values with a tensor for each replica
        self.text: list[int] = []  # of text, which a program can only hand on
        self.on_host = self.wide = self.traced = False
        self.key = tuple([self._one(place, leaf) for place, leaf in enumerate(leaves)])

    def _one(self, place: int, leaf: Any) -> Any:
        if type(leaf) in _TENSORS:
            dtype = leaf.dtype
            self._tensor(place, dtype, self.tensors)
            return leaf.shape, dtype
        if isinstance(leaf, _PLAIN) and not isinstance(leaf, np.generic):
            return _part(leaf)
        if isinstance(leaf, Variable):
            return Identity(leaf)
        if isinstance(leaf, DistributedValues):
            return self._distributed(place, leaf)
        dtype = getattr(leaf, "dtype", None)
        if dtype is None or not hasattr(leaf, "shape") or not hasattr(leaf, "__array__"):
            self.on_host = self.on_host or isinstance(leaf, _SOURCES)
            return Identity(leaf)
        if type(leaf).__name__.endswith("Tracer"):
            self.traced = True
        else:
            _TENSORS.add(type(leaf))
        self._tensor(place, dtype, self.tensors)
        return leaf.shape, dtype

    def _distributed(self, place: int, leaf: DistributedValues) -> Any:
        spec = leaf.spec
        if spec is not None:
            self._tensor(place, spec[1], self.each)
            return "each", leaf.count, spec
        if any(hasattr(value, "shape") for value in leaf.values):
            self.on_host = True  # the replicas have tensors of different shapes, which no one program takes
            return None
        return type(leaf), tuple(map(_part, leaf.values))

    def _tensor(self, place: int, dtype: Any, places: list[int]) -> None:
        kind = getattr(dtype, "kind", "V")  # JAX's random keys have none
        if kind in "OSU":
            self.text.append(place)
            return
        places.append(place)
        self.wide = self.wide or (kind in "iuf" and dtype.itemsize == 8) or (kind == "c" and dtype.itemsize == 16)


def quick_key(args: Sequence[Any]) -> tuple[Any, ...] | None:
    """What the arguments of a call are told apart by, where all of them are tensors of types met before; else None."""
    parts: list[Any] = []
    for leaf in args:
        kind = type(leaf)
        if kind in _TENSORS:
            parts.append((leaf.shape, leaf.dtype))
        elif kind is PerReplica:
            parts.append((leaf.count, leaf.spec))
        else:
            return None
    return tuple(parts)


def function_key(fn: Callable[..., Any]) -> Any:
    """What makes two functions write the same program: their code, and what they close over."""
    if isinstance(fn, functools.partial):
        return function_key(fn.func), tuple(map(_part, fn.args)), tuple((k, _part(v)) for k, v in fn.keywords.items())
    if inspect.ismethod(fn):
        return function_key(fn.__func__), Identity(fn.__self__)
    code = getattr(fn, "__code__", None)
    if code is None:
        return Identity(fn)
    cells = [cell.cell_contents for cell in fn.__closure__ or () if _filled(cell)]
    named = [fn.__globals__[name] for name in code.co_names if name in fn.__globals__]
    defaults = [*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()]
    return code, tuple(map(_contents, [*cells, *named, *defaults]))


def closes_over_tensors(fn: Callable[..., Any]) -> bool:
    """Say whether a function made anew in each step brings a value along that a program would take for a constant."""
    given: Any = fn
    parts: list[Any] = []
    if isinstance(given, functools.partial):
        parts += [*given.args, *given.keywords.values()]
        given = given.func
    parts += [cell.cell_contents for cell in getattr(given, "__closure__", None) or () if _filled(cell)]
    parts += [*(getattr(given, "__defaults__", None) or ()), *(getattr(given, "__kwdefaults__", None) or {}).values()]
    leaves = [leaf for part in parts for leaf in nest.flatten(part)]
    tensors = [leaf for leaf in leaves if isinstance(leaf, DistributedValues) or hasattr(leaf, "__array__")]
    return any(not isinstance(leaf, Variable) for leaf in tensors)


def mentioned_strategy(fn: Callable[..., Any]) -> Any:
    """The one strategy that a function names, or that its object has; where there is none or several, None."""
    function: Any = inspect.unwrap(fn)
    things = list(getattr(getattr(function, "__self__", None), "__dict__", {}).values())
    function = getattr(function, "__func__", function)
    things += [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _filled(cell)]
    code = getattr(function, "__code__", None)
    codes = [code, *(const for const in code.co_consts if inspect.iscode(const))] if code is not None else []
    things += [function.__globals__.get(name) for one in codes for name in one.co_names]
    found = {id(thing): thing for thing in things if isinstance(thing, StrategyBase)}
    several = [strategy for strategy in found.values() if strategy.extended.plan.name != "default"]
    return several[0] if len(several) == 1 else None


def _filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def _part(value: Any) -> Any:
    """A value as part of a key: Python values by what they are, everything else by which it is."""
    if isinstance(value, float):
        return float, value.hex()  # tells 0.0 from -0.0, and knows nan again
    return (type(value), value) if isinstance(value, _PLAIN) else Identity(value)


def _contents(value: Any) -> Any:
    """The same for what a function refers to: of small containers also what is in them, because it may change."""
    if isinstance(value, dict) and len(value) <= _FEW:
        return Identity(value), tuple((_part(key), _part(item)) for key, item in value.items())
    if isinstance(value, (list, tuple, set)) and len(value) <= _FEW:
        return Identity(value), tuple(map(_part, value))
    return _part(value)


class Parameters:
    """What a Python function calls its arguments, so that one call can be told from another that only looks different."""

    def __init__(self, function: Callable[..., Any]) -> None:
        try:
            found = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # some functions written in C do not say
            found = []
        by_place = [one for one in found if one.kind is one.POSITIONAL_OR_KEYWORD]
        # With arguments that have a place only, names do not say which place is theirs.
        self._by_place = [] if any(one.kind is one.POSITIONAL_ONLY for one in found) else by_place
        self._by_name = {one.name: one.default for one in found if one.kind is one.KEYWORD_ONLY and _given(one)}
        self.count = len(self._by_place)
        self.plain = not self._by_name

    def placed(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The same arguments by their places, as far as the names are known, and with the defaults that were left out."""
        placed, named = list(args), {**self._by_name, **kwargs}
        for parameter in self._by_place[len(args) :]:
            if parameter.name not in named and not _given(parameter):
                break  # it is missing; the function itself will say so
            placed.append(named.pop(parameter.name, parameter.default))
        return tuple(placed), named


def _given(parameter: inspect.Parameter) -> bool:
    return parameter.default is not parameter.empty


def conforming(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call as tensors that fit the function's signature, or an error."""
    signature = function.input_signature
    name = getattr(function.python_function, "__name__", "function")
    if kwargs:
        try:
            bound = inspect.signature(function.python_function).bind(*args, **kwargs)
        except TypeError as error:
            raise TypeError(
                f"{name}() got other arguments than it takes: {error}. Pass what its signature names."
            ) from None
        args, kwargs = bound.args, bound.kwargs
    if len(args) != len(signature) or kwargs:
        raise TypeError(
            f"{name}() got {len(args) + len(kwargs)} arguments; expected {len(signature)}, as many as input_signature has. Pass a "
            f"tensor for each of its specs."
        )
    return tuple(
        _fitting(name, place, spec, arg) for place, (spec, arg) in enumerate(zip(signature, args, strict=True))
    ), {}


def _fitting(name: str, place: int, spec: Any, arg: Any) -> Any:
    if not isinstance(spec, nest.CONTAINERS):
        return _leaf(name, place, spec, arg)
    specs = nest.flatten(spec)
    leaves = nest.flatten(arg)
    if nest.shape_of(spec) != nest.shape_of(arg):
        raise TypeError(
            f"{name}() got argument {place} as another nest, of {len(leaves)} leaves; expected that of input_signature: {spec}. "
            f"Pass a nest of the same shape."
        )
    return nest.pack_sequence_as(arg, [_leaf(name, place, *pair) for pair in zip(specs, leaves, strict=True)])


def _leaf(name: str, place: int, spec: Any, leaf: Any) -> Any:
    if isinstance(leaf, Variable):
        leaf = leaf.read_value()
    parts = spec.specs if isinstance(spec, PerReplicaSpec) else (spec,)
    if not all(isinstance(part, TensorSpec) for part in parts):
        raise TypeError(
            f"{name}() has {spec!r} in its input_signature; expected TensorSpecs. Use tf.TensorSpec, or an element_spec."
        )
    if isinstance(leaf, DistributedValues):
        values = [_tensor(name, place, parts[0], value) for value in leaf.values] if leaf.spec is None else None
        found = leaf if values is None else type(leaf)(values)
        components = [_Spec(*leaf.spec)] if leaf.spec is not None else found.values
    else:
        found = _tensor(name, place, parts[0], leaf)
        components = [found]
    for component in components:
        if not any(part.is_compatible_with(_Spec(component.shape, _wide(part, component))) for part in parts):
            raise TypeError(
                f"{name}() got a tensor of shape {tuple(component.shape)} and dtype {dtype_name(component.dtype)} as argument "
                f"{place}; expected {spec!r}, as its input_signature says. Convert the tensor, or widen the signature."
            )
    return found


class _Spec:
    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape, self.dtype = shape, dtype


def _wide(spec: TensorSpec, tensor: Any) -> Any:
    """The dtype of a tensor, or that of its spec where JAX has no room for 64 bits."""
    narrowed = hasattr(tensor, "aval") or isinstance(tensor, _Spec)
    fits = narrowed and spec.dtype.kind == tensor.dtype.kind and spec.dtype.itemsize == 2 * tensor.dtype.itemsize == 8
    return spec.dtype if fits and context.backend().name != "simulator" else tensor.dtype


def _tensor(name: str, place: int, spec: TensorSpec, value: Any) -> Any:
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic):
        alike = type(value) is np.ndarray and value.dtype.kind == spec.dtype.kind and value.dtype.kind in "iuf"
        return value.astype(spec.dtype) if alike else value
    try:
        array = convert.to_array(value, None if spec.dtype.kind == "O" else spec.dtype)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{name}() got {value!r} as argument {place}; expected {spec!r}, as its input_signature says ({error})."
        ) from None
    return context.backend().put(array, None)
