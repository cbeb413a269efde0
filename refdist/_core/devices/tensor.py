"""An immutable numpy array that knows its device, and prints as in the TensorFlow documentation."""

from collections.abc import Callable, Sequence
from typing import Any, Never

import numpy as np

from refdist._core.base import convert
from refdist._core.base.tensor_shape import StaticShape, get_shape, set_shape
from refdist._core.base.where import HERE
from refdist._core.devices.device import Device

_DESCRIPTOR: Any = vars(np.ndarray)["shape"]
sizes_of: Callable[[Any], tuple[int, ...]] = _DESCRIPTOR.__get__
"""The sizes of an array as numpy keeps them, in a third of the time that `shape` takes."""
_RESHAPE = _DESCRIPTOR.__set__  # numpy itself sets the shapes of its copies


_likeness: tuple[tuple[int, ...], Any] = ((), None)


def likeness(tensor: Any) -> tuple[tuple[int, ...], Any]:
    """The sizes and the dtype of a tensor: for tensors that are alike, one after the other, the very same object."""
    global _likeness
    sizes, dtype, last = sizes_of(tensor), tensor.dtype, _likeness
    if dtype is last[1] and sizes == last[0]:
        return last
    _likeness = last = sizes, dtype
    return last


class Tensor(np.ndarray):
    """An immutable numpy array on a device.

    Numpy functions accept it and return tensors. A result is on the device of the surrounding `device` scope or replica, or
    else on that of its operands.
    """

    __slots__ = ("lies_on",)
    lies_on: Device | None

    def __array_finalize__(self, source: Any) -> None:
        self.lies_on = HERE.get().device or getattr(source, "lies_on", None)

    def __array_wrap__(self, array: np.ndarray[Any, Any], context: Any = None, return_scalar: bool = False) -> Any:
        # A number of numpy on the left, such as np.float64(2) * tensor, has computed already, and in its own dtype.
        if context is not None and len(context[1]) == 2 and isinstance(context[1][0], np.generic):
            function, (left, right), _ = context
            alike = _alike(right.dtype, left) if isinstance(right, Tensor) else left
            if alike.dtype != left.dtype:
                return function(alike, right)
        return super().__array_wrap__(array, context, return_scalar)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        # Functions such as concatenate and where drop the subclass.
        result = super().__array_function__(function, types, args, kwargs)
        return self.like(result) if type(result) is np.ndarray else result

    @property
    def device(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The full name of the tensor's device."""
        return self.lies_on if self.lies_on is not None else Device("CPU:0")

    def like(self, array: np.ndarray[Any, Any]) -> "Tensor":
        """Label a result of this tensor with the current device, or else with this tensor's own."""
        return make(array, HERE.get().device or self.device)

    def numpy(self) -> Any:
        """Copy the value to an ordinary numpy array, or to a numpy scalar."""
        return np.array(self, copy=True)[()] if self.ndim == 0 else np.array(self, copy=True)

    shape: Any = property(lambda self: StaticShape(sizes_of(self)), _RESHAPE)  # pyright: ignore[reportIncompatibleMethodOverride]
    get_shape, set_shape = get_shape, set_shape

    def __getitem__(self, key: Any) -> Any:
        try:
            result = super().__getitem__(key)
        except IndexError:
            _require_indices(key)
            raise
        return result if isinstance(result, Tensor) else self.like(np.asarray(result, self.dtype))

    def __setitem__(self, key: Any, value: Any) -> Never:
        raise TypeError(
            f"An element of a tensor was assigned (at {key!r}); expected no change, because tensors are immutable. "
            f"Make a new tensor, or keep the state in a Variable."
        )

    def __iter__(self) -> Any:
        if self.ndim == 0:
            raise TypeError("A scalar tensor was iterated over; expected at least one dimension. Use its value itself.")
        return (self[index] for index in range(len(self)))

    def __repr__(self) -> str:
        return f"<tf.Tensor: shape={self.shape}, dtype={dtype_name(self.dtype)}, numpy={numpy_text(self)}>"

    def __str__(self) -> str:
        # With commas between the numbers, as in the documentation.
        text = np.array2string(np.asarray(self), separator=", ") if self.ndim else numpy_text(self)
        return f"tf.Tensor({text}, shape={self.shape}, dtype={dtype_name(self.dtype)})"

    def __format__(self, spec: str) -> str:
        return format(np.asarray(self)[()], spec)  # the value alone, as in TensorFlow

    def __reduce__(self) -> Any:
        return make, (np.array(self, copy=True), self.device)


def _require_indices(key: Any) -> None:
    """Raise if a tensor was indexed with what is no index; one that is out of range is another mistake."""
    for part in key if isinstance(key, tuple) else (key,):
        if part is None or part is Ellipsis or isinstance(part, slice):
            continue
        index = np.asarray(part)
        if index.size and index.dtype.kind not in "iub":
            raise TypeError(
                f"A tensor was indexed with {part!r}, a {type(part).__name__}; expected integers, slices, `...`, None, or tensors "
                f"of integers or truth values. Convert it with int() or tf.cast()."
            )


def _operator(name: str, operation: Callable[[Any, Any], Any]) -> Any:
    """Make an operator of tensors: numpy's, except where it would silently differ from TensorFlow's."""
    division, by_zero = name.endswith("truediv__"), name.endswith(("floordiv__", "mod__"))

    def operate(self: Tensor, other: Any) -> Any:
        if type(other) is not Tensor:
            other = _alike(self.dtype, other)
        if self.dtype.kind in "iu":
            if division and self.dtype.itemsize <= 2:
                return operation(self.astype(np.float32), other)  # numpy would return float16
            if by_zero:
                _require_no_zero(self if name.startswith("__r") else other)
        return operation(self, other)

    return operate


def _alike(dtype: np.dtype[Any], other: Any) -> Any:
    """A number or an array of numpy in the dtype of the tensor that it meets, as in TensorFlow: it widens no tensor."""
    if isinstance(other, (np.generic, np.ndarray)) and not isinstance(other, Tensor):
        kind = other.dtype.kind
        if other.dtype == dtype or not (
            kind in "biu" if dtype.kind in "iu" else dtype.kind in "fV" and kind in "biufV"
        ):
            return other
        return convert.cast(np.asarray(other), dtype, other)[()]
    if dtype.kind == "V" and isinstance(other, (int, float)):
        return dtype.type(other)  # so that a Python number does not widen bfloat16
    return other


def _require_no_zero(divisor: Any) -> None:
    array = np.asarray(divisor)
    if array.dtype.kind in "biu" and not array.all():
        raise ZeroDivisionError("Integers were divided by zero; expected other divisors.")


_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
for _name in (*_ARITHMETIC, "matmul", "and", "or", "xor", "lshift", "rshift"):
    if _name in _ARITHMETIC:
        for _side in (f"__{_name}__", f"__r{_name}__"):
            setattr(Tensor, _side, _operator(_side, getattr(np.ndarray, _side)))
    # In-place operators make a new tensor: the array may be shared with other replicas.
    setattr(Tensor, f"__i{_name}__", getattr(Tensor, f"__{_name}__"))

for _name in _COMPARISONS:
    setattr(Tensor, f"__{_name}__", _operator(_name, getattr(np.ndarray, f"__{_name}__")))


def mean_dtype(dtype: Any) -> Any:
    """The dtype of a mean: that of floats itself, float64 for integers, and float32 for narrow integers."""
    if dtype.kind not in "biu":
        return dtype
    return np.dtype(np.float32 if dtype.itemsize <= 2 else np.float64)


def make(array: np.ndarray[Any, Any], device: Device | str) -> Tensor:
    """Label an array with a device; it cannot be changed through the tensor."""
    tensor: Any = array.view(_Unlabelled)
    tensor.__class__ = Tensor
    tensor.flags.writeable = False
    tensor.lies_on = device if isinstance(device, Device) else Device(device)
    return tensor


def labelled(array: np.ndarray[Any, Any], devices: Sequence[Device]) -> list[Tensor]:
    """Label one array with each of several devices: the tensors share the numbers, because they are immutable."""
    array.flags.writeable = False
    tensors: list[Any] = []
    for device in devices:
        tensor: Any = array.view(_Unlabelled)
        tensor.__class__ = Tensor
        tensor.lies_on = device
        tensors.append(tensor)
    return tensors


class _Unlabelled(np.ndarray):
    """A tensor that has not asked yet where it is: numpy makes one in two thirds of the time, because it calls no Python."""

    __slots__ = ("lies_on",)


def dtype_name(dtype: Any) -> str:
    """Name a dtype as the documentation does; byte strings are kept in object arrays."""
    return "string" if np.dtype(dtype).kind == "O" else np.dtype(dtype).name


def numpy_text(array: Any) -> str:
    """Print a value as the documentation does after `numpy=`: scalars bare, others as `array(...)`."""
    plain = np.asarray(array)
    if plain.ndim == 0:
        return repr(plain.item()) if plain.dtype == object else str(plain[()])
    text = repr(plain)
    return f"\n{text}" if "\n" in text else text
