"""Checks of SCOPE: what has to be done inside a scope, and what may be done on either side."""

import tempfile
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from conformance.checks import check
from conformance.checks.scope import expect_homes, expect_plain, homes
from conformance.world import World


@check("SCOPE-19")
def models_optimizers_and_metrics_made_in_scope_are_distributed(world: World) -> None:
    for strategy in world.each():
        outside = made_by_libraries(world)
        with strategy.scope():
            inside = made_by_libraries(world)

        for variable in inside:
            expect_homes(world, strategy, variable)
        for variable in outside:
            expect_plain(world, strategy, variable)


@check("SCOPE-20", needs=("function",))
def weights_made_late_follow_the_scope_of_the_first_call(world: World) -> None:
    tf = world.tf

    class Layer(tf.Module):
        """Makes its weight when it is first called."""

        weight: Any = None

        def __call__(self, x: Any) -> Any:
            if self.weight is None:
                self.weight = tf.Variable(lambda: tf.ones([2]) * 3.0)
            return x * self.weight

    for strategy in world.each():
        with strategy.scope():
            called_outside = Layer()
        called_inside = Layer()
        world.equal([6.0, 6.0], called_outside(tf.constant(2.0)))
        with strategy.scope():
            world.equal([6.0, 6.0], called_inside(tf.constant(2.0)))

        expect_homes(world, strategy, called_inside.weight)
        expect_plain(world, strategy, called_outside.weight)

        # A function makes its variables when it is traced, so it is its first call that counts too.
        with strategy.scope():
            traced_outside, step_outside = traced_late(world)
        traced_inside, step_inside = traced_late(world)
        world.equal([6.0, 6.0], step_outside(tf.constant(2.0)))
        with strategy.scope():
            world.equal([6.0, 6.0], step_inside(tf.constant(2.0)))

        expect_homes(world, strategy, traced_inside[0])
        expect_plain(world, strategy, traced_outside[0])


def traced_late(world: World) -> tuple[list[Any], Any]:
    """Return a list, and a decorated function that puts a variable there when it is traced."""
    made: list[Any] = []

    @world.tf.function
    def step(x: Any) -> Any:
        if not made:
            made.append(world.tf.Variable([3.0, 3.0]))
        return x * made[0]

    return made, step


@check("SCOPE-21", needs=("checkpoint",))
def restored_variables_follow_the_scope_in_which_they_are_made(world: World) -> None:
    tf = world.tf
    with folder() as path:
        saved = tf.Module()
        saved.weight = tf.Variable([7.0, 8.0])
        checkpoint = tf.train.Checkpoint(model=saved).save(str(path / "saved"))
        for strategy in world.each():
            late_inside, late_outside, existing = tf.Module(), tf.Module(), tf.Module()
            with strategy.scope():
                existing.weight = tf.Variable([0.0, 0.0])
                tf.train.Checkpoint(model=late_inside).restore(checkpoint)
                late_inside.weight = tf.Variable([0.0, 0.0])
            tf.train.Checkpoint(model=late_outside).restore(checkpoint)
            late_outside.weight = tf.Variable([0.0, 0.0])
            tf.train.Checkpoint(model=existing).restore(checkpoint)

            expect_plain(world, strategy, late_outside.weight)
            world.equal([7.0, 8.0], late_outside.weight)
            for module in (late_inside, existing):
                expect_homes(world, strategy, module.weight)
                expected = [[7.0, 8.0]] * len(homes(world, strategy))
                world.equal(expected, world.locals(strategy, module.weight), "the copies after restore")


@check("SCOPE-22", needs=("keras",))
def variables_are_distributed_when_their_scope_is_active(world: World) -> None:
    tf = world.tf
    # To train takes long, so with other counts than two replicas one kind has to do.
    for strategy in world.each() if world.replicas == 2 else world.each("Mirrored"):
        with strategy.scope():
            directly = tf.Variable(1.0)
            model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
            model.compile(optimizer="sgd", loss="mse")
        in_run: list[Any] = []
        strategy.run(partial(keep_new_variable, world, in_run))
        size = 2 * strategy.num_replicas_in_sync
        model.fit(tf.ones([size, 3]), tf.ones([size, 1]), batch_size=size, verbose=0)
        kernel = model.trainable_variables[0]
        # Newer versions of Keras wrap the variables of their backend.
        by_fit = kernel if isinstance(kernel, tf.Variable) else kernel.value

        for variable in (directly, in_run[0], by_fit):
            expect_homes(world, strategy, variable)
            several = isinstance(variable, tf.distribute.DistributedValues)
            world.equal(isinstance(directly, tf.distribute.DistributedValues), several, "kind of the variable")
        expect_plain(world, strategy, tf.Variable(1.0))


@check("SCOPE-23", needs=("data",))
def calls_that_know_their_strategy_work_on_either_side(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        value = world.per_replica(strategy, [float(index + 1) for index in range(count)])
        dataset = tf.data.Dataset.range(2 * count).batch(count)

        def results(strategy: Any = strategy, value: Any = value, dataset: Any = dataset) -> list[Any]:
            squares = strategy.run(lambda x: x * x, args=(value,))
            batches = list(strategy.experimental_distribute_dataset(dataset))
            own = list(strategy.distribute_datasets_from_function(lambda _: dataset))
            # The v1 pages have no method that makes values from a function.
            make = getattr(strategy, "experimental_distribute_values_from_function", None)
            values = make(lambda context: tf.constant(context.replica_id_in_sync_group)) if make else value
            total = strategy.reduce("SUM", value, axis=None)
            return [[total], *(world.locals(strategy, each) for each in (squares, values, *batches, *own))]

        outside = results()
        with strategy.scope():
            inside = results()

        world.equal([[count * (count + 1) / 2], [float((i + 1) ** 2) for i in range(count)]], outside[:2])
        world.equal([[[first + index] for index in range(count)] for first in (0, count)], outside[3:5])
        world.equal(outside, inside)


@check("SCOPE-24", needs=("data",))
def datasets_may_be_made_on_either_side(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        outside = tf.data.Dataset.range(4 * count).batch(2 * count)
        with strategy.scope():
            inside = tf.data.Dataset.range(4 * count).batch(2 * count)

        starts = range(0, 4 * count, 2)
        expected = [[first, first + 1] for first in starts]
        for dataset in (inside, outside):
            batches = list(strategy.experimental_distribute_dataset(dataset))
            world.equal(2, len(batches), "number of batches")
            world.equal(expected, [part for batch in batches for part in world.locals(strategy, batch)])


@check("SCOPE-25", needs=("function",))
def functions_may_be_defined_on_either_side(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        value = world.per_replica(strategy, [float(index + 1) for index in range(count)])
        outside = define_step(world)
        with strategy.scope():
            inside = define_step(world)

        expected = [float((index + 1) ** 2 + count) for index in range(count)]
        for step in (inside, outside):
            world.equal(expected, world.locals(strategy, strategy.run(step, args=(value,))))


@check("SCOPE-26", needs=("checkpoint",))
def saving_works_on_either_side(world: World) -> None:
    tf = world.tf

    def save(module: Any, path: Path) -> None:
        tf.saved_model.save(module, str(path))

    for strategy, place in saved_on_either_side(world, save):
        loaded = tf.saved_model.load(str(place)).weight
        expect_plain(world, strategy, loaded)
        world.equal([7.0, 8.0], loaded, "the stored value")


@check("SCOPE-27", needs=("checkpoint",))
def loading_makes_the_variables_of_the_scope_it_is_done_in(world: World) -> None:
    tf = world.tf
    with folder() as path:
        module = tf.Module()
        module.weight = tf.Variable([7.0, 8.0])
        tf.saved_model.save(module, str(path / "saved"))
        for strategy in world.each():
            with strategy.scope():
                inside = tf.saved_model.load(str(path / "saved")).weight
            outside = tf.saved_model.load(str(path / "saved")).weight

            expect_homes(world, strategy, inside)
            world.equal([[7.0, 8.0]] * len(homes(world, strategy)), world.locals(strategy, inside))
            expect_plain(world, strategy, outside)
            world.equal([7.0, 8.0], outside)


@check("SCOPE-28", needs=("checkpoint",))
def checkpoints_can_be_written_on_either_side(world: World) -> None:
    tf = world.tf
    paths: dict[Path, str] = {}

    def save(module: Any, path: Path) -> None:
        paths[path] = tf.train.Checkpoint(v=module.weight).save(str(path / "saved"))

    for strategy, place in saved_on_either_side(world, save):
        with strategy.scope():
            distributed = tf.Variable([0.0, 0.0])
        for variable in (distributed, tf.Variable([0.0, 0.0])):
            tf.train.Checkpoint(v=variable).restore(paths[place])
            world.equal([7.0, 8.0], variable, "the restored value")


def saved_on_either_side(world: World, save: Callable[[Any, Path], None]) -> Generator[tuple[Any, Path]]:
    """Save a module with a distributed variable inside and outside the scope, and yield strategy and place of each."""
    with folder() as path:
        for number, strategy in enumerate(world.each()):
            module = world.tf.Module()
            with strategy.scope():
                module.weight = world.tf.Variable([1.0, 2.0])
            module.weight.assign([7.0, 8.0])
            sides: dict[str, AbstractContextManager[Any]] = {"inside": strategy.scope(), "outside": nullcontext()}
            for side, manager in sides.items():
                place = path / f"{number}_{side}"
                with manager:
                    save(module, place)
                yield strategy, place


def made_by_libraries(world: World) -> list[Any]:
    """Make the variables of a small model, of an optimizer's slots and of a metric, as libraries do."""
    tf = world.tf
    model = tf.Module()
    model.kernel, model.bias = tf.Variable(tf.ones([2, 1])), tf.Variable([0.0])
    weights = [model.kernel, model.bias]
    slots = [tf.Variable(tf.zeros(weight.shape), trainable=False) for weight in weights]
    total = tf.Variable(
        0.0,
        trainable=False,
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.SUM,
    )
    return [*weights, *slots, total]


def define_step(world: World) -> Any:
    """Define a function to be traced, as a training loop does."""

    @world.tf.function
    def step(x: Any) -> Any:
        return x * x + world.tf.distribute.get_replica_context().num_replicas_in_sync

    return step


def keep_new_variable(world: World, kept: list[Any]) -> None:
    """Make a variable, and keep it after the step."""
    kept.append(world.tf.Variable(1.0))


@contextmanager
def folder() -> Generator[Path]:
    """Make a folder that is gone after the block."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)
