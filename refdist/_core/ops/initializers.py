"""What makes initial values, given a shape."""

from collections.abc import Callable
from typing import Any

import numpy as np

from refdist._core.ops.random_numbers import normal, stateless_normal, stateless_uniform, uniform
from refdist._core.ops.shape_functions import reshape
from refdist._core.ops.tensor_functions import convert_to_tensor, ones, sizes_of, zeros


def _initializer(name: str, make: Callable[..., Any], **defaults: Any) -> type:
    """Make a class whose objects make initial values, given a shape."""

    class Initializer:
        def __init__(self, *args: Any, **options: Any) -> None:
            self._options = {**defaults, **dict(zip(defaults, args, strict=False)), **options}

        def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Any:
            return make(shape, dtype=dtype, **self._options)

        def get_config(self) -> dict[str, Any]:
            """What an equal one is made with."""
            return dict(self._options)

    Initializer.__name__ = Initializer.__qualname__ = name
    Initializer.__doc__ = f"Makes initial values: {name}."
    return Initializer


def _constant(shape: Any, dtype: Any, value: Any) -> Any:
    given = convert_to_tensor(value, dtype)
    return (
        given.__array_namespace__().broadcast_to(given, sizes_of(shape)) if given.size == 1 else reshape(given, shape)
    )


def _filled(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda shape, dtype: make(shape, np.float32 if dtype is None else dtype)


def _drawn(draw: Callable[..., Any], of_seeds: Callable[..., Any]) -> Callable[..., Any]:
    """Draw values; an initializer with a seed makes the same ones each time."""

    def make(shape: Any, dtype: Any, seed: int | None, **options: Any) -> Any:
        given = {"dtype": np.float32 if dtype is None else dtype, **options}
        return draw(shape, **given) if seed is None else of_seeds(shape, [seed, 0], **given)

    return make


constant_initializer = _initializer("constant_initializer", _constant, value=0)
ones_initializer = _initializer("ones_initializer", _filled(ones))
random_normal_initializer = _initializer(
    "random_normal_initializer", _drawn(normal, stateless_normal), mean=0.0, stddev=0.05, seed=None
)
random_uniform_initializer = _initializer(
    "random_uniform_initializer", _drawn(uniform, stateless_uniform), minval=-0.05, maxval=0.05, seed=None
)
zeros_initializer = _initializer("zeros_initializer", _filled(zeros))
