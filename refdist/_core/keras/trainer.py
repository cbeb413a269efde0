"""The trainer of Keras: it enters the scope of its model's strategy, and each of its steps is one run on the replicas."""

import functools
import importlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any

from refdist._core.base.call_sites import call_site
from refdist._core.base.where import HERE, entered
from refdist._core.keras import keras_data_steps
from refdist._core.keras.keras_batches import adapt
from refdist._core.keras.keras_errors import raise_cause
from refdist._core.keras.keras_losses import scaled
from refdist._core.keras.keras_optimizers import clipped, without_clipping
from refdist._core.keras.keras_steps import STEP, Steps, summed, takes_data_alone, taking
from refdist._core.keras.keras_workers import require_same_model
from refdist._core.replicas import context
from refdist._core.strategies.strategy import StrategyBase

_trainer: Any = importlib.import_module("keras.src.backend.jax.trainer")
_base: Any = importlib.import_module("keras.src.trainers.trainer")
_model: Any = importlib.import_module("keras.src.models.model")
_optimizers: Any = importlib.import_module("keras.src.optimizers")

_NOTHING: Any = object()


def install() -> None:
    """Make models train on the replicas of their strategies."""
    _model.Trainer = Trainer
    _model.Model.__bases__ = tuple(Trainer if b is _trainer.JAXTrainer else b for b in _model.Model.__bases__)
    # Not on our subclass, because Keras would take it for a user's override, which it cannot call when it loads a model.
    _base.Trainer.compile = _in_scope("compile")
    for kind in (_optimizers.base_optimizer.BaseOptimizer, _optimizers.LossScaleOptimizer):
        kind.stateless_apply = _summing(kind.stateless_apply)


def _of_state_or_data(name: str) -> Callable[..., Any]:
    """Wrap the step of this name: given a batch alone, it is the step that Keras has on TensorFlow."""
    original, of_data = getattr(_trainer.JAXTrainer, name), getattr(keras_data_steps, name)

    @functools.wraps(original)
    def step(
        self: Any, state: Any, data: Any = _NOTHING
    ) -> Any:  # with two parameters, by which steps for JAX are known
        return of_data(self, state) if data is _NOTHING else original(self, state, data)

    return step


def _in_scope(name: str) -> Callable[..., Any]:
    """Wrap the method of this name: it runs in the scope of the model's strategy, with datasets that Keras can read."""
    original = getattr(_trainer.JAXTrainer, name)
    signature = inspect.signature(original)

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(self, *args, **kwargs)
        adapt(given.arguments, in_order=name == "predict")
        called_from = HERE.get().called_from or call_site()  # Keras calls these methods, too
        with entered(called_from=called_from), self.distribute_strategy.scope():
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

    train_step = _of_state_or_data("train_step")
    test_step = _of_state_or_data("test_step")
    predict_step = _of_state_or_data("predict_step")
    fit = _in_scope("fit")
    evaluate = _in_scope("evaluate")
    predict = _in_scope("predict")
    train_on_batch = _in_scope("train_on_batch")
    test_on_batch = _in_scope("test_on_batch")
    predict_on_batch = _in_scope("predict_on_batch")

    def make_train_function(self, force: bool = False) -> None:
        """Make the function that takes training steps."""
        require_same_model(self, "training")
        if self.train_function is None or force:
            self.train_function = self._steps("train")

    def make_test_function(self, force: bool = False) -> None:
        """Make the function that takes evaluation steps."""
        require_same_model(self, "evaluating")
        if self.test_function is None or force:
            self.test_function = self._steps("test")

    def make_predict_function(self, force: bool = False) -> None:
        """Make the function that takes prediction steps."""
        require_same_model(self, "predicting with")
        if self.predict_function is None or force:
            self.predict_function = self._steps("predict")

    def _steps(self, kind: str) -> Steps:
        name = f"{kind}_step"
        return Steps(self, kind, custom=getattr(type(self), name) is not getattr(Trainer, name))

    def compute_loss_and_updates(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the loss of a replica, weighted by its share of the global batch."""
        loss, others = super().compute_loss_and_updates(*args, **kwargs)
        step = STEP.get()
        return (loss if step is None else loss * step.share), others

    def _symbolic_build(self, iterator: Any = None, data_batch: Any = None) -> None:
        alone = takes_data_alone(self, "train")  # it makes variables in its first step, as a loop of the user's does
        try:
            with warnings.catch_warnings():
                # Keras asks for the dtypes of the data; JAX 0.12 says that it narrows them, as it does with all.
                warnings.filterwarnings("ignore", "Explicitly requested dtype")
                super()._symbolic_build(iterator=iterator, data_batch=data_batch)
        except Exception as error:
            if not alone:
                raise_cause(error, self)
                raise

    def _aggregate_additional_loss(self, loss: Any) -> Any:
        return scaled(super()._aggregate_additional_loss(loss))

    def _get_jax_state(self, purge_model_variables: bool = False, **groups: bool) -> tuple[Any, ...]:
        # The variables hold the state all the time, so there is nothing to pass from step to step.
        return tuple([] for wanted in groups.values() if wanted)


def _summing(original: Callable[..., Any]) -> Callable[..., Any]:
    """Make an optimizer sum the gradients of the replicas before it uses them."""

    @functools.wraps(original)
    def stateless_apply(self: Any, optimizer_variables: Any, grads: Any, trainable_variables: Any) -> Any:
        step = STEP.get()
        if step is None:
            return original(self, optimizer_variables, grads, trainable_variables)
        gradients = clipped(self, list(grads), self._trainable_variables, optimizer_variables)
        if step.gradients is not None:
            step.gradients.append(gradients)
            return trainable_variables, optimizer_variables
        totals = summed(gradients, step.share)
        with taking(None), without_clipping(self):  # an inner optimizer gets gradients that are already summed
            return original(self, optimizer_variables, totals, trainable_variables)

    return stateless_apply
