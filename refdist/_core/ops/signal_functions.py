"""`tf.signal`: signals in frames, and their frequencies."""

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.errors import DtypeError
from refdist._core.devices.tensor import dtype_name
from refdist._core.ops.operation import operation
from refdist._core.ops.tensor_functions import constant, convert_to_tensor, matmul

Window = Callable[..., Any]


def _transform(name: str, rank: int) -> Any:
    """Make a transform along the last dimensions, in the precision of what it gets."""
    kinds, words = ("f", "floats") if name.startswith("rfft") else ("c", "complex numbers")
    function = name.rstrip("123d") + "n"
    takes_length = "rfft" in name

    def transform(input_tensor: Any, fft_length: Any = None, name: Any = None) -> Any:
        given = _of_kind(convert_to_tensor(input_tensor), kinds, words, label)
        if given.ndim < rank:
            raise ValueError(
                f"{label}() got a tensor of shape {tuple(given.shape)}; expected at least {rank} dimensions. Reshape it."
            )
        sizes = None if fft_length is None else [int(size) for size in np.ravel(np.asarray(fft_length))]
        compute = getattr(given.__array_namespace__().fft, function)
        return convert_to_tensor(compute(given, s=sizes, axes=tuple(range(-rank, 0))))

    def without_length(input: Any, name: Any = None) -> Any:
        return transform(input)

    label = name
    found: Callable[..., Any] = transform if takes_length else without_length
    found.__name__ = found.__qualname__ = name
    found.__doc__ = f"Apply {name} along the last {rank} dimensions." if rank > 1 else f"Apply {name} to vectors."
    return operation(found)


# name = (documented name, along how many dimensions)
fft = _transform("fft", 1)
fft2d = _transform("fft2d", 2)
fft3d = _transform("fft3d", 3)
ifft = _transform("ifft", 1)
ifft2d = _transform("ifft2d", 2)
ifft3d = _transform("ifft3d", 3)
rfft = _transform("rfft", 1)
rfft2d = _transform("rfft2d", 2)
rfft3d = _transform("rfft3d", 3)
irfft = _transform("irfft", 1)
irfft2d = _transform("irfft2d", 2)
irfft3d = _transform("irfft3d", 3)


@operation
def fftshift(x: Any, axes: Any = None, name: Any = None) -> Any:
    """Move the frequency zero to the middle."""
    given = convert_to_tensor(x)
    return given.__array_namespace__().fft.fftshift(given, axes=axes)


@operation
def ifftshift(x: Any, axes: Any = None, name: Any = None) -> Any:
    """Move the frequency zero from the middle to the front."""
    given = convert_to_tensor(x)
    return given.__array_namespace__().fft.ifftshift(given, axes=axes)


def _raised_cosine(name: str, level: float, height: float) -> Any:
    """Make a window that is a cosine on a level."""

    def window(window_length: Any, periodic: bool = True, dtype: Any = np.float32, name: Any = None) -> Any:
        length, wanted = int(window_length), _float_dtype(dtype, label)
        if length == 1:
            return constant([1], wanted)
        count = length + (1 - length % 2 if periodic else 0) - 1
        angles = np.array(2 * np.pi, wanted) * np.arange(length).astype(wanted) / np.array(count, wanted)
        return constant((level - height * np.cos(angles)).astype(wanted))

    label = window.__name__ = window.__qualname__ = name
    window.__doc__ = f"The {name.replace('_', ' ')} of a length."
    return window


hann_window = _raised_cosine("hann_window", 0.5, 0.5)
hamming_window = _raised_cosine("hamming_window", 0.54, 0.46)


def vorbis_window(window_length: Any, dtype: Any = np.float32, name: Any = None) -> Any:
    """The Vorbis window of a length."""
    length = int(window_length)
    inner = np.sin(np.pi / length * (np.arange(length) + 0.5)) ** 2
    return constant(np.sin(np.pi / 2 * inner).astype(_float_dtype(dtype, "vorbis_window")))


def kaiser_window(window_length: Any, beta: float = 12.0, dtype: Any = np.float32, name: Any = None) -> Any:
    """The Kaiser window of a length."""
    return constant(np.kaiser(int(window_length), float(beta)).astype(_float_dtype(dtype, "kaiser_window")))


@operation
def frame(
    signal: Any,
    frame_length: Any,
    frame_step: Any,
    pad_end: bool = False,
    pad_value: Any = 0,
    axis: int = -1,
    name: Any = None,
) -> Any:
    """Cut a signal into frames, which overlap where the step is shorter than they are.

    >>> frame([1, 2, 3, 4, 5], 3, 2).tolist()
    [[1, 2, 3], [3, 4, 5]]
    """
    given, length, step = convert_to_tensor(signal), int(frame_length), int(frame_step)
    arrays, place = given.__array_namespace__(), axis % given.ndim
    size = given.shape[place]
    count = -(-size // step) if pad_end else max(0, 1 + (size - length) // step)
    missing = max(0, (count - 1) * step + length - size)
    if pad_end and missing:
        widths = [(0, missing if one == place else 0) for one in range(given.ndim)]
        given = arrays.pad(given, widths, constant_values=pad_value)
    places = np.arange(count)[:, None] * step + np.arange(length)
    return convert_to_tensor(arrays.take(given, places, axis=place))


@operation
def overlap_and_add(signal: Any, frame_step: Any, name: Any = None) -> Any:
    """Make a signal of frames, adding them up where they overlap."""
    given, step = convert_to_tensor(signal), int(frame_step)
    arrays = given.__array_namespace__()
    *outer, count, length = given.shape
    parts = -(-length // step)

    def padded(array: Any, *widths: tuple[int, int]) -> Any:
        return arrays.pad(array, [*[(0, 0)] * (array.ndim - len(widths)), *widths])

    cut = padded(given, (0, parts * step - length)).reshape(*outer, count, parts, step)
    # The parts with one number follow each other without overlapping.
    rows = [padded(cut[..., part, :], (part, parts - 1 - part), (0, 0)) for part in range(parts)]
    total = functools.reduce(operator.add, rows).reshape(*outer, (count + parts - 1) * step)
    return total[..., : (count - 1) * step + length]


@operation
def stft(
    signals: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    pad_end: bool = False,
    name: Any = None,
) -> Any:
    """The frequencies of a signal over time."""
    length = int(frame_length)
    frames = frame(signals, length, frame_step, pad_end)
    if window_fn is not None:
        frames = frames * window_fn(length, dtype=frames.dtype)
    return rfft(frames, [_power_of_two(length) if fft_length is None else int(fft_length)])


@operation
def inverse_stft(
    stfts: Any,
    frame_length: Any,
    frame_step: Any,
    fft_length: Any = None,
    window_fn: Window | None = hann_window,
    name: Any = None,
) -> Any:
    """Make a signal of its frequencies over time; `inverse_stft_window_fn` has the window that restores it."""
    length = int(frame_length)
    frames = irfft(stfts, [_power_of_two(length) if fft_length is None else int(fft_length)])[..., :length]
    if frames.shape[-1] < length:
        widths = [(0, 0)] * (frames.ndim - 1) + [(0, length - frames.shape[-1])]
        frames = frames.__array_namespace__().pad(frames, widths)
    if window_fn is not None:
        frames = frames * window_fn(length, dtype=frames.dtype)
    return overlap_and_add(frames, frame_step)


def inverse_stft_window_fn(frame_step: Any, forward_window_fn: Window = hann_window, name: Any = None) -> Window:
    """Make the window that undoes another one where frames overlap."""
    step = int(frame_step)

    def window(frame_length: Any, dtype: Any) -> Any:
        length = int(frame_length)
        forward = np.asarray(forward_window_fn(length, dtype=dtype))
        overlaps = -(-length // step)
        squares = np.pad(forward**2, (0, overlaps * step - length)).reshape(overlaps, step)
        total = np.tile(squares.sum(0), overlaps)[:length]
        return constant(np.where(total == 0, 0, forward / np.where(total == 0, 1, total)).astype(forward.dtype))

    return window


def linear_to_mel_weight_matrix(
    num_mel_bins: Any = 20,
    num_spectrogram_bins: Any = 129,
    sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = np.float32,
    name: Any = None,
) -> Any:
    """The matrix that makes frequencies of the mel scale of those of a spectrogram."""
    bins, rate, wanted = int(num_mel_bins), float(sample_rate), _float_dtype(dtype, "linear_to_mel_weight_matrix")
    if bins <= 0 or not 0 <= lower_edge_hertz < upper_edge_hertz <= rate / 2:
        raise ValueError(
            f"linear_to_mel_weight_matrix() got {bins} bins from {lower_edge_hertz} to {upper_edge_hertz} Hz; expected at least "
            f"one, and edges in order from 0 to {rate / 2}, half of the sample rate. Correct them."
        )
    heights = _mel(np.linspace(0, rate / 2, int(num_spectrogram_bins))[1:, None])
    edges = np.linspace(_mel(lower_edge_hertz), _mel(upper_edge_hertz), bins + 2)
    low, middle, high = edges[:-2], edges[1:-1], edges[2:]
    slopes = np.minimum((heights - low) / (middle - low), (high - heights) / (high - middle))
    return constant(np.pad(np.maximum(slopes, 0), [(1, 0), (0, 0)]).astype(wanted))


@operation
def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: Any, name: Any = None) -> Any:
    """The coefficients of spectrograms that speech is recognised by."""
    given = convert_to_tensor(log_mel_spectrograms)
    return dct(given) * np.array(1 / math.sqrt(2 * given.shape[-1]), given.dtype)


@operation
def dct(input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, name: Any = None) -> Any:
    """Write vectors as sums of cosines."""
    if axis != -1:
        raise NotImplementedError(f"dct() got axis={axis}; expected -1. Use tf.transpose() before and after.")
    if norm not in (None, "ortho") or (norm and type == 1):
        raise ValueError(
            f"dct() got norm={norm!r} for type {type}; expected None, or 'ortho' for the types 2, 3 and 4."
        )
    given = _of_kind(convert_to_tensor(input), "f", "floats", "dct")
    size = given.shape[-1] if n is None else int(n)
    given = given[..., :size]
    if given.shape[-1] < size:
        widths = [(0, 0)] * (given.ndim - 1) + [(0, size - given.shape[-1])]
        given = given.__array_namespace__().pad(given, widths)
    matrix = constant(_cosines(type, size, bool(norm)).astype(given.dtype))
    return matmul(given[..., None, :], matrix)[..., 0, :]


def idct(input: Any, type: int = 2, n: Any = None, axis: int = -1, norm: Any = None, name: Any = None) -> Any:
    """Undo dct(), but for a factor where there is no norm."""
    return dct(input, {2: 3, 3: 2}.get(type, type), n, axis, norm)


def _cosines(kind: int, size: int, orthonormal: bool) -> np.ndarray[Any, Any]:
    """The matrix of a cosine transform; a column makes one number of a vector."""
    place, frequency = np.arange(size)[:, None], np.arange(size)[None, :]
    if kind == 1:
        if size < 2:
            raise ValueError(f"dct() of type 1 got vectors of size {size}; expected at least 2. Use another type.")
        ends = np.where((place == 0) | (place == size - 1), 1, 2)
        return ends * np.cos(np.pi * place * frequency / (size - 1))
    if kind == 3:
        first = np.where(
            place == 0, 1 / math.sqrt(size) if orthonormal else 1, math.sqrt(2 / size) if orthonormal else 2
        )
        return first * np.cos(np.pi * (2 * frequency + 1) * place / (2 * size))
    if kind == 2:
        scale = np.where(frequency == 0, math.sqrt(1 / (4 * size)), math.sqrt(1 / (2 * size))) if orthonormal else 1
        return 2 * scale * np.cos(np.pi * frequency * (2 * place + 1) / (2 * size))
    if kind == 4:
        scale = math.sqrt(1 / (2 * size)) if orthonormal else 1
        return 2 * scale * np.cos(np.pi * (2 * frequency + 1) * (2 * place + 1) / (4 * size))
    raise ValueError(f"dct() got type={kind!r}; expected 1, 2, 3 or 4. Use one of these.")


def _mel(hertz: Any) -> Any:
    return 1127.0 * np.log(1.0 + np.asarray(hertz) / 700.0)


def _power_of_two(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()


def _float_dtype(dtype: Any, name: str) -> np.dtype[Any]:
    found = numpy_dtype(dtype)
    if found.kind not in "fV":
        raise ValueError(f"{name}() got dtype={dtype_name(found)}; expected floats. Use tf.float32.")
    return found


def _of_kind(tensor: Any, kind: str, words: str, name: str) -> Any:
    if tensor.dtype.kind != kind or tensor.dtype.itemsize < 4:
        raise DtypeError(f"{name}() got a tensor of dtype {dtype_name(tensor.dtype)}; expected {words}. Use tf.cast().")
    return tensor
