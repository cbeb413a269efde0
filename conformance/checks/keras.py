"""Checks of Keras: what its models do by themselves when they were made in the scope of a strategy."""

from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import numpy as np

from conformance.checks import check
from conformance.checks.scope import expect_homes, expect_plain
from conformance.checks.scope_sides import folder
from conformance.world import World

RATE = 0.1


@check("KERAS-01", needs=("data", "keras"))
def fit_distributes_computation_and_data_by_itself(world: World) -> None:
    tf = world.tf

    class Seen(tf.keras.metrics.Metric):
        """Adds up what a replica cannot know of other replicas: the squares of its number of rows, and of their sum."""

        def __init__(self) -> None:
            super().__init__(name="seen")
            self.rows = self.add_weight(shape=(2,), initializer="zeros", name="rows")

        def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
            row = tf.keras.ops.ones_like(y_true)
            sums = [tf.keras.ops.sum(part) for part in (row, y_true)]
            self.rows.assign(self.rows + tf.keras.ops.square(tf.keras.ops.stack(sums)))

        def result(self) -> Any:
            return {"counts": self.rows[0], "sums": self.rows[1]}

    for strategy in fitted(world):
        count = strategy.num_replicas_in_sync
        x = np.arange(1, 2 * count + 1, dtype=np.float32).reshape(-1, 1) / count
        y = x * x
        with strategy.scope():
            model = toy_model(world, metrics=[Seen()])
        history = model.fit(tf.data.Dataset.from_tensor_slices((x, y)).batch(2 * count), epochs=1, verbose=0).history

        one_device = 1.0 - RATE * np.mean(2.0 * (x - y) * x)
        if count <= 3:
            world.close(one_device, manual_step(world, strategy, x, y), "the weight after a step of the manual loop")
        world.close([[one_device]], model.get_weights()[0], "the weight after a step of fit")
        world.close([4.0 * count], history["counts"], "the sum of the squares of the rows that each replica sees")
        pairs = y.reshape(count, 2).sum(1)
        world.close([np.sum(pairs**2)], history["sums"], "the sum of the squares of what each replica sees")


@check("KERAS-02", needs=("keras",))
def a_model_remembers_the_strategy_in_whose_scope_it_was_made(world: World) -> None:
    tf = world.tf

    class Own(tf.keras.Model):
        """A model that is written as a class."""

    def made() -> list[Any]:
        given = tf.keras.Input((1,))
        functional = tf.keras.Model(given, tf.keras.layers.Dense(1)(given))
        return [Own(), functional, tf.keras.Sequential([tf.keras.layers.Dense(1)])]

    for strategy in world.each():
        default = tf.distribute.get_strategy()
        with strategy.scope():
            inside = made()
        for model in inside:
            world.same(strategy, model.distribute_strategy, "the strategy of a model made in the scope")
        for model in made():
            world.same(default, model.distribute_strategy, "the strategy of a model made outside")


@check("KERAS-03", needs=("keras",))
def compile_and_fit_enter_the_scope_that_the_model_was_made_in(world: World) -> None:
    tf = world.tf
    for strategy in fitted(world, "OneDevice", "Mirrored", "CentralStorage"):
        seen: list[Any] = []
        with strategy.scope():
            model = tf.keras.Sequential([watching_layer(world, seen), tf.keras.layers.Dense(1)])
        model.compile(optimizer="adam", loss="mse")
        size = 2 * strategy.num_replicas_in_sync
        model.fit(np.ones([size, 3], np.float32), np.ones([size, 1], np.float32), batch_size=size, verbose=0)

        in_steps = [(current, crossed) for current, crossed, training in seen if training]
        world.true(len(in_steps) > 0, "the layer is called in a training step")
        for current, crossed in in_steps:
            world.same(strategy, current, "the current strategy in a training step")
            world.equal(False, crossed, "cross-replica context in a training step")
        slots = [variable for variable in model.optimizer.variables if tuple(variable.shape) == (3, 1)]
        world.equal(2, len(slots), "number of slots of the kernel")
        for variable in (*slots, *model.trainable_variables):
            expect_homes(world, strategy, held(world, variable))
        world.same(tf.distribute.get_strategy(), default_of(world), "the current strategy afterwards")


@check("KERAS-04", replicas=(1, 2), needs=("keras",))
def compile_fit_evaluate_predict_and_save_work_on_either_side(world: World) -> None:
    for strategy in fitted(world, "Mirrored"):
        size = 2 * strategy.num_replicas_in_sync
        x = np.arange(3 * size, dtype=np.float32).reshape(size, 3) / size
        y = x.sum(1, keepdims=True)
        sides: list[AbstractContextManager[Any]] = [nullcontext(), strategy.scope()]
        outside, inside = (worked(world, strategy, side, x, y) for side in sides)

        world.equal(outside.keys(), inside.keys())
        for name, value in outside.items():
            world.close(value, inside[name], name)
        world.true(outside["loss"][1] < outside["loss"][0], "the loss falls")
        world.equal((size, 1), np.shape(outside["predict"]), "shape of the predictions")
        world.close(outside["predict"], outside["loaded"], "the predictions of the saved model")


@check("KERAS-05", needs=("keras",))
def calling_a_model_neither_enters_its_scope_nor_distributes(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        seen: list[Any] = []
        with strategy.scope():
            late = tf.keras.Sequential(
                [watching_layer(world, seen), tf.keras.layers.Dense(1, kernel_initializer="ones", use_bias=False)]
            )
        seen.clear()
        result = late(tf.constant([[1.0, 2.0], [3.0, 4.0]]))

        world.true(not isinstance(result, tf.distribute.DistributedValues), "the result is one tensor")
        world.equal([[3.0], [7.0]], result)
        world.true(len(seen) > 0, "the layer is called")
        for current, crossed, _ in seen:
            world.same(default_of(world), current, "the current strategy during the call")
            world.equal(False, crossed, "cross-replica context during the call")
        expect_plain(world, strategy, held(world, late.trainable_variables[0]))
        seen.clear()
        late(tf.constant([[1.0, 2.0]]))
        world.equal(1, len(seen), "calls of the layer in a forward pass")


@check("KERAS-06", needs=("keras",))
def metrics_accumulate_over_steps_and_replicas(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        with strategy.scope():
            mean, accuracy = tf.keras.metrics.Mean(), tf.keras.metrics.BinaryAccuracy()
        for step in (0, 1):
            values = [1.0 + 2.0 * (step * count + index) for index in range(count)]
            strategy.run(partial(updated, mean), args=(world.per_replica(strategy, values),))

        world.equal(2.0 * count, mean.result(), "the mean of 1, 3, 5 and so on")
        mean.reset_state()
        strategy.run(partial(updated, mean), args=(world.per_replica(strategy, [7.0] * count),))
        world.equal(7.0, mean.result(), "the mean after a reset")
        guesses = [[1.0, 1.0], *[[1.0, 0.0]] * (count - 1)]
        truth = world.per_replica(strategy, [[1.0, 0.0]] * count)
        strategy.run(partial(updated, accuracy), args=(truth, world.per_replica(strategy, guesses)))
        world.close(1.0 - 0.5 / count, accuracy.result(), "the accuracy of one wrong guess on the first replica")


@check("KERAS-07", needs=("keras",))
def an_estimator_can_be_told_its_strategy(world: World) -> None:
    for strategy in world.each():
        config = world.tf.estimator.RunConfig(train_distribute=strategy)

        world.same(strategy, config.train_distribute)


def fitted(world: World, *kinds: str) -> Any:
    """Return the strategies to train with: several on two replicas, elsewhere one, because training takes long."""
    several = kinds or ("Default", "OneDevice", "Mirrored", "CentralStorage", "TPU")
    return world.each(*several) if world.replicas == 2 else world.each("Mirrored")


def default_of(world: World) -> Any:
    """Return the strategy that is current outside all scopes."""
    return world.tf.distribute.get_strategy()


def held(world: World, variable: Any) -> Any:
    """Return the variable of the API that a variable of Keras is, or is held by."""
    return variable if isinstance(variable, world.tf.Variable) else variable.value


def updated(metric: Any, *values: Any) -> None:
    """Let a metric take a value, or the truth and a guess."""
    metric.update_state(*values)


def toy_model(world: World, metrics: Any = None) -> Any:
    """Make and compile a model of one weight, which starts at 1."""
    tf = world.tf
    model = tf.keras.Sequential(
        [tf.keras.Input((1,)), tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")]
    )
    model.compile(optimizer=tf.keras.optimizers.SGD(RATE), loss="mse", metrics=metrics)
    return model


def manual_step(world: World, strategy: Any, x: Any, y: Any) -> Any:
    """Take the same step as the toy model in a loop of our own, and return the weight."""
    tf = world.tf
    with strategy.scope():
        weight = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)

    def step(x: Any, y: Any) -> None:
        gradient = tf.reduce_sum(2.0 * (x * weight - y) * x) / size
        weight.assign_sub(RATE * tf.distribute.get_replica_context().all_reduce("SUM", gradient))

    size = len(x)
    pieces = [world.per_replica(strategy, np.split(part, strategy.num_replicas_in_sync)) for part in (x, y)]
    strategy.run(step, args=tuple(pieces))
    return weight


def watching_layer(world: World, seen: list[Any]) -> Any:
    """Make a layer that notes in whose scope it is called, in which context, and whether for training."""
    tf = world.tf

    class Watching(tf.keras.layers.Layer):
        def call(self, inputs: Any, training: Any = None) -> Any:
            seen.append((tf.distribute.get_strategy(), bool(tf.distribute.in_cross_replica_context()), bool(training)))
            return inputs

    return Watching()


def worked(world: World, strategy: Any, side: AbstractContextManager[Any], x: Any, y: Any) -> dict[str, Any]:
    """Make a model in the scope, do everything with it on one side, and return all numbers."""
    tf = world.tf
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_initializer="ones")])
    with side, folder() as path:
        model.compile(optimizer="sgd", loss="mse")
        losses = model.fit(x, y + 1.0, batch_size=len(x), epochs=2, verbose=0).history["loss"]
        loss = model.evaluate(x, y, batch_size=len(x), verbose=0)
        predictions = model.predict(x, batch_size=len(x), verbose=0)
        model.save(str(path / "model.keras"))
        loaded = tf.keras.models.load_model(str(path / "model.keras"))
        return {
            "loss": losses,
            "evaluate": loss,
            "predict": predictions,
            "weights": model.get_weights(),
            "loaded": np.asarray(loaded(x)),
        }
