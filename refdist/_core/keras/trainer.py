"""The trainer of Keras: it enters the scope of its model's strategy, and each of its steps is one run on the replicas."""

import functools
import importlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from refdist._core.keras.keras_batches import adapt
from refdist._core.keras.keras_steps import STEP, Steps, entered, summed
from refdist._core.replicas import context
from refdist._core.strategies.strategy import StrategyBase

_trainer: Any = importlib.import_module("keras.src.backend.jax.trainer")
_base: Any = importlib.import_module("keras.src.trainers.trainer")
_model: Any = importlib.import_module("keras.src.models.model")
_losses: Any = importlib.import_module("keras.src.losses.loss")
_optimizers: Any = importlib.import_module("keras.src.optimizers")


def install() -> None:
    """Make models train on the replicas of their strategies."""
    _model.Trainer = Trainer
    _model.Model.__bases__ = tuple(Trainer if b is _trainer.JAXTrainer else b for b in _model.Model.__bases__)
    # Not on our subclass, because Keras would take it for a user's override, which it cannot call when it loads a model.
    _base.Trainer.compile = _in_scope("compile")
    _losses.reduce_values = _reducing(_losses.reduce_values)
    _losses.reduce_weighted_values = _warning(_losses.reduce_weighted_values)
    for kind in (_optimizers.base_optimizer.BaseOptimizer, _optimizers.LossScaleOptimizer):
        kind.stateless_apply = _summing(kind.stateless_apply)


def _in_scope(name: str) -> Callable[..., Any]:
    """Wrap the method of this name: it runs in the scope of the model's strategy, with datasets that Keras can read."""
    original = getattr(_trainer.JAXTrainer, name)
    signature = inspect.signature(original)

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(self, *args, **kwargs)
        adapt(given.arguments)
        with self.distribute_strategy.scope():
            return original(*given.args, **given.kwargs)

    return method


class Trainer(_trainer.JAXTrainer):
    """Trains on the replicas of the strategy that was current when the model was made."""

    def __init__(self) -> None:
        super().__init__()
        self._distribute_strategy = context.get_strategy()

    @property
    def distribute_strategy(self) -> StrategyBase:
        """The strategy on whose replicas the model trains; the default one for a model made before the hooks were in place."""
        return self.__dict__.get("_distribute_strategy") or context.default_strategy()

    fit = _in_scope("fit")
    evaluate = _in_scope("evaluate")
    predict = _in_scope("predict")
    train_on_batch = _in_scope("train_on_batch")
    test_on_batch = _in_scope("test_on_batch")
    predict_on_batch = _in_scope("predict_on_batch")

    def make_train_function(self, force: bool = False) -> None:
        """Make the function that takes training steps."""
        if self.train_function is None or force:
            self.train_function = self._steps("train")

    def make_test_function(self, force: bool = False) -> None:
        """Make the function that takes evaluation steps."""
        if self.test_function is None or force:
            self.test_function = self._steps("test")

    def make_predict_function(self, force: bool = False) -> None:
        """Make the function that takes prediction steps."""
        if self.predict_function is None or force:
            self.predict_function = self._steps("predict")

    def _steps(self, kind: str) -> Steps:
        workers = self.distribute_strategy.extended.plan.workers
        if workers > 1:
            raise NotImplementedError(
                f"A model of a strategy with {workers} workers was to take a step; expected a strategy of one machine, because "
                f"Keras reads its data once. Write the loop yourself, with strategy.experimental_distribute_dataset()."
            )
        name = f"{kind}_step"
        return Steps(self, kind, custom=getattr(type(self), name) is not getattr(Trainer, name))

    def compute_loss_and_updates(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the loss of a replica, weighted by its share of the global batch."""
        loss, others = super().compute_loss_and_updates(*args, **kwargs)
        step = STEP.get()
        return (loss if step is None else loss * step.share), others

    def _get_jax_state(self, purge_model_variables: bool = False, **groups: bool) -> tuple[Any, ...]:
        # The variables hold the state all the time, so there is nothing to pass from step to step.
        return tuple([] for wanted in groups.values() if wanted)


def _reducing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Keep a loss that is a sum unweighted: only means are averaged over the replicas."""

    def reduce_values(values: Any, sample_weight: Any = None, reduction: Any = "sum_over_batch_size") -> Any:
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


def _summing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make an optimizer sum the gradients of the replicas before it uses them."""

    @functools.wraps(original)
    def stateless_apply(self: Any, optimizer_variables: Any, grads: Any, trainable_variables: Any) -> Any:
        step = STEP.get()
        if step is None:
            return original(self, optimizer_variables, grads, trainable_variables)
        if step.gradients is not None:
            step.gradients.append(grads)
            return trainable_variables, optimizer_variables
        with entered(None):  # an inner optimizer gets gradients that are already summed
            return original(self, optimizer_variables, summed(list(grads), step.share), trainable_variables)

    return stateless_apply
