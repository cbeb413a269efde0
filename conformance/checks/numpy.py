"""Checks of NUMPY: datasets made of numpy arrays."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from conformance.checks import check
from conformance.checks.notices import deprecations, logged, notices
from conformance.world import World


@check("NUMPY-01", needs=("data",))
def the_v2_method_takes_the_arrays_only(world: World) -> None:
    for strategy in world.each():
        method = strategy.experimental_make_numpy_dataset
        world.signature(method, ["numpy_input"])

        world.equal([1, 2], _elements(world, method(numpy_input=np.array([1, 2], np.int32))))


@check("NUMPY-02", needs=("data",))
def the_v1_method_takes_a_session_too(world: World) -> None:
    for strategy in world.each():
        method = strategy.experimental_make_numpy_dataset
        world.signature(method, ["numpy_input", ("session", None)])

        world.equal([1, 2], _elements(world, method(np.array([1, 2], np.int32), None)))


@check("NUMPY-03", needs=("data", "v1_graph"))
def a_session_loads_the_data_in_graphs_only(world: World) -> None:
    class Session:
        """What graph execution would use to load the data."""

        used = False

        def run(self, *args: Any, **kwargs: Any) -> None:
            """Note that the session is used."""
            self.used = True

    array = np.arange(6, dtype=np.float32).reshape(3, 2)
    for strategy in world.each():
        session = Session()
        for given in (None, session, object()):
            dataset = strategy.experimental_make_numpy_dataset(array, session=given)
            world.equal(array, _elements(world, dataset), f"with session={given!r}")

        world.true(not session.used, "the session is not used")

    runs: list[str] = []

    class Recording(world.tf.compat.v1.Session):
        """Notes that it is used."""

        def run(self, *args: Any, **kwargs: Any) -> Any:
            runs.append("run")
            return super().run(*args, **kwargs)

    for kind in world.behavior.applies_to:
        runs.clear()
        with world.tf.Graph().as_default() as graph, Recording(graph=graph) as recording:
            world.strategy(kind).experimental_make_numpy_dataset(array, session=recording)
            world.true(runs, "while a graph is built, the session that is given loads the data")


@check("NUMPY-04", needs=("data",))
def the_dataset_has_one_element_for_each_entry(world: World) -> None:
    for strategy in world.each():
        for kind in ("int32", "float32", "uint8", "bool"):
            dataset = strategy.experimental_make_numpy_dataset(np.arange(6).reshape(3, 2).astype(kind))
            elements = _elements(world, dataset)

            world.true(isinstance(dataset, world.tf.data.Dataset), f"{type(dataset).__name__} is a tf.data.Dataset")
            world.equal(np.array([[0, 1], [2, 3], [4, 5]]).astype(kind), elements)
            world.equal([kind] * 3, [element.dtype.name for element in elements])
        deep = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
        world.equal(deep, _elements(world, strategy.experimental_make_numpy_dataset(deep)))


@check("NUMPY-05", needs=("data",))
def the_input_may_be_a_nest(world: World) -> None:
    ones, counts = np.ones((4, 2), np.float32), np.arange(4, dtype=np.int32)
    for strategy in world.each():
        by_name = _elements(world, strategy.experimental_make_numpy_dataset({"a": ones, "b": counts}))
        paired = _elements(world, strategy.experimental_make_numpy_dataset((ones, counts)))
        deep = _elements(world, strategy.experimental_make_numpy_dataset((counts, {"c": (ones, counts)})))

        world.equal([{"a": [1.0, 1.0], "b": index} for index in range(4)], by_name)
        world.equal([([1.0, 1.0], index) for index in range(4)], paired)
        world.equal([(index, {"c": ([1.0, 1.0], index)}) for index in range(4)], deep)
        for element in paired:
            world.true(isinstance(element, tuple), "an element of a tuple of arrays is a tuple")


@check("NUMPY-06", needs=("data",))
def a_list_of_arrays_is_stacked(world: World) -> None:
    arrays = [np.ones(2, np.float32), np.zeros(2, np.float32), np.ones(2, np.float32)]
    for strategy in world.each():
        elements = _elements(world, strategy.experimental_make_numpy_dataset(arrays))
        stacked = _elements(world, strategy.experimental_make_numpy_dataset(np.stack(arrays)))

        world.equal([[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]], elements)
        world.equal(stacked, elements)


@check("NUMPY-07", needs=("data",))
def stacking_leaves_tuples_and_dicts_as_they_are(world: World) -> None:
    rows = [np.ones(2, np.float32), np.zeros(2, np.float32)]
    stacked = [[1.0, 1.0], [0.0, 0.0]]
    for strategy in world.each("Mirrored"):
        make = strategy.experimental_make_numpy_dataset

        world.equal(stacked, _elements(world, make(rows)))
        world.equal(list(zip(*[stacked] * 2, strict=True)), _elements(world, make((np.stack(rows), rows))))
        world.equal([{"a": row} for row in stacked], _elements(world, make({"a": rows})))


@check("NUMPY-08", needs=("data", "v1_graph"))
def the_data_are_no_constant_of_the_graph(world: World) -> None:
    v1 = world.tf.compat.v1
    array = np.ones([1024, 1024], np.float32)
    for strategy in world.each():
        with world.tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
            # The v2 pages have no argument for the session.
            further = {"session": session} if isinstance(strategy, v1.distribute.Strategy) else {}
            dataset = strategy.experimental_make_numpy_dataset(array, **further)
            strategy.experimental_distribute_dataset(dataset.batch(8))
            size = len(graph.as_graph_def().SerializeToString())

        world.true(size < array.nbytes / 10, f"a graph of {size} bytes is far smaller than the array")


@check("NUMPY-09", needs=("data",), uses=("multi_worker",))
def the_data_are_copied_at_the_call(world: World) -> None:
    def program(strategy: Any, _: int) -> Any:
        array = np.arange(4, dtype=np.int32)
        dataset = strategy.experimental_make_numpy_dataset(array)
        array[:] = -1
        return [int(element) for element in _elements(world, dataset)]

    for index, seen in enumerate(world.on_two_workers(program)):
        world.equal([0, 1, 2, 3], seen, f"what worker {index} has of the data")
    for strategy in world.each():
        array, table = np.arange(4, dtype=np.int32), np.arange(8, dtype=np.float32).reshape(4, 2)
        expected = [(index, [2.0 * index, 2.0 * index + 1]) for index in range(4)]
        dataset = strategy.experimental_make_numpy_dataset((array, table[:]))
        array[:] = -1
        world.equal(expected, _elements(world, dataset), "after a change of the array")

        table[:] = -1
        world.equal(expected, _elements(world, dataset), "after a change of what the second array is a view of")
        count = strategy.num_replicas_in_sync
        first = next(iter(strategy.experimental_distribute_dataset(dataset.repeat(count).batch(4 * count))))
        world.equal([[0, 1, 2, 3]] * count, world.locals(strategy, first[0]), "on the replicas")


@check("NUMPY-10", needs=("data",))
def the_dataset_is_an_ordinary_one(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        dataset = strategy.experimental_make_numpy_dataset(np.arange(4 * count, dtype=np.int32))
        world.true(isinstance(dataset, tf.data.Dataset), f"{type(dataset).__name__} is a tf.data.Dataset")
        world.true(not isinstance(dataset, tf.distribute.DistributedDataset), "it is no DistributedDataset")

        doubled = dataset.map(lambda x: x * 2).batch(2 * count)
        steps = [world.locals(strategy, element) for element in strategy.experimental_distribute_dataset(doubled)]
        pieces = [[4 * index, 4 * index + 2] for index in range(2 * count)]
        world.equal([pieces[:count], pieces[count:]], steps)


@check("NUMPY-11", replicas=(1,), needs=("data",))
def example_distributes_ones_one_by_one(world: World) -> None:
    for strategy in world.each():
        numpy_input = np.ones([10], dtype=np.float32)
        dataset = strategy.experimental_make_numpy_dataset(numpy_input)
        dist_dataset = strategy.experimental_distribute_dataset(dataset)

        parts = [part for element in dist_dataset for part in world.locals(strategy, element)]
        world.equal([1.0] * 10, parts)
        world.equal(["float32"] * 10, [part.dtype.name for part in parts])


@check("NUMPY-12", replicas=(1, 2), needs=("data",))
def example_distributes_ones_in_pairs(world: World) -> None:
    for strategy in world.each():
        numpy_input = np.ones([10], dtype=np.float32)
        dataset = strategy.experimental_make_numpy_dataset(numpy_input)
        dataset = dataset.batch(2)
        dist_dataset = strategy.experimental_distribute_dataset(dataset)

        steps = [world.locals(strategy, element) for element in dist_dataset]
        count = strategy.num_replicas_in_sync
        world.equal([[[1.0] * (2 // count)] * count] * 5, steps)


@check("NUMPY-13", replicas=(1, 2), needs=("data",))
def example_prints_the_dataset(world: World) -> None:
    for strategy in world.each():
        dataset = strategy.experimental_make_numpy_dataset(np.ones([10], dtype=np.float32))

        world.equal("<TensorSliceDataset shapes: (), types: tf.float32>", world.text(dataset))


@check("NUMPY-14", replicas=(1, 2), needs=("data",))
def the_v2_method_says_that_it_is_deprecated(world: World) -> None:
    for strategy in world.each():
        with notices() as heard:
            dataset = strategy.experimental_make_numpy_dataset(np.ones([3], np.float32))

        texts = [text for text in deprecations(heard + logged()) if "numpy_dataset" in text]
        named = [text for text in texts if "2020-09-30" in text and "from_tensor_slices" in text]
        world.true(named, f"a notice with the date and the replacement in {texts}")
        world.equal([1.0] * 3, _elements(world, dataset))


@check("NUMPY-15", needs=("data",))
def the_other_pages_do_not_call_the_method_deprecated(world: World) -> None:
    for strategy in world.each():
        with notices() as heard:
            dataset = strategy.experimental_make_numpy_dataset(np.ones([3], np.float32))

        world.equal([], deprecations(heard), "notices of deprecation")
        world.equal([1.0] * 3, _elements(world, dataset))


@check("NUMPY-16", replicas=(1, 2), needs=("data",))
def slices_of_tensors_replace_it(world: World) -> None:
    array, counts = np.arange(6, dtype=np.float32).reshape(3, 2), np.arange(3, dtype=np.int32)
    for strategy in world.each("Mirrored"):
        for given in (array, {"a": array, "b": counts}, (array, counts)):
            replacement = _elements(world, world.tf.data.Dataset.from_tensor_slices(given))

            world.equal(3, len(replacement))
            world.equal(replacement, _elements(world, strategy.experimental_make_numpy_dataset(given)))


def _elements(world: World, dataset: Iterable[Any]) -> list[Any]:
    """Return the elements of a dataset as nests of numpy arrays."""
    return [world.tf.nest.map_structure(world.array, element) for element in dataset]
