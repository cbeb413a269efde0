"""Planted faults of SCOPE: what has to be done inside a scope, and what may be done on either side."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from conformance.faults import Plant, fault
from refdist._core.base.options import InputContext
from refdist._core.base.where import Frame, entered
from refdist._core.input.dataset import Dataset
from refdist._core.replicas import context
from refdist._core.saving import checkpoint as train
from refdist._core.saving import saved_models as saved_model
from refdist._core.saving.module import Module
from refdist._core.staging.function import Function
from refdist._core.strategies.extended import EagerExtended
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.variables import creation
from refdist._core.variables.distributed_variable import DistributedVariable
from refdist._core.variables.variable import Variable

Named = Callable[[Any], Iterator[tuple[str, Any]]]
"""Finds the variables below an object, with their names."""


@fault("SCOPE-19")
def metrics_are_not_distributed(plant: Plant) -> None:
    plant.replace(creation, "SyncOnReadVariable", lambda strategy, copies, policy: copies[0])


@fault("SCOPE-20")
def variables_with_a_late_value_are_not_distributed(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def create(self: EagerExtended, following: Callable[..., Any], **kwargs: Any) -> Any:
            late = callable(kwargs.get("initial_value"))
            return following(**kwargs) if late else original(self, following, **kwargs)

        return create

    plant.wrap(EagerExtended, "create_variable", wrapper)


@fault("SCOPE-21")
def values_of_variables_made_later_are_lost(plant: Plant) -> None:
    plant.replace(Module, "__setattr__", object.__setattr__)


@fault("SCOPE-25")
def a_function_belongs_to_the_strategy_that_was_current_at_its_definition(plant: Plant) -> None:
    def wrapper(original: Callable[..., None]) -> Any:
        def init(self: Function, python_function: Callable[..., Any], *rest: Any, **options: Any) -> None:
            strategy = context.get_strategy()
            frame = Frame(strategy, strategy.extended.first_replica, ())

            def captured(*args: Any, **kwargs: Any) -> Any:
                with entered(frame=frame, device=strategy.extended.plan.devices[0]):
                    return python_function(*args, **kwargs)

            original(self, captured if not context.has_strategy() else python_function, *rest, **options)

        return init

    plant.wrap(Function, "__init__", wrapper)


@fault("SCOPE-26")
def saving_stores_every_copy(plant: Plant) -> None:
    class Stacked:
        """A variable that is read as all of its copies."""

        def __init__(self, variable: Any) -> None:
            self._variable, self._copies = variable, getattr(variable, "copies", (variable,))

        __class__ = property(lambda self: Variable)  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]

        def __getattr__(self, name: str) -> Any:
            return getattr(self._variable, name)

        def numpy(self) -> Any:
            """Return the copies as one array with a dimension more."""
            return np.stack([copy.numpy() for copy in self._copies])

    plant.wrap(
        saved_model,
        "named_variables",
        lambda original: lambda root: ((path, Stacked(variable)) for path, variable in original(root)),
    )


@fault("SCOPE-27")
def loading_makes_plain_variables_everywhere(plant: Plant) -> None:
    class Making(type):
        def __call__(cls, array: Any, *args: Any, **kwargs: Any) -> Any:
            return type.__call__(Variable, array, *args, **kwargs)

        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, Variable)

    plant.replace(saved_model, "Variable", Making("Plain", (), {}))


@fault("SCOPE-28")
def saving_in_the_scope_forgets_distributed_variables(plant: Plant) -> None:
    def wrapper(original: Named) -> Named:
        def named(root: Any) -> Iterator[tuple[str, Any]]:
            for path, variable in original(root):
                if not (context.in_cross_replica_context() and isinstance(variable, DistributedVariable)):
                    yield path, variable

        return named

    plant.wrap(train, "named_variables", wrapper)


@fault("SCOPE-23")
def in_the_scope_the_dataset_of_a_function_is_split_too(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def distribute(self: StrategyBase, dataset_fn: Callable[[InputContext], Any], options: Any = None) -> Any:
            if not context.in_cross_replica_context():
                return original(self, dataset_fn, options)
            dataset = dataset_fn(InputContext(num_replicas_in_sync=self.num_replicas_in_sync))
            return self.experimental_distribute_dataset(dataset, options)

        return distribute

    plant.wrap(StrategyBase, "distribute_datasets_from_function", wrapper)


@fault("SCOPE-24")
def a_batch_size_in_the_scope_is_that_of_one_replica(plant: Plant) -> None:
    def wrapper(original: Callable[..., Dataset]) -> Any:
        def batch(self: Dataset, batch_size: int, *args: Any, **kwargs: Any) -> Dataset:
            count = context.get_strategy().num_replicas_in_sync if context.in_cross_replica_context() else 1
            return original(self, batch_size * count, *args, **kwargs)

        return batch

    plant.wrap(Dataset, "batch", wrapper)
