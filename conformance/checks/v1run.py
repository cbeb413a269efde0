"""Checks of V1RUN: `experimental_run`, the way in which v1 runs a function on the replicas."""

import inspect
import re
from typing import Any

import numpy as np

from conformance.checks import check
from conformance.checks.notices import deprecations, logged, notices
from conformance.world import World


@check("V1RUN-01")
def experimental_run_takes_a_function_and_an_iterator(world: World) -> None:
    for strategy in world.each():
        world.signature(strategy.experimental_run, ["fn", ("input_iterator", None)])

        count = strategy.num_replicas_in_sync
        result = strategy.experimental_run(fn=lambda: world.tf.constant(2.0), input_iterator=None)
        world.equal([2.0] * count, world.locals(strategy, result))


@check("V1RUN-02")
def the_text_of_the_method_points_to_run(world: World) -> None:
    for strategy in world.each():
        text = inspect.getdoc(strategy.experimental_run) or ""

        world.true("deprecated" in text.lower(), f"the documentation text calls the method deprecated: {text!r}")
        world.true(_names_run(text), f"the documentation text names run: {text!r}")


@check("V1RUN-03")
def a_call_tells_to_use_run(world: World) -> None:
    for strategy in world.each():
        with notices() as heard:
            result = strategy.experimental_run(lambda: world.tf.constant(2.0))

        # Some implementations say it once in the life of a process, and write it to a log.
        texts = [text for text in deprecations(heard + logged()) if "experimental_run" in text]
        world.true(any(map(_names_run, texts)), f"a notice of deprecation that names run, in {texts}")
        world.equal([2.0] * strategy.num_replicas_in_sync, world.locals(strategy, result))


@check("V1RUN-04")
def eager_operations_are_executed_at_once(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        with strategy.scope():
            v = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)

        def fn(v: Any = v) -> Any:
            v.assign_add(tf.constant(2.0))
            return tf.constant(3.0) * 2.0

        for step in range(2):
            result = strategy.experimental_run(fn)

            world.equal([6.0] * strategy.num_replicas_in_sync, world.locals(strategy, result))
            world.equal(3.0 + 2.0 * step, v, "the variable right after the call")


@check("V1RUN-05", needs=("v1_graph",))
def graph_operations_are_executed_later(world: World) -> None:
    v1 = world.tf.compat.v1
    for kind in world.behavior.applies_to:
        executed: list[str] = []

        def note(x: Any, executed: list[str] = executed) -> Any:
            executed.append("executed")
            return np.float32(x)

        with world.tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
            strategy = world.strategy(kind)
            count = strategy.num_replicas_in_sync
            result = strategy.experimental_run(lambda note=note: v1.py_func(note, [3.0], world.tf.float32) * 2.0)
            symbols = strategy.experimental_local_results(result)

            world.equal([], executed, "what is executed by the call")
            world.equal([6.0] * count, session.run(list(symbols)))
            world.equal(count, len(executed), "what is executed when the result is evaluated")


@check("V1RUN-06", needs=("data", "v1_iterators"))
def one_next_value_serves_all_replicas(world: World) -> None:
    class Counted:
        """An iterator that counts what is asked of it."""

        def __init__(self, iterator: Any) -> None:
            self._iterator = iterator
            self.calls = 0

        def get_next(self) -> Any:
            """Return the inputs of the next step."""
            self.calls += 1
            return self._iterator.get_next()

    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        numbers = world.tf.data.Dataset.range(4 * count)
        made = strategy.make_input_fn_iterator(lambda _, numbers=numbers: numbers.batch(2))
        made.initialize()
        iterator = Counted(made)
        for step in range(2):
            inputs: list[Any] = []

            def fn(x: Any, inputs: list[Any] = inputs) -> Any:
                inputs.append(world.array(x))
                return x

            strategy.experimental_run(fn, iterator)

            expected = [[2 * (step * count + i), 2 * (step * count + i) + 1] for i in range(count)]
            world.equal(expected, inputs, f"inputs of the replicas in step {step}")
            world.equal(step + 1, iterator.calls, "calls of get_next")


@check("V1RUN-07")
def the_function_has_a_replica_context(world: World) -> None:
    tf = world.tf

    def fn() -> Any:
        context = tf.distribute.get_replica_context()
        return tf.identity(context.replica_id_in_sync_group), tf.constant(context.num_replicas_in_sync)

    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        ids, counts = strategy.experimental_run(fn)

        world.equal(list(range(count)), world.locals(strategy, ids))
        world.equal([count] * count, world.locals(strategy, counts))


@check("V1RUN-08")
def the_function_is_called_once_for_each_replica_at_most(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        calls: list[str] = []

        def fn(calls: list[str] = calls) -> Any:
            calls.append("called")
            return tf.constant(1.0)

        result = strategy.experimental_run(fn)

        count = strategy.num_replicas_in_sync
        world.true(1 <= len(calls) <= count, f"{len(calls)} calls lie between 1 and {count}")
        if isinstance(strategy, tf.compat.v1.distribute.MirroredStrategy):
            world.equal(count, len(calls), "calls of fn in eager execution")
        world.equal([1.0] * count, world.locals(strategy, result))


@check("V1RUN-09", needs=("data", "v1_iterators"))
def the_function_gets_the_next_value_as_it_is(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        table = np.arange(4 * count, dtype=np.float32)
        dataset = tf.data.Dataset.from_tensor_slices((table, {"label": table + 1})).batch(2 * count)
        iterator = strategy.make_dataset_iterator(dataset)
        iterator.initialize()
        given: list[Any] = []

        def fn(element: Any, given: list[Any] = given) -> Any:
            given.append(tf.nest.map_structure(world.array, element))
            return element[0]

        strategy.experimental_run(fn, iterator)

        pieces = [[2.0 * index, 2.0 * index + 1] for index in range(count)]
        expected = [(piece, {"label": [number + 1 for number in piece]}) for piece in pieces]
        world.equal(expected, given)
        world.true(all(isinstance(element, tuple) for element in given), "an element of two parts arrives as a tuple")
        with world.raises(TypeError):
            strategy.experimental_run(lambda x, y: x, iterator)


@check("V1RUN-10")
def the_function_returns_a_nest_of_tensors(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        result = strategy.experimental_run(lambda: {"one": tf.constant(1.0), "row": (tf.constant([2.0, 3.0]),)})

        world.equal(["one", "row"], sorted(result), "keys of the result")
        world.true(type(result["row"]) is tuple and len(result["row"]) == 1, "a tuple of one part stays one")
        world.equal([1.0] * count, world.locals(strategy, result["one"]))
        world.equal([[2.0, 3.0]] * count, world.locals(strategy, result["row"][0]))


@check("V1RUN-11")
def without_an_iterator_the_function_has_no_inputs(world: World) -> None:
    for strategy in world.each():
        given: list[int] = []

        def fn(*inputs: Any, given: list[int] = given) -> Any:
            given.append(len(inputs))
            return world.tf.constant(1.0)

        count = strategy.num_replicas_in_sync
        world.equal([1.0] * count, world.locals(strategy, strategy.experimental_run(fn)))
        world.equal([0] * len(given), given, "inputs of fn")


@check("V1RUN-12")
def the_merged_result_has_the_structure_of_one_result(world: World) -> None:
    tf = world.tf

    def fn() -> Any:
        own = tf.constant(10 * world.replica_id())
        return {"a": own, "b": [own + 1, own + 2]}

    for strategy in world.each():
        result = strategy.experimental_run(fn)

        world.same(dict, type(result))
        world.equal(["a", "b"], sorted(result), "keys of the result")
        world.same(list, type(result["b"]))
        world.equal(2, len(result["b"]), "parts of the list")
        ids = range(strategy.num_replicas_in_sync)
        for more, leaf in enumerate((result["a"], *result["b"])):
            world.equal([10 * index + more for index in ids], world.locals(strategy, leaf), "components of a leaf")


@check("V1RUN-13", replicas=(2, 3, 8))
def values_that_may_differ_are_per_replica(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        result = strategy.experimental_run(lambda: tf.constant(world.replica_id()))

        world.equal("PerReplica", type(result).__name__)
        world.true(isinstance(result, tf.distribute.DistributedValues), "the result is a DistributedValues")
        world.equal(list(range(world.replicas)), world.locals(strategy, result))


@check("V1RUN-14", replicas=(2, 3, 8))
def values_that_are_kept_in_sync_are_mirrored(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        with strategy.scope():
            v = tf.Variable(5.0)
        result = strategy.experimental_run(lambda v=v: {"state": v})["state"]

        world.same(v, result, "the merged leaf")
        world.true(type(result).__name__ != "PerReplica", "the leaf is no PerReplica")
        # Central storage has one copy, which all replicas share.
        copies = world.replicas if isinstance(strategy, tf.compat.v1.distribute.MirroredStrategy) else 1
        world.equal([5.0] * copies, world.locals(strategy, result))


@check("V1RUN-15", replicas=(1,))
def values_of_a_single_replica_are_tensors(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        result = strategy.experimental_run(lambda: {"a": tf.constant(2.0)})["a"]

        kind = type(tf.constant(0.0))
        world.true(isinstance(result, kind), f"a tensor, not a {type(result).__name__}")
        world.true(not isinstance(result, tf.distribute.DistributedValues), "a plain tensor")
        world.equal(2.0, result)


def _names_run(text: str) -> bool:
    """Tell whether a text names the method `run`, which is not `experimental_run`."""
    return re.search(r"\brun\b", text) is not None
