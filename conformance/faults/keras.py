"""Planted faults of Keras: in what a model remembers and enters, in how its batches are cut, and in its metrics."""

import importlib
from collections.abc import Callable
from typing import Any

from conformance.faults import Plant, fault
from refdist._core.base import nest
from refdist._core.base.enums import VariableAggregation
from refdist._core.base.where import HERE
from refdist._core.replicas import context
from refdist._core.replicas.values import PerReplica


def hooks(name: str) -> Any:
    """Load Keras, and return a module of its hooks; not before a fault is planted, because Keras need not be installed."""
    importlib.import_module("refdist._core.keras").keras()
    return importlib.import_module(f"refdist._core.keras.{name}")


@fault("KERAS-01")
def every_replica_takes_the_whole_batch(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def cut(strategy: Any, data: Any) -> Any:
            count = strategy.num_replicas_in_sync
            _, shares = original(strategy, data)
            return nest.map_structure(lambda leaf: PerReplica([leaf] * count) if count > 1 else leaf, data), shares

        return cut

    plant.wrap(hooks("keras_steps"), "cut", wrapper)


@fault("KERAS-02")
def a_model_has_the_strategy_that_is_current_when_it_is_asked(plant: Plant) -> None:
    plant.wrap(hooks("trainer").Trainer, "distribute_strategy", lambda original: lambda self: context.get_strategy())


@fault("KERAS-03")
def fit_enters_the_scope_for_the_steps_only(plant: Plant) -> None:
    trainer: Any = hooks("trainer")
    plant.replace(importlib.import_module("keras").Model, "fit", trainer._trainer.JAXTrainer.fit)


@fault("KERAS-04")
def in_the_scope_only_the_first_epoch_is_trained(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
            inside = context.in_cross_replica_context()
            return original(self, *args, **({**kwargs, "epochs": 1} if inside else kwargs))

        return fit

    hooks("trainer")  # which makes it ours
    plant.wrap(importlib.import_module("keras").Model, "fit", wrapper)


@fault("KERAS-05")
def calling_a_model_enters_its_scope(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if context.has_strategy():
                return original(self, *args, **kwargs)
            with self.distribute_strategy.scope():
                return original(self, *args, **kwargs)

        return call

    plant.wrap(hooks("trainer")._model.Model, "__call__", wrapper)


@fault("KERAS-06")
def a_metric_forgets_all_replicas_but_the_first(plant: Plant) -> None:
    first = dict.fromkeys(("NONE", "MEAN", "SUM", "ONLY_FIRST_REPLICA"), VariableAggregation.ONLY_FIRST_REPLICA)
    plant.replace(hooks("keras_variables"), "VariableAggregation", first)


@fault("KERAS-07")
def an_estimator_forgets_its_strategy(plant: Plant) -> None:
    module: Any = importlib.import_module("refdist.estimator")
    plant.wrap(module, "RunConfig", lambda original: lambda train_distribute: original())


@fault("SCOPE-22")
def variables_of_layers_are_not_distributed(plant: Plant) -> None:
    def wrapper(original: Callable[..., None]) -> Any:
        def hold(self: Any, value: Any) -> None:
            frame = HERE.get().frame
            HERE.set(HERE.get()._replace(frame=None))
            try:
                original(self, value)
            finally:
                HERE.set(HERE.get()._replace(frame=frame))

        return hold

    plant.wrap(hooks("keras_variables"), "_hold", wrapper)
