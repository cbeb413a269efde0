"""Planted faults in datasets made of numpy arrays."""

import warnings
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from conformance.faults import Plant, fault
from refdist._core.base import nest
from refdist._core.base.convert import to_array
from refdist._core.base.where import HERE
from refdist._core.input import replica_batches, sources
from refdist._core.input.dataset import Dataset
from refdist._core.input.replica_batches import Placer
from refdist._core.strategies.strategy import Strategy
from refdist._core.strategies.v1_strategies import CentralStorageStrategyV1, StrategyV1


@fault("NUMPY-01")
def the_v2_method_takes_a_session_too(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, numpy_input, session=None: original(self, numpy_input)

    plant.wrap(Strategy, "experimental_make_numpy_dataset", wrapper)


@fault("NUMPY-02")
def the_v1_method_needs_a_session(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, numpy_input, session: original(self, numpy_input, session)

    plant.wrap(StrategyV1, "experimental_make_numpy_dataset", wrapper)


@fault("NUMPY-03")
def the_session_loads_the_data_even_so(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def make(self: StrategyV1, numpy_input: Any, session: Any = None) -> Any:
            if hasattr(session, "run"):
                session.run("initialize")
            return original(self, numpy_input, session)

        return make

    plant.wrap(StrategyV1, "experimental_make_numpy_dataset", wrapper)


@fault("NUMPY-04")
def all_numbers_become_float32(plant: Plant) -> None:
    def converted(given: Any) -> Any:
        return given.astype(np.float32) if isinstance(given, np.ndarray) else given

    _change_input(plant, StrategyV1, converted)


@fault("NUMPY-05")
def the_parts_of_a_nest_are_shifted_against_each_other(plant: Plant) -> None:
    def shifted(given: Any) -> Any:
        parts = nest.flatten(given)
        return nest.pack_sequence_as(given, [np.roll(part, index, axis=0) for index, part in enumerate(parts)])

    _change_input(plant, StrategyV1, shifted)


@fault("NUMPY-06")
def a_list_is_taken_for_a_structure(plant: Plant) -> None:
    def structured(given: Any) -> Any:
        return tuple(cast("list[Any]", given)) if isinstance(given, list) else given

    _change_input(plant, StrategyV1, structured)


@fault("NUMPY-07")
def a_tuple_of_arrays_is_stacked_as_well(plant: Plant) -> None:
    def stacked(given: Any) -> Any:
        shapes = {np.shape(part) for part in cast("tuple[Any, ...]", given)} if isinstance(given, tuple) else ()
        return np.stack(given) if len(shapes) == 1 else given

    _change_input(plant, Strategy, stacked)


@fault("NUMPY-08")
def the_data_become_a_constant_of_the_graph(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def from_tensor_slices(tensors: Any) -> Dataset:
            graph = HERE.get().graph
            if graph is not None:
                graph.add("constant", np.asarray, tensors)
            return original(tensors)

        return staticmethod(from_tensor_slices)

    plant.wrap(Dataset, "from_tensor_slices", wrapper)


@fault("NUMPY-09")
def the_arrays_of_the_user_are_kept(plant: Plant) -> None:
    plant.replace(sources, "read_only_copy", lambda value: to_array(value).view())


@fault("NUMPY-10")
def central_storage_makes_a_list(plant: Plant) -> None:
    def listed(self: CentralStorageStrategyV1, numpy_input: Any, session: Any = None) -> Any:
        return list(Dataset.from_tensor_slices(numpy_input))

    plant.replace(CentralStorageStrategyV1, "experimental_make_numpy_dataset", listed)


@fault("NUMPY-11")
def scalars_become_batches_of_one_on_a_single_replica(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def place(self: Placer, pieces: Any) -> Any:
            alone = len(pieces) == 1 and not isinstance(pieces[0], nest.CONTAINERS) and np.ndim(pieces[0]) == 0
            return original(self, [np.expand_dims(pieces[0], 0)] if alone else pieces)

        return place

    plant.wrap(Placer, "place", wrapper)


@fault("NUMPY-12")
def a_batch_of_two_goes_to_the_first_replica(plant: Plant) -> None:
    def wrapper(original: Callable[..., Any]) -> Any:
        def cut_batch(batch: int, whole: int, replicas: int, local: int) -> Any:
            return [[(0, 2), *[(2, 2)] * (local - 1)]] if batch == 2 else original(batch, whole, replicas, local)

        return cut_batch

    plant.wrap(replica_batches, "cut_batch", wrapper)


@fault("NUMPY-13")
def a_dataset_prints_its_spec(plant: Plant) -> None:
    plant.replace(Dataset, "__repr__", lambda self: f"<{self.stage.name} element_spec={self.element_spec}>")


@fault("NUMPY-14")
def the_notice_does_not_say_until_when(plant: Plant) -> None:
    _warn(plant, Strategy, "experimental_make_numpy_dataset is deprecated; use tf.data.Dataset.from_tensor_slices.")


@fault("NUMPY-15")
def the_v1_method_says_that_it_is_deprecated(plant: Plant) -> None:
    _warn(plant, StrategyV1, "experimental_make_numpy_dataset is deprecated.")


@fault("NUMPY-16")
def names_are_lost(plant: Plant) -> None:
    def unnamed(given: Any) -> Any:
        return tuple(cast("dict[str, Any]", given).values()) if isinstance(given, dict) else given

    _change_input(plant, Strategy, unnamed)


def _change_input(plant: Plant, owner: type, change: Callable[[Any], Any]) -> None:
    """Let a function change the arrays before a dataset is made of them."""

    def wrapper(original: Callable[..., Any]) -> Any:
        return lambda self, numpy_input, *rest, **named: original(self, change(numpy_input), *rest, **named)

    plant.wrap(owner, "experimental_make_numpy_dataset", wrapper)


def _warn(plant: Plant, owner: type, text: str) -> None:
    """Let the method say this, and nothing else."""

    def wrapper(original: Callable[..., Any]) -> Any:
        def make(self: Any, *args: Any, **kwargs: Any) -> Any:
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return original(self, *args, **kwargs)

        return make

    plant.wrap(owner, "experimental_make_numpy_dataset", wrapper)
