"""`tf.random`: operations that draw other numbers each time, and those that draw what their seeds say.

The numbers are those of TensorFlow, bit for bit, once a seed is set: eagerly, in a `function`, and in what datasets call. There are
two exceptions: a branch after runs that took the other one, and a loop that turns differently often from run to run.
"""

import math
from typing import Any

import numpy as np

from refdist._core.base import philox
from refdist._core.base.dtypes import numpy_dtype
from refdist._core.base.entropy import operation_stream
from refdist._core.base.errors import DtypeError, InvalidArgumentError
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.where import HERE
from refdist._core.devices.tensor import dtype_name
from refdist._core.ops.equal_draws import note_draw
from refdist._core.ops.operation_table import beside
from refdist._core.ops.tensor_functions import convert_to_tensor, fresh, sizes_of

BLOCKS = 256  # of a stream that are reserved for each number


def uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = "float32", seed: int | None = None, name: Any = None
) -> Any:
    """Draw uniform numbers from minval up to maxval, which is 1 for floats."""
    draw = drawn_from("uniform", seed)
    return uniform_from(draw, shape, minval, maxval, dtype, "uniform")


def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = "float32", seed: int | None = None, name: Any = None
) -> Any:
    """Draw numbers of a normal distribution."""
    return scaled(philox.normal, drawn_from("normal", seed), shape, dtype, stddev, mean)


def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = "float32", seed: int | None = None, name: Any = None
) -> Any:
    """Draw numbers of a normal distribution, without those that are more than two deviations away."""
    return scaled(philox.truncated_normal, drawn_from("truncated_normal", seed), shape, dtype, stddev, mean)


def shuffle(value: Any, seed: int | None = None, name: Any = None) -> Any:
    """Put the rows of a tensor in a random order."""
    tensor = convert_to_tensor(value)
    return _rows(tensor, drawn_from("shuffle", seed)((tensor.shape[0] + 2) // 4, tensor.dtype))


def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: int | None = None, name: Any = None) -> Any:
    """Draw classes, whose probabilities logits say, for each row."""
    return classes_from(drawn_from("categorical", seed), logits, num_samples, "int64" if dtype is None else dtype)


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = "float32",
    name: Any = None,
    alg: Any = "auto_select",
) -> Any:
    """Draw the uniform numbers of two seeds; None as both bounds stands for all integers of the dtype."""
    return uniform_from(_noted(seed, alg), shape, minval, maxval, dtype, "stateless_uniform")


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    name: Any = None,
    alg: Any = "auto_select",
) -> Any:
    """Draw the numbers of a normal distribution that belong to two seeds."""
    return scaled(philox.normal, _noted(seed, alg), shape, dtype, stddev, mean)


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = "float32",
    name: Any = None,
    alg: Any = "auto_select",
) -> Any:
    """Draw the numbers of a truncated normal distribution that belong to two seeds."""
    return scaled(philox.truncated_normal, _noted(seed, alg), shape, dtype, stddev, mean)


def stateless_categorical(logits: Any, num_samples: Any, seed: Any, dtype: Any = "int64", name: Any = None) -> Any:
    """Draw the classes that belong to two seeds."""
    return classes_from(_noted(seed, "auto_select"), logits, num_samples, dtype)


def stateless_shuffle(value: Any, seed: Any, alg: Any = "auto_select", name: Any = None) -> Any:
    """Put the rows of a tensor in the order that belongs to two seeds."""
    return _rows(convert_to_tensor(value), _noted(seed, alg)())


def split(seed: Any, num: Any = 2, alg: Any = "auto_select") -> Any:
    """Make several pairs of seeds of one."""
    found = of_seeds(seed, alg)
    return uniform_from(found, [int(num), 2], None, None, convert_to_tensor(seed).dtype, "stateless_split")


def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Any:
    """Make another pair of seeds of a pair and a number."""
    given = convert_to_tensor(data)
    first = uniform_from(of_seeds(seed, alg), [], None, None, given.dtype, "stateless_fold_in")
    return given.__array_namespace__().stack([first, given])


def drawn_from(kernel: str, seed: int | None) -> Any:
    """What says where an operation that keeps no state of its own finds its numbers."""
    if seed is not None:
        note_draw(f"tf.random.{kernel}", seed)

    def draw(blocks: int, dtype: Any) -> philox.Stream:
        here, own = HERE.get(), None if seed is None else int(seed)
        if here.draft is not None:
            return here.draft.draw(own, blocks)
        found = None if here.drawing is None else here.drawing.draw(own, blocks)
        return operation_stream(own, (kernel, dtype.name, str(here.device)), blocks) if found is None else found

    return draw


def _noted(seed: Any, alg: Any) -> Any:
    """The same as of_seeds, where the numbers go to the user, who may have meant other ones on each replica."""
    note_draw("A stateless draw", seed)
    return of_seeds(seed, alg)


def of_seeds(seed: Any, alg: Any) -> Any:
    """What says where a stateless operation finds its numbers."""
    require_philox(alg)
    seeds = convert_to_tensor(seed)
    if tuple(seeds.shape) != (2,) or seeds.dtype.kind not in "iu":
        raise InvalidArgumentError(
            f"A stateless operation got a seed of shape {tuple(seeds.shape)} and dtype {dtype_name(seeds.dtype)}; expected two "
            f"integers. Pass seed=[1, 2], or what tf.random.split() returns."
        )
    return lambda *_: philox.scrambled(words_of_integers(known(seeds)))


def words_of_integers(numbers: Any) -> tuple[Any, ...]:
    """The words of 32 bits of a row of integers."""
    wide = numbers.dtype.itemsize == 8
    found: list[Any] = []
    for place in range(numbers.shape[0]):
        number = numbers[place]
        above = number >> 32 if wide else number >> 31 if numbers.dtype.kind == "i" else number * 0
        found += [number.astype(np.uint32), above.astype(np.uint32)]
    return tuple(found)


def require_philox(alg: Any) -> None:
    """Refuse algorithms that refdist does not have."""
    if alg not in ("philox", "auto_select", 1, 3) and getattr(alg, "value", None) not in (1, 3):
        raise ValueError(f"A random operation got alg={alg!r}; expected 'philox'. Leave alg out.")


def uniform_from(draw: Any, shape: Any, minval: Any, maxval: Any, dtype: Any, name: str) -> Any:
    """Uniform numbers of a stream, between two bounds."""
    kind, sizes = numpy_dtype(dtype), sizes_of(shape)
    if kind.kind not in "iu":
        return scaled(philox.uniform, draw, sizes, kind, *_span(minval, 1 if maxval is None else maxval, kind))
    if (minval is None) != (maxval is None):
        raise ValueError(
            f"{name}() got minval={minval!r} and maxval={maxval!r} for {kind.name}; expected both for integers. Pass both."
        )
    if kind.itemsize < 4:
        raise DtypeError(
            f"{name}() got dtype={kind.name}; expected integers of 32 or 64 bits. Use tf.cast() afterwards."
        )
    given = room(kind)
    bounds = [None if one is None else known(beside(one, given)) for one in (minval, maxval)]
    count = math.prod(sizes)
    return placed(philox.integers(draw(count * BLOCKS, kind), count, given, *bounds), sizes)


def scaled(distribution: Any, draw: Any, shape: Any, dtype: Any, spread: Any, middle: Any) -> Any:
    """Numbers of a distribution, times a number, plus another one."""
    kind, sizes = room(_floats(dtype)), sizes_of(shape)
    count = math.prod(sizes)
    drawn = placed(distribution(draw(count * BLOCKS, kind), count, kind), sizes)
    return drawn * beside(spread, kind) + beside(middle, kind)


def classes_from(draw: Any, logits: Any, num_samples: Any, dtype: Any) -> Any:
    """Classes of a stream: the first whose share of all probabilities, with those before it, is above a uniform number."""
    tensor, samples = convert_to_tensor(logits), int(num_samples)
    if len(tensor.shape) != 2:
        raise InvalidArgumentError(
            f"categorical() got logits of shape {tuple(tensor.shape)}; expected one row for each draw. Reshape them."
        )
    rows, kind = tensor.shape[0], room(np.dtype(np.float64))
    given = draw(rows * -(-samples // 4) * 8 * BLOCKS, tensor.dtype)  # for numbers of two words each
    uniforms = philox.uniform(given, rows * samples, kind).reshape(rows, samples)
    given = tensor if is_tracer(uniforms) else known(tensor)
    arrays = given.__array_namespace__()
    powers = arrays.exp((given - given.max(axis=1, keepdims=True)).astype(kind))
    shares = arrays.cumsum(powers, axis=1)
    found = (shares[:, None, :] <= (uniforms * shares[:, -1:])[:, :, None]).sum(axis=2)
    return placed(found.astype(room(numpy_dtype(dtype))), (rows, samples))


def placed(drawn: Any, sizes: tuple[int, ...]) -> Any:
    """Numbers as a tensor of a shape."""
    shaped = drawn.reshape(sizes)
    return fresh(shaped) if isinstance(shaped, (np.ndarray, np.generic)) else shaped


def _rows(tensor: Any, given: philox.Stream) -> Any:
    order = philox.permutation(given, tensor.shape[0])
    return tensor.__array_namespace__().take(tensor, order, axis=0) if is_tracer(order) else tensor[order]


def _span(minval: Any, maxval: Any, dtype: Any) -> tuple[Any, Any]:
    low = beside(0 if minval is None else minval, room(dtype))
    return beside(maxval, room(dtype)) - low, low


def _floats(dtype: Any) -> np.dtype[Any]:
    kind = numpy_dtype(dtype)
    if kind.kind not in "fV":
        raise DtypeError(f"A random operation got dtype={kind.name}; expected floats. Use tf.cast() afterwards.")
    return kind


def room(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A dtype, or the narrower one that JAX has in its place in a program."""
    draft = HERE.get().draft
    if draft is None:
        return dtype
    draft.require_wide(dtype)
    narrow = dtype.itemsize == 8 and not draft.compiler.exact
    return np.dtype(f"{dtype.name[:-2]}32") if narrow else dtype


def known(tensor: Any) -> Any:
    """A tensor, as an array of numpy where its numbers are known."""
    return tensor if is_tracer(tensor) else np.asarray(tensor)
