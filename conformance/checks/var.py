"""Variables made in the scope of a strategy: their kind, their copies, their names and how they print."""

import contextlib
import io
from typing import Any

import numpy as np

from conformance.checks import check
from conformance.checks.scope import expect_homes, is_default
from conformance.world import World

PLAIN_TEXT = "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=1.0>"
"""What the pages print for `tf.Variable(1.)`."""


@check("VAR-01")
def a_variable_under_mirrored_is_a_mirrored_variable(world: World) -> None:
    for strategy in world.each():
        with strategy.scope():
            variable = world.tf.Variable(1.0)

        world.equal("MirroredVariable", type(variable).__name__)
        world.true(isinstance(variable, world.tf.distribute.DistributedValues), "a distributed value")
        world.true(isinstance(variable, world.tf.Variable), "a variable")


@check("VAR-02", uses=("multi_worker",))
def every_replica_has_a_copy_of_the_same_initial_value(world: World) -> None:
    def program(strategy: Any, index: int) -> Any:
        with strategy.scope():
            variable = world.tf.Variable([float(index), 5.0])
        return world.locals(strategy, variable)

    copies = [copy for own in world.on_two_workers(program) for copy in own]
    world.equal(copies[:1] * len(copies), copies, "the copies on two workers that ask for different values")
    generator = np.random.default_rng(seed=7)
    for strategy in world.each():
        with strategy.scope():
            constant = world.tf.Variable(1.0)
            random = world.tf.Variable(lambda: world.tf.constant(float(generator.random())))

        count = strategy.num_replicas_in_sync
        world.equal([1.0] * count, world.locals(strategy, constant))
        drawn = world.locals(strategy, random)
        world.equal([drawn[0]] * count, drawn)
        devices = [world.device(copy) for copy in strategy.experimental_local_results(constant)]
        world.equal(world.replica_devices(strategy), devices)


@check("VAR-03")
def copies_are_kept_in_sync_by_an_all_reduce(world: World) -> None:
    reductions: list[str] = []

    class Recording(world.tf.distribute.ReductionToOneDevice):
        def reduce_implementation(self, *args: Any, **kwargs: Any) -> Any:
            reductions.append("reduce")
            return super().reduce_implementation(*args, **kwargs)

        def batch_reduce_implementation(self, *args: Any, **kwargs: Any) -> Any:
            reductions.append("batch_reduce")
            return super().batch_reduce_implementation(*args, **kwargs)

    own_ops = [
        world.tf.distribute.MirroredStrategy(world.names(), cross_device_ops=Recording()),
        world.tf.compat.v1.distribute.MirroredStrategy(world.names(), cross_device_ops=Recording()),
    ]
    for strategy in [*world.each(), *own_ops]:
        with strategy.scope():
            explicit = world.tf.Variable(1.0)
            aggregating = world.tf.Variable(1.0, aggregation=world.tf.VariableAggregation.SUM)
        before = len(reductions)

        def step(explicit: Any = explicit, aggregating: Any = aggregating) -> None:
            contribution = world.tf.constant(world.replica_id() + 1.0)
            total = world.tf.distribute.get_replica_context().all_reduce("SUM", contribution)
            explicit.assign_add(total)
            aggregating.assign_add(contribution)

        strategy.run(step)
        count = strategy.num_replicas_in_sync
        expected = [1.0 + count * (count + 1) / 2] * count
        world.equal(expected, world.locals(strategy, explicit), "after all_reduce and assign_add")
        world.equal(expected, world.locals(strategy, aggregating), "after assign_add with aggregation SUM")
        if strategy in own_ops and count > 1:
            world.true(len(reductions) > before, "reductions through the given cross-device ops")


@check("VAR-04", replicas=(1,))
def one_copy_prints_as_a_block_indented_by_two(world: World) -> None:
    for strategy in world.each():
        with strategy.scope():
            inside = world.tf.Variable(1.0)
        outside = world.tf.Variable(1.0)

        world.equal(f"MirroredVariable:{{\n  0: {PLAIN_TEXT}\n}}", world.text(inside))
        world.equal(PLAIN_TEXT, world.text(outside))


@check("VAR-05", replicas=(1,))
def one_copy_prints_as_a_block_whatever_its_spacing(world: World) -> None:
    for strategy in world.each():
        with strategy.scope():
            variable = world.tf.Variable(1.0)

        # The spacing of this page is another one than on the others, so any is accepted.
        world.equal(_words(f"MirroredVariable:{{ 0: {PLAIN_TEXT} }}"), _words(world.text(variable)))


@check("VAR-06", replicas=(2,))
def two_copies_print_as_a_numbered_block(world: World) -> None:
    second = PLAIN_TEXT.replace("Variable:0", "Variable/replica_1:0")
    for strategy in world.each():
        with strategy.scope():
            inside = world.tf.Variable(1.0)
        outside = world.tf.Variable(1.0)

        world.equal(f"MirroredVariable:{{\n  0: {PLAIN_TEXT},\n  1: {second}\n}}", world.text(inside))
        world.equal(PLAIN_TEXT, world.text(outside))


@check("VAR-07")
def copies_are_named_by_their_replica(world: World) -> None:
    for strategy in world.each():
        with strategy.scope():
            variables = {"Variable": world.tf.Variable(1.0), "w": world.tf.Variable(1.0, name="w")}

        for base, variable in variables.items():
            others = [f"{base}/replica_{index}:0" for index in range(1, strategy.num_replicas_in_sync)]
            names = [copy.name for copy in strategy.experimental_local_results(variable)]
            world.equal([f"{base}:0", *others], names)


@check("VAR-08")
def a_plain_variable_prints_name_shape_dtype_and_value(world: World) -> None:
    for strategy in world.each():
        with strategy.scope():
            # It has the default name too; the name of the next one stays the same all the same.
            world.tf.Variable(1.0)

        world.equal(PLAIN_TEXT, world.text(world.tf.Variable(1.0)))
        vector = world.text(world.tf.Variable([1.0, 2.0], name="w"))
        world.equal("<tf.Variable 'w:0' shape=(2,) dtype=float32, numpy=array([1., 2.], dtype=float32)>", vector)


@check("VAR-09")
def a_python_float_makes_a_float32_scalar(world: World) -> None:
    for strategy in world.each():
        with strategy.scope():
            scoped = world.tf.Variable(1.0)

        for variable in world.tf.Variable(1.0), scoped, *strategy.experimental_local_results(scoped):
            world.equal((), tuple(variable.shape))
            world.true(variable.dtype == world.tf.float32, f"float32, not {variable.dtype}")
            world.equal(1.0, variable)


@check("VAR-10", needs=("function",))
def a_variable_made_in_a_function_is_a_mirrored_variable(world: World) -> None:
    for strategy in world.each():
        made: list[Any] = []
        with strategy.scope():
            _guarded_creation(world, made)()

        world.equal("MirroredVariable", type(made[0]).__name__)
        world.equal([1.0] * strategy.num_replicas_in_sync, world.locals(strategy, made[0]))


@check("VAR-11", needs=("function",))
def guarded_creation_in_a_function_happens_once_and_prints_alike(world: World) -> None:
    for strategy in world.each():
        made: list[Any] = []
        create_variable = _guarded_creation(world, made)
        printed = io.StringIO()
        with strategy.scope():
            direct = world.tf.Variable(1.0)
            create_variable()
            create_variable()
            with contextlib.redirect_stdout(printed):
                print(made[0])

        world.equal(1, len(made))
        world.equal(_words(world.text(direct)), _words(printed.getvalue()))
        world.equal(world.text(made[0]), str(made[0]))
        if strategy.num_replicas_in_sync == 1:
            world.equal(_words(f"MirroredVariable:{{ 0: {PLAIN_TEXT} }}"), _words(printed.getvalue()))


@check("VAR-12")
def a_variable_made_in_a_replica_follows_the_strategy(world: World) -> None:
    for strategy in world.each():
        for variable in _made_in_replicas(world, strategy):
            expect_homes(world, strategy, variable)
            if world.is_a(strategy, "MirroredStrategy"):
                world.equal("MirroredVariable", type(variable).__name__)
            if is_default(world, strategy):
                world.equal(type(world.tf.Variable(1.0)).__name__, type(variable).__name__)


@check("VAR-13")
def partitioned_variables_are_refused(world: World) -> None:
    for strategy in world.each():
        partitioner = world.tf.compat.v1.fixed_size_partitioner(2)
        with strategy.scope():
            whole = world.tf.compat.v1.get_variable("whole", shape=(4,))
            with world.raises():
                world.tf.compat.v1.get_variable("parts", shape=(4,), partitioner=partitioner)

        world.equal((4,), tuple(whole.shape))


def _made_in_replicas(world: World, strategy: Any) -> list[Any]:
    """Return a variable that the first replica made for all, and what each replica made for itself."""
    once: list[Any] = []
    always: list[Any] = []

    def guarded() -> Any:
        if not once:
            once.append(world.tf.Variable(1.0))
        return once[0].read_value()

    def unguarded() -> Any:
        always.append(world.tf.Variable(2.0))
        return always[-1].read_value()

    count = strategy.num_replicas_in_sync
    world.equal([1.0] * count, world.locals(strategy, strategy.run(guarded)))
    world.equal([2.0] * count, world.locals(strategy, strategy.run(unguarded)))
    return [*once, *always]


def _guarded_creation(world: World, made: list[Any]) -> Any:
    """Do as the decorated function of the documented example."""

    @world.tf.function
    def create_variable() -> None:
        if not made:
            made.append(world.tf.Variable(1.0))

    return create_variable


def _words(text: str) -> str:
    """Return a text with every stretch of white space as one blank."""
    return " ".join(text.split())
