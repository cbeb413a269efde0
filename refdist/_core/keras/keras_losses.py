"""Losses of Keras on replicas: a mean is over the rows of one replica, and counts for as much as these are of all rows."""

import functools
import importlib
import warnings
from collections.abc import Callable
from typing import Any

from refdist._core.keras.keras_steps import STEP
from refdist._core.replicas import context

_core: Any = importlib.import_module("keras.src.backend.jax.core")
_compiled: Any = importlib.import_module("keras.src.trainers.compile_utils")
_losses: Any = importlib.import_module("keras.src.losses.loss")


def install() -> None:
    """Make losses count for as much as a replica's part of the batch."""
    _losses.scale_loss_for_distribution = scaled
    _losses.unscale_loss_for_distribution = _unscaled
    _losses.reduce_values = _reducing(_losses.reduce_values)
    _losses.reduce_weighted_values = _warning(_losses.reduce_weighted_values)
    _compiled.CompileLoss.__call__ = _of_rows(_compiled.CompileLoss.__call__)


def scaled(loss: Any) -> Any:
    """Divide a mean by the number of replicas, so that their sum is the mean of all; in a step of a trainer that does it."""
    return loss if STEP.get() is not None else loss / _replicas()


def _unscaled(loss: Any) -> Any:
    return loss if STEP.get() is not None else loss * _replicas()


def _of_rows(original: Callable[..., Any]) -> Callable[..., Any]:
    """Let the loss of a replica without rows be 0."""

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        loss, step = original(self, *args, **kwargs), STEP.get()
        # Not a multiple of it: what is computed from a row of zeros may be no number.
        return _core.jnp.zeros_like(loss) if step is not None and step.empty else loss

    return call


def _replicas() -> int:
    return context.get_strategy().num_replicas_in_sync


def _reducing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Keep a loss that is a sum unweighted: only means are averaged over the replicas. The mean of no rows is 0."""

    def reduce_values(values: Any, sample_weight: Any = None, reduction: Any = "sum_over_batch_size") -> Any:
        if 0 in values.shape and reduction not in ("none", None):
            return _core.jnp.sum(values)
        loss, step = original(values, sample_weight, reduction), STEP.get()
        return loss / step.share if step is not None and step.share and reduction == "sum" else loss

    return reduce_values


def _warning(original: Callable[..., Any]) -> Callable[..., Any]:
    """Warn about a mean that is not over rows: its divisor covers a single replica only, as in TensorFlow."""

    @functools.wraps(original)
    def reduce_weighted_values(
        values: Any, sample_weight: Any = None, mask: Any = None, reduction: Any = "mean", **more: Any
    ) -> Any:
        by_weight = reduction == "mean_with_sample_weight" and sample_weight is not None
        masked, step = mask is not None and reduction not in ("sum", "none", None), STEP.get()
        if step is not None and 0 < step.share < 1 and (by_weight or masked):
            what = f"A loss with {'a mask' if masked else 'weights'} and reduction={reduction!r}"
            warnings.warn(
                f"{what} is computed on several replicas; expected a mean over rows, as each replica divides by the sum of its "
                f"own weights, and the result is the mean of theirs. For the numbers of one replica use reduction='sum' and divide "
                f"in the loss.",
                stacklevel=2,
            )
        return original(values, sample_weight, mask, reduction, **more)

    return reduce_weighted_values
