"""Learning rates of `tf.compat.v1.train` that change with the step: functions without arguments, which optimizers call."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.ops.operation_table import cos, exp, floor, maximum, minimum
from refdist._core.ops.shape_functions import where
from refdist._core.ops.tensor_functions import cast, convert_to_tensor
from refdist._core.variables.tensors import current_value

Rate = Callable[[], Any]


def exponential_decay(
    learning_rate: float,
    global_step: Any,
    decay_steps: float,
    decay_rate: float,
    staircase: bool = False,
    name: Any = None,
) -> Rate:
    """Multiply by a factor in each period."""
    return _scheduled(learning_rate, global_step, lambda step: decay_rate ** _passed(step, decay_steps, staircase))


def natural_exp_decay(
    learning_rate: float,
    global_step: Any,
    decay_steps: float,
    decay_rate: float,
    staircase: bool = False,
    name: Any = None,
) -> Rate:
    """Multiply by exp(-rate) in each period."""
    return _scheduled(learning_rate, global_step, lambda step: exp(-decay_rate * _passed(step, decay_steps, staircase)))


def inverse_time_decay(
    learning_rate: float,
    global_step: Any,
    decay_steps: float,
    decay_rate: float,
    staircase: bool = False,
    name: Any = None,
) -> Rate:
    """Divide by a number that grows evenly."""
    return _scheduled(
        learning_rate, global_step, lambda step: 1 / (1 + decay_rate * _passed(step, decay_steps, staircase))
    )


def cosine_decay(
    learning_rate: float, global_step: Any, decay_steps: float, alpha: float = 0.0, name: Any = None
) -> Rate:
    """Fall along a cosine to a part of the rate, and stay there."""

    def share(step: Any) -> Any:
        wave = 0.5 * (1 + cos(math.pi * minimum(step, float(decay_steps)) / decay_steps))
        return (1 - alpha) * wave + alpha

    return _scheduled(learning_rate, global_step, share)


def polynomial_decay(
    learning_rate: float,
    global_step: Any,
    decay_steps: float,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
    name: Any = None,
) -> Rate:
    """Fall to an end along a power, and stay there, or begin again with longer periods."""

    def rate(step: Any) -> Any:
        period = float(decay_steps)
        if cycle:
            period = period * maximum(-floor(-step / period), 1.0)
        left = 1 - minimum(step, period) / period
        return (learning_rate - end_learning_rate) * left**power + end_learning_rate

    return _scheduled(1.0, global_step, rate)


def piecewise_constant(x: Any, boundaries: Sequence[float], values: Sequence[float], name: Any = None) -> Rate:
    """Take one value up to each boundary, that step included, and the last one after all."""
    if len(values) != len(boundaries) + 1:
        raise ValueError(
            f"piecewise_constant() got {len(boundaries)} boundaries and {len(values)} values; expected one value more. Add the "
            f"value after the last boundary."
        )

    def rate(step: Any) -> Any:
        found = convert_to_tensor(values[0], "float32")
        for boundary, value in zip(boundaries, values[1:], strict=True):
            found = where(step > boundary, convert_to_tensor(value, "float32"), found)
        return found

    return _scheduled(1.0, x, rate)


def _passed(step: Any, period: float, staircase: bool) -> Any:
    return floor(step / period) if staircase else step / period


def _scheduled(rate: Any, step: Any, share: Callable[[Any], Any]) -> Rate:
    def now() -> Any:
        number = cast(convert_to_tensor(current_value(step)), "float32")
        return cast(current_value(rate) * share(number), "float32")

    return now
