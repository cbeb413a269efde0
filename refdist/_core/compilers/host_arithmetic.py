"""Operations of JAX, computed with numpy: no program is compiled for a few numbers that are computed once.

What is not in the table, or has dtypes of which numpy rounds otherwise, is left to JAX.
"""

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax._src.core import DropVar, Literal, ShapedArray  # pyright: ignore
from jax._src.interpreters.pxla import batched_device_put  # pyright: ignore
from jax.sharding import SingleDeviceSharding

Array = np.ndarray[Any, Any]

_DTYPES = frozenset(map(np.dtype, ("float32", "float64", "int32", "int64", "uint32", "uint8", "bool")))
_MOST = 1 << 22  # elements; XLA uses all cores for more


def _same(function: Callable[..., Any]) -> Callable[..., Any]:
    """An operation on elements, without parameters that matter."""
    return lambda *values, **_: function(*values)


def _floats(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for floating point numbers only: those of integers are rounded, or fail, in JAX's way."""

    def computed(*values: Any, **_: Any) -> Any:
        return function(*values) if values[0].dtype.kind == "f" else NotImplemented

    return computed


def _reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    def computed(value: Array, axes: Sequence[int], **params: Any) -> Any:
        if params.get("out_sharding") is not None:
            return NotImplemented
        return function(value, axis=tuple(axes)).astype(value.dtype, copy=False)

    return computed


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    """A largest or smallest element; of none, JAX has an answer of its own."""
    reduce = _reduced(function)
    return lambda value, axes, **params: reduce(value, axes, **params) if value.size else NotImplemented


def _broadcast(value: Array, *_: Any, shape: Any, broadcast_dimensions: Any, sharding: Any = None, **__: Any) -> Any:
    if sharding is not None:
        return NotImplemented
    spread = [1] * len(shape)
    for size, place in zip(value.shape, broadcast_dimensions, strict=True):
        spread[place] = size
    return np.broadcast_to(value.reshape(spread), shape)


def _reshaped(value: Array, *_: Any, new_sizes: Any, dimensions: Any = None, sharding: Any = None, **__: Any) -> Any:
    return value.reshape(new_sizes) if dimensions is None and sharding is None else NotImplemented


def _converted(value: Array, *, new_dtype: Any, sharding: Any = None, **_: Any) -> Any:
    if sharding is not None or (value.dtype.kind == "f" and np.dtype(new_dtype).kind in "iu" and not _fits(value)):
        return NotImplemented
    return value.astype(new_dtype)


def _fits(value: Array) -> bool:
    """Say whether all numbers are integers of any dtype, but for what is cut off; numpy makes others of those that are not."""
    return bool(((value >= 0) & (value < 128)).all())


def _product(
    left: Array,
    right: Array,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
    **_: Any,
) -> Any:
    contracted, batched = dimension_numbers
    if out_sharding is not None or left.dtype.kind != "f" or left.dtype != right.dtype:
        return NotImplemented
    if preferred_element_type not in (None, left.dtype):
        return NotImplemented
    if not any(batched):
        return np.tensordot(left, right, axes=(tuple(contracted[0]), tuple(contracted[1])))
    ones, others = list(range(left.ndim)), list(range(left.ndim, left.ndim + right.ndim))
    for pairs in (contracted, batched):
        for one, other in zip(*pairs, strict=True):
            others[other] = ones[one]
    shared = [ones[one] for one in batched[0]]
    rest = [one for one in [*ones, *others] if (one in ones) != (one in others)]
    return np.einsum(left, ones, right, others, shared + rest)


def _chosen(which: Array, *cases: Array, **_: Any) -> Any:
    if which.dtype != bool or len(cases) != 2:
        return NotImplemented
    return np.where(which, cases[1], cases[0])


def _power(value: Array, *, y: int, **_: Any) -> Any:
    if value.dtype.kind != "f" and y < 0:
        return NotImplemented
    # Multiplied, as JAX does it: numpy's power of float32 takes ten times as long.
    return {0: np.ones_like, 1: np.copy, 2: np.square, -1: np.reciprocal}.get(y, lambda one: np.power(one, y))(value)


def _sliced(value: Array, *, start_indices: Any, limit_indices: Any, strides: Any = None, **_: Any) -> Any:
    steps = strides or [1] * value.ndim
    return value[tuple(map(slice, start_indices, limit_indices, steps))]


def _extended(value: Array, filling: Array, *, padding_config: Any, **_: Any) -> Any:
    if any(low < 0 or high < 0 or inner for low, high, inner in padding_config):
        return NotImplemented
    return np.pad(value, [(low, high) for low, high, _ in padding_config], constant_values=filling)


def _cumulated(value: Array, *, axis: int, reverse: bool, **_: Any) -> Any:
    return NotImplemented if reverse else np.cumsum(value, axis).astype(value.dtype, copy=False)


def _counted(*, dtype: Any, shape: Any, dimension: int, sharding: Any = None, **_: Any) -> Any:
    if sharding is not None:
        return NotImplemented
    along = [size if place == dimension else 1 for place, size in enumerate(shape)]
    return np.broadcast_to(np.arange(shape[dimension], dtype=dtype).reshape(along), shape)


def _place_of(function: Callable[..., Any]) -> Callable[..., Any]:
    def computed(value: Array, *, axes: Any, index_dtype: Any, **_: Any) -> Any:
        if len(axes) != 1 or not value.size:
            return NotImplemented
        return function(value, axes[0]).astype(index_dtype)

    return computed


def _staged(value: Any, **_: Any) -> Any:
    return value


def _square(value: Array, **_: Any) -> Any:
    return np.square(value)


def _logistic(value: Array, **_: Any) -> Any:
    return np.asarray(1, value.dtype) / (1 + np.exp(-value))


def _shifted_right(value: Array, by: Array, **_: Any) -> Any:
    return (
        np.right_shift(value, by)
        if value.dtype.kind == "u" and (by < value.dtype.itemsize * 8).all()
        else NotImplemented
    )


def _reinterpreted(value: Array, *, new_dtype: Any, **_: Any) -> Any:
    same = np.dtype(new_dtype).itemsize == value.dtype.itemsize and value.dtype != bool
    return np.ascontiguousarray(value).reshape(value.shape).view(new_dtype) if same else NotImplemented


def _compared(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda one, other, **_: function(one, other)


TABLE: dict[str, Callable[..., Any]] = {
    "add": _same(np.add),
    "add_any": _same(np.add),
    "sub": _same(np.subtract),
    "mul": _same(np.multiply),
    "neg": _same(np.negative),
    "div": _floats(np.divide),
    "max": _same(np.maximum),
    "min": _same(np.minimum),
    "abs": _floats(np.abs),
    "sign": _floats(np.sign),
    "floor": _floats(np.floor),
    "ceil": _floats(np.ceil),
    "exp": _floats(np.exp),
    "log": _floats(np.log),
    "log1p": _floats(np.log1p),
    "expm1": _floats(np.expm1),
    "tanh": _floats(np.tanh),
    "sin": _floats(np.sin),
    "cos": _floats(np.cos),
    "sqrt": _floats(np.sqrt),
    "rsqrt": _floats(lambda value: np.reciprocal(np.sqrt(value))),
    "logistic": _logistic,
    "square": _square,
    "is_finite": _same(np.isfinite),
    "integer_pow": _power,
    "pow": lambda one, other, **_: (
        np.power(one, other) if one.dtype == other.dtype and one.dtype.kind == "f" else NotImplemented
    ),
    "and": _same(np.bitwise_and),
    "or": _same(np.bitwise_or),
    "xor": _same(np.bitwise_xor),
    "not": _same(np.bitwise_not),
    "shift_right_logical": _shifted_right,
    "eq": _compared(np.equal),
    "ne": _compared(np.not_equal),
    "lt": _compared(np.less),
    "le": _compared(np.less_equal),
    "gt": _compared(np.greater),
    "ge": _compared(np.greater_equal),
    "select_n": _chosen,
    "clamp": lambda low, value, high, **_: np.minimum(np.maximum(value, low), high),
    "reduce_sum": _reduced(np.sum),
    "reduce_prod": _reduced(np.prod),
    "reduce_max": _extreme(np.max),
    "reduce_min": _extreme(np.min),
    "reduce_and": _reduced(np.all),
    "reduce_or": _reduced(np.any),
    "argmax": _place_of(np.argmax),
    "argmin": _place_of(np.argmin),
    "cumsum": _cumulated,
    "iota": _counted,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshaped,
    "squeeze": lambda value, dimensions, **_: np.squeeze(value, tuple(dimensions)),
    "expand_dims": lambda value, dimensions, **_: np.expand_dims(value, tuple(dimensions)),
    "transpose": lambda value, permutation, **_: np.transpose(value, permutation),
    "rev": lambda value, dimensions, **_: np.flip(value, tuple(dimensions)),
    "slice": _sliced,
    "pad": _extended,
    "concatenate": lambda *values, dimension, **_: np.concatenate(values, dimension),
    "convert_element_type": _converted,
    "bitcast_convert_type": _reinterpreted,
    "dot_general": _product,
    "stop_gradient": _staged,
    "copy": _staged,
    "copy_p": _staged,
    "stage": _staged,
}
"""How numpy computes an operation, given arrays and the operation's parameters; NotImplemented leaves it to JAX."""

_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}
_KNOWN: "weakref.WeakKeyDictionary[Any, bool]" = (
    weakref.WeakKeyDictionary()
)  # programs, and whether all is in the table


def computed_on_host(primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """What JAX would return for an operation on arrays, computed with numpy; NotImplemented where only JAX can."""
    called = _CALLS.get(primitive.name)
    if called is None and primitive.name not in TABLE:
        return NotImplemented
    if called is not None and not _all_known(params[called]):
        return NotImplemented
    arrays = [array for one in args if (array := _as_array(one)) is not None]
    if len(arrays) < len(args):
        return NotImplemented
    with np.errstate(all="ignore"):
        if called is not None:
            results, avals = _evaluated(params[called], arrays), params[called].out_avals
        else:
            results = _listed(TABLE[primitive.name](*arrays, **params))
            avals = [_described(primitive, args, params)]
    if results is NotImplemented:
        return NotImplemented
    made = [_given_back(value, aval) for value, aval in zip(results, avals, strict=True)]
    return made if primitive.multiple_results else made[0]


def _as_array(value: Any) -> Array | None:
    """The numbers of an argument; None for what is on a device of its own, is large, or is not one of the usual dtypes."""
    if isinstance(value, jax.Array):
        if value.dtype not in _DTYPES or value.size > _MOST or value.committed:
            return None
        return np.asarray(value)
    if isinstance(value, (np.ndarray, np.generic)):
        fits = value.dtype in _DTYPES and jax.dtypes.canonicalize_dtype(value.dtype) == value.dtype
        return np.asarray(value) if fits and value.size <= _MOST else None
    dtype: Any = getattr(value, "dtype", None)  # Python's own numbers come as those of JAX, which have one
    return np.asarray(value, dtype) if isinstance(value, (bool, int, float)) and dtype in _DTYPES else None


def _listed(result: Any) -> Any:
    return result if result is NotImplemented else [result]


def _described(primitive: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """What JAX knows of a result, where one of Python's own numbers is among the inputs; asking takes longer than computing."""
    if params.get("weak_type") or any(getattr(jax.typeof(one), "weak_type", False) for one in args):
        return primitive.abstract_eval(*map(jax.typeof, args), **params)[0]
    return None


def _given_back(value: Any, aval: Any) -> Any:
    """A result as an array of JAX."""
    array = np.asarray(value)
    described = ShapedArray(array.shape, array.dtype, weak_type=bool(getattr(aval, "weak_type", False)))
    chosen: Any = jax.config.jax_default_device  # pyright: ignore
    device = chosen if isinstance(chosen, jax.Device) else _first_device()
    # jax.device_put() of the same takes five times as long, which is most of a small operation.
    return batched_device_put(described, SingleDeviceSharding(device), [_own(array)], [device], committed=False)


@functools.cache
def _first_device() -> Any:
    return jax.local_devices()[0]


def _own(array: Array) -> Array:
    """An array whose memory nobody else has: arrays of JAX may share it, and do not change."""
    return array if array.flags.owndata and array.flags.c_contiguous else np.array(array, order="C")


def _all_known(program: Any) -> bool:
    known = _KNOWN.get(program)
    if known is None:
        jaxpr = getattr(program, "jaxpr", program)
        known = _KNOWN[program] = not jaxpr.effects and all(
            _all_known(one.params[inner]) if (inner := _CALLS.get(one.primitive.name)) else one.primitive.name in TABLE
            for one in jaxpr.eqns
        )
    return known


def _evaluated(program: Any, args: Sequence[Array]) -> Any:
    """The results of a program, one operation after the other."""
    jaxpr, values = program.jaxpr, dict[Any, Any]()
    values.update(zip(jaxpr.constvars, map(np.asarray, program.consts), strict=True))
    values.update(zip(jaxpr.invars, args, strict=True))

    def read(one: Any) -> Any:
        return np.asarray(one.val, getattr(one.aval, "dtype", None)) if isinstance(one, Literal) else values[one]

    for step in jaxpr.eqns:
        inputs = [read(one) for one in step.invars]
        if any(one.dtype not in _DTYPES for one in inputs):
            return NotImplemented
        called = _CALLS.get(step.primitive.name)
        if called is None:
            results = _listed(TABLE[step.primitive.name](*inputs, **step.params))
        else:
            results = _evaluated(step.params[called], inputs)
        if results is NotImplemented:
            return NotImplemented
        values.update(
            (name, np.asarray(value))
            for name, value in zip(step.outvars, results, strict=True)
            if not isinstance(name, DropVar)
        )
    return [read(one) for one in jaxpr.outvars]
