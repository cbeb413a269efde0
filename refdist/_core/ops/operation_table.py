"""The operations that work on each element, and those that reduce: one line for each, over numpy or jax.numpy.

A line names the function of the array namespace (`x.__array_namespace__()`), and the kinds of numbers that TensorFlow takes.
"""

import builtins
import operator
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from refdist._core.base import convert
from refdist._core.base.errors import DtypeError, InvalidArgumentError
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.where import HERE
from refdist._core.devices.tensor import dtype_name
from refdist._core.ops.computed_with_jax import kernel
from refdist._core.ops.operation import Arguments, Result
from refdist._core.ops.operation import operation as as_operation
from refdist._core.ops.tensor_functions import convert_to_tensor, is_tensor, reduced, together
from refdist._core.replicas.values import Mirrored
from refdist._core.variables.tensors import current_value

_FLOATS, _NUMBERS, _SIGNED, _TRUTHS, _ANY, _INTEGERS = "f", "iuf", "if", "b", "biufcO", "iu"
_FLOATS_C, _NUMBERS_C, _SIGNED_C = "fc", "iufc", "ifc"  # complex ones too
_WORDS = {
    "f": "floats",
    "iuf": "numbers",
    "if": "signed numbers",
    "b": "truth values",
    "iu": "integers",
    "fc": "floats or complex numbers",
    "iufc": "numbers",
    "ifc": "signed numbers",
}

Operation = Callable[..., Any]


class Unary(Protocol):
    """How an operation on each element of a tensor is called."""

    def __call__(self, x: Any, name: Any = None) -> Any: ...


class Binary(Protocol):
    """How an operation on the elements of two tensors is called."""

    def __call__(self, x: Any, y: Any, name: Any = None) -> Any: ...


class Reduction(Protocol):
    """How an operation that combines elements is called."""

    def __call__(self, input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any: ...


def _unary(name: str, function: str | Operation, kinds: str) -> Unary:
    """Make an operation on each element of a tensor."""

    def operation(x: Any, name: Any = None) -> Any:
        tensor = _of_kind(convert_to_tensor(x), kinds, label)
        with np.errstate(all="ignore"):  # what is no number is nan, without a word, on all backends
            if callable(function):
                return function(tensor)
            return getattr(tensor.__array_namespace__(), function)(tensor)

    label = name
    return _named(operation, name, "Apply {} to each element of a tensor.")


def _binary(name: str, function: str | Operation, kinds: str) -> Binary:
    """Make an operation on the elements of two tensors; a number takes the dtype of the tensor beside it."""

    def operation(x: Any, y: Any, name: Any = None) -> Any:
        first, second = pair(x, y, label)
        _of_kind(first, kinds, label)
        with np.errstate(all="ignore"):
            if callable(function):
                return function(first, second)
            return getattr(first.__array_namespace__(), function)(first, second)

    label = name
    return _named(operation, name, "Apply {} to the elements of two tensors.")


def _reduction(name: str, function: str, kinds: str, of_nothing: Callable[[np.dtype[Any]], Any] | None) -> Reduction:
    """Make an operation that combines all elements of a tensor, or those along an axis."""

    def operation(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None) -> Any:
        tensor = convert_to_tensor(input_tensor, None if kinds != _TRUTHS or np.size(input_tensor) else bool)
        _of_kind(tensor, kinds, label)
        options: dict[str, Any] = {"dtype": tensor.dtype} if function == "prod" else {}
        if of_nothing is not None and 0 in tensor.shape:
            options["initial"] = of_nothing(tensor.dtype)
        reduce = getattr(tensor.__array_namespace__(), function)
        result = reduce(tensor, axis=reduced(tensor, axis), keepdims=bool(keepdims), **options)
        return convert_to_tensor(result)

    label = name
    return _named(operation, name, "Apply {} to all elements, or along an axis.")


def _named(operation: Callable[Arguments, Result], name: str, text: str) -> Callable[Arguments, Result]:
    operation.__name__ = operation.__qualname__ = name
    operation.__doc__ = text.format(name)
    return as_operation(operation)


def pair(x: Any, y: Any, name: str) -> tuple[Any, Any]:
    """Two operands as tensors of one dtype: that of the tensor, where the other is a number, and else that of the first."""
    x, y = (value.nearest() if isinstance(value, Mirrored) else current_value(value) for value in (x, y))
    if is_tensor(x) or not is_tensor(y):
        first = convert_to_tensor(x)
        second = beside(y, first.dtype)
    else:
        second = convert_to_tensor(y)
        first = beside(x, second.dtype)
    if first.dtype != second.dtype:
        raise DtypeError(
            f"{name}() got tensors of the dtypes {dtype_name(first.dtype)} and {dtype_name(second.dtype)}; expected one dtype. "
            f"Convert one of them with tf.cast()."
        )
    if is_tracer(first) != is_tracer(second):
        first, second = _in_trace(first, second)
    first, second = together(first, second)
    return first, second


def _in_trace(first: Any, second: Any) -> tuple[Any, Any]:
    """Two operands as arrays of JAX: one of them stands for an array in a trace, as where Keras builds a model."""
    arrays = (first if is_tracer(first) else second).__array_namespace__()
    return arrays.asarray(first), arrays.asarray(second)


def beside(value: Any, dtype: Any) -> Any:
    """A value as a tensor; what is no tensor yet takes a dtype, unless it would lose what it says."""
    if is_tensor(value):
        return convert_to_tensor(value)
    if isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind not in "OSU":
        return convert_to_tensor(convert.cast(np.asarray(value), np.dtype(dtype), value))
    return convert_to_tensor(value, dtype)


def _of_kind(tensor: Any, kinds: str, name: str) -> Any:
    kind = "f" if tensor.dtype.kind == "V" else tensor.dtype.kind  # bfloat16 is a float too
    if kind not in kinds:
        raise DtypeError(
            f"{name}() got a tensor of dtype {dtype_name(tensor.dtype)}; expected {_WORDS.get(kinds, 'another')}. Convert it with "
            f"tf.cast()."
        )
    return tensor


def _lowest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _highest(dtype: np.dtype[Any]) -> Any:
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


def require(flag: Any, text: str) -> None:
    """Refuse an argument; a program that is being written will refuse what it does not know yet."""
    if not is_tracer(flag):
        if not flag:
            raise InvalidArgumentError(text)
    elif (draft := HERE.get().draft) is not None:
        draft.require(flag, InvalidArgumentError, text)


def _power(x: Any, y: Any) -> Any:
    if x.dtype.kind in "iu":
        text = "pow() got integers and a negative exponent; expected no negative one. Convert them with tf.cast()."
        require((y >= 0).all(), text)
    return x**y


def _extreme(name: str, x: Any, y: Any) -> Any:
    arrays = x.__array_namespace__()
    if HERE.get().tapes is None:
        return getattr(arrays, name)(x, y)
    # Of equal numbers the first one has the gradient, as in TensorFlow; JAX would give half of it to each.
    first = x >= y if name == "maximum" else x <= y
    return arrays.where(first | arrays.isnan(x), x, y)


def _no_nan(x: Any, y: Any) -> Any:
    arrays = x.__array_namespace__()
    zero = y == 0
    return arrays.where(zero, arrays.zeros_like(x), x / arrays.where(zero, arrays.ones_like(y), y))


def _special(function: str) -> Operation:
    return lambda x: kernel(function, x)


def _arrays(x: Any) -> Any:
    return x.__array_namespace__()


def _softplus(x: Any) -> Any:
    return _arrays(x).logaddexp(x, _arrays(x).zeros_like(x)).astype(x.dtype)


def _where_nonzero(x: Any, y: Any, value: Any) -> Any:
    """A value, and zero where x is zero, even if the value is no number there."""
    return _arrays(x).where(x == 0, _arrays(value).zeros_like(value), value)


def _truncated(x: Any, y: Any) -> Any:
    """The quotient without its fraction; division in integers rounds down instead."""
    if x.dtype.kind not in "iu":
        return _arrays(x).trunc(x / y)
    quotient = x // y
    return quotient + ((quotient < 0) & (quotient * y != x)).astype(x.dtype)


def _conjugate(x: Any) -> Any:
    return _arrays(x).conj(x) if x.dtype.kind == "c" else x


# name = kind of operation(documented name, function of arrays, dtypes that it takes)
abs = _unary("abs", "abs", _SIGNED_C)
acos = _unary("acos", "arccos", _FLOATS_C)
acosh = _unary("acosh", "arccosh", _FLOATS_C)
asin = _unary("asin", "arcsin", _FLOATS_C)
asinh = _unary("asinh", "arcsinh", _FLOATS_C)
atan = _unary("atan", "arctan", _FLOATS_C)
angle = _unary("angle", "angle", _FLOATS_C)
atanh = _unary("atanh", "arctanh", _FLOATS_C)
bessel_i0 = _unary("bessel_i0", _special("i0"), _FLOATS)
bessel_i0e = _unary("bessel_i0e", _special("i0e"), _FLOATS)
bessel_i1 = _unary("bessel_i1", _special("i1"), _FLOATS)
bessel_i1e = _unary("bessel_i1e", _special("i1e"), _FLOATS)
ceil = _unary("ceil", "ceil", _FLOATS)
conj = _unary("conj", _conjugate, _NUMBERS_C)
cos = _unary("cos", "cos", _FLOATS_C)
cosh = _unary("cosh", "cosh", _FLOATS_C)
digamma = _unary("digamma", _special("digamma"), _FLOATS)
erf = _unary("erf", _special("erf"), _FLOATS)
erfc = _unary("erfc", _special("erfc"), _FLOATS)
erfcinv = _unary("erfcinv", lambda x: kernel("erfinv", 1 - x), _FLOATS)
erfinv = _unary("erfinv", _special("erfinv"), _FLOATS)
exp = _unary("exp", "exp", _FLOATS_C)
expm1 = _unary("expm1", "expm1", _FLOATS_C)
floor = _unary("floor", "floor", _FLOATS)
imag = _unary("imag", "imag", _FLOATS_C)
is_finite = _unary("is_finite", "isfinite", _FLOATS)
is_inf = _unary("is_inf", "isinf", _FLOATS)
is_nan = _unary("is_nan", "isnan", _FLOATS)
lgamma = _unary("lgamma", _special("lgamma"), _FLOATS)
log = _unary("log", "log", _FLOATS_C)
log1p = _unary("log1p", "log1p", _FLOATS_C)
log_sigmoid = _unary("log_sigmoid", lambda x: -_softplus(-x), _FLOATS)
logical_not = _unary("logical_not", "logical_not", _TRUTHS)
negative = _unary("negative", "negative", _SIGNED_C)
ndtri = _unary("ndtri", _special("ndtri"), _FLOATS)
real = _unary("real", "real", _FLOATS_C)
reciprocal = _unary("reciprocal", lambda x: 1 / x, _FLOATS_C)
reciprocal_no_nan = _unary("reciprocal_no_nan", lambda x: _no_nan(_arrays(x).ones_like(x), x), _FLOATS_C)
rint = _unary("rint", "round", _FLOATS)
round = _unary("round", lambda x: x if x.dtype.kind in "iu" else x.__array_namespace__().round(x), _NUMBERS)
rsqrt = _unary("rsqrt", lambda x: 1 / x.__array_namespace__().sqrt(x), _FLOATS_C)
sigmoid = _unary("sigmoid", lambda x: 1 / (1 + x.__array_namespace__().exp(-x)), _FLOATS_C)
sign = _unary("sign", "sign", _SIGNED_C)
sin = _unary("sin", "sin", _FLOATS_C)
sinh = _unary("sinh", "sinh", _FLOATS_C)
softplus = _unary("softplus", _softplus, _FLOATS)
softsign = _unary("softsign", lambda x: x / (1 + builtins.abs(x)), _NUMBERS)
sqrt = _unary("sqrt", "sqrt", _FLOATS_C)
tan = _unary("tan", "tan", _FLOATS_C)
tanh = _unary("tanh", "tanh", _FLOATS_C)

atan2 = _binary("atan2", "arctan2", _FLOATS)
bitwise_and = _binary("bitwise_and", operator.and_, _INTEGERS)
bitwise_or = _binary("bitwise_or", operator.or_, _INTEGERS)
bitwise_xor = _binary("bitwise_xor", operator.xor, _INTEGERS)
complex = _binary("complex", lambda x, y: (x + 1j * y).astype(np.result_type(x.dtype, np.complex64)), _FLOATS)
divide = _binary("divide", operator.truediv, _NUMBERS_C)
divide_no_nan = _binary("divide_no_nan", _no_nan, _FLOATS_C)
equal = _binary("equal", operator.eq, _ANY)
floordiv = _binary("floordiv", operator.floordiv, _NUMBERS)
floormod = _binary("floormod", operator.mod, _NUMBERS)
greater = _binary("greater", operator.gt, _NUMBERS)
greater_equal = _binary("greater_equal", operator.ge, _NUMBERS)
igamma = _binary("igamma", lambda x, y: kernel("gammainc", x, y), _FLOATS)
igammac = _binary("igammac", lambda x, y: kernel("gammaincc", x, y), _FLOATS)
less = _binary("less", operator.lt, _NUMBERS)
less_equal = _binary("less_equal", operator.le, _NUMBERS)
logical_and = _binary("logical_and", "logical_and", _TRUTHS)
logical_or = _binary("logical_or", "logical_or", _TRUTHS)
logical_xor = _binary("logical_xor", "logical_xor", _TRUTHS)
maximum = _binary("maximum", lambda x, y: _extreme("maximum", x, y), _NUMBERS)
minimum = _binary("minimum", lambda x, y: _extreme("minimum", x, y), _NUMBERS)
multiply = _binary("multiply", operator.mul, _NUMBERS_C)
multiply_no_nan = _binary("multiply_no_nan", lambda x, y: _where_nonzero(y, x, x * y), _FLOATS_C)
not_equal = _binary("not_equal", operator.ne, _ANY)
polygamma = _binary("polygamma", lambda x, y: kernel("polygamma", x, y), _FLOATS)
pow = _binary("pow", _power, _NUMBERS_C)
squared_difference = _binary("squared_difference", lambda x, y: (x - y) * _conjugate(x - y), _NUMBERS_C)
subtract = _binary("subtract", operator.sub, _NUMBERS_C)
truncatediv = _binary("truncatediv", _truncated, _NUMBERS)
truncatemod = _binary("truncatemod", lambda x, y: x - _truncated(x, y) * y, _NUMBERS)
xdivy = _binary("xdivy", lambda x, y: _where_nonzero(x, y, x / y), _FLOATS_C)
xlog1py = _binary("xlog1py", lambda x, y: _where_nonzero(x, y, x * _arrays(y).log1p(y)), _FLOATS)
xlogy = _binary("xlogy", lambda x, y: _where_nonzero(x, y, x * _arrays(y).log(y)), _FLOATS)
zeta = _binary("zeta", lambda x, y: kernel("zeta", x, y), _FLOATS)

reduce_all = _reduction("reduce_all", "all", _TRUTHS, None)
reduce_any = _reduction("reduce_any", "any", _TRUTHS, None)
reduce_max = _reduction("reduce_max", "max", _NUMBERS, _lowest)
reduce_min = _reduction("reduce_min", "min", _NUMBERS, _highest)
reduce_prod = _reduction("reduce_prod", "prod", _NUMBERS_C, None)
