"""Checks of SCOPE: what entering a strategy's scope does, and what it leaves alone."""

import threading
from functools import partial
from typing import Any

from conformance.checks import check
from conformance.world import World


@check("SCOPE-01")
def scope_is_a_context_manager_without_arguments(world: World) -> None:
    get_strategy = world.tf.distribute.get_strategy
    for strategy in world.each():
        world.signature(strategy.scope, [])
        before = get_strategy()
        manager = strategy.scope()
        world.same(before, get_strategy(), "the strategy after scope() without with")
        with manager:
            world.same(strategy, get_strategy())
        for name in ("__enter__", "__exit__"):
            world.true(callable(getattr(manager, name, None)), f"what scope() returns has {name}")


@check("SCOPE-02")
def the_strategy_is_current_in_its_scope(world: World) -> None:
    for strategy in world.each():
        with strategy.scope():
            world.same(strategy, world.tf.distribute.get_strategy())


@check("SCOPE-03")
def the_default_strategy_is_current_outside_all_scopes(world: World) -> None:
    get_strategy = world.tf.distribute.get_strategy
    for strategy in world.each():
        # It belongs to the machine, and a strategy may need a machine of its own.
        default = get_strategy()
        world.equal(1, default.num_replicas_in_sync)
        world.same(default, get_strategy(), "before the scope")
        with strategy.scope():
            pass
        world.same(default, get_strategy(), "after the scope")
        try:
            with strategy.scope():
                raise KeyError("an error of the user")
        except KeyError:
            pass
        world.same(default, get_strategy(), "after an error in the scope")


@check("SCOPE-04")
def code_called_from_the_scope_sees_the_strategy(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        default = run_in_thread(tf.distribute.get_strategy)
        waiting = (tf.distribute.get_strategy() for _ in range(1))
        with strategy.scope():
            seen = [library_code(world), *waiting]
            other_module = tf.compat.v1.distribute.get_strategy()
            in_thread = run_in_thread(tf.distribute.get_strategy)

        for found in (*seen, other_module):
            world.same(strategy, found, "the strategy that other code sees")
        # "Global" may or may not include threads started in the block; there is no third possibility.
        world.true(in_thread is strategy or in_thread is default, "a thread sees the strategy or the default one")


@check("SCOPE-05")
def the_scope_is_that_of_the_entering_thread(world: World) -> None:
    tf = world.tf
    default = tf.distribute.get_strategy()
    for strategy in world.each():
        entered, found = threading.Event(), list[Any]()

        def look(entered: threading.Event = entered, found: list[Any] = found) -> None:
            entered.wait(timeout=10)
            found.append((tf.distribute.get_strategy(), tf.Variable(1.0)))

        earlier = threading.Thread(target=look)
        earlier.start()
        with strategy.scope():
            own = tf.Variable(1.0)
            entered.set()
            earlier.join()
            run_in_thread(look)

        expect_homes(world, strategy, own)
        world.equal(2, len(found), "threads that have looked")
        for current, other in found:
            world.same(default, current, "the strategy that another thread sees")
            expect_plain(world, strategy, other)


@check("SCOPE-06")
def the_scope_is_in_cross_replica_context(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        value = world.per_replica(strategy, [float(index) for index in range(count)])
        with strategy.scope():
            world.same(None, tf.distribute.get_replica_context(), "get_replica_context() in the scope")
            world.true(tf.distribute.in_cross_replica_context(), "in_cross_replica_context() in the scope")
            total = strategy.extended.reduce_to(tf.distribute.ReduceOp.SUM, value, destinations="CPU:0")
        world.equal([count * (count - 1) / 2], world.locals(strategy, total))


@check("SCOPE-07")
def the_strategy_decides_where_a_variable_lives(world: World) -> None:
    for strategy in world.each():
        with strategy.scope():
            variable = world.tf.Variable(1.0)

        expect_homes(world, strategy, variable)
        world.true(isinstance(variable, world.tf.Variable), "what was made is a tf.Variable")
        world.equal(1.0, variable)


@check("SCOPE-08")
def a_creator_inside_the_scope_leads_to_that_of_the_strategy(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        made: list[Any] = []

        def creator(next_creator: Any, made: list[Any] = made, **kwargs: Any) -> Any:
            made.append(next_creator(**{**kwargs, "initial_value": 5.0}))
            return made[-1]

        with strategy.scope(), tf.variable_creator_scope(creator):
            variable = tf.Variable(1.0)

        world.equal(1, len(made), "calls of the user's creator")
        world.same(made[0], variable, "what the strategy's creator made")
        world.equal(5.0, variable, "the value that the user's creator asked for")
        expect_homes(world, strategy, variable)


@check("SCOPE-09")
def synchronous_strategies_make_one_copy_for_every_replica(world: World) -> None:
    for strategy in world.each():
        with strategy.scope():
            variable = world.tf.Variable([1.0, 2.0])
        copies = strategy.experimental_local_results(variable)

        world.equal(world.replicas, len(copies), "number of copies")
        world.equal(list(strategy.extended.worker_devices), [world.device(copy) for copy in copies])
        world.equal(world.replica_devices(strategy), [world.device(copy) for copy in copies])
        world.equal([[1.0, 2.0]] * world.replicas, world.locals(strategy, variable))


@check("SCOPE-10", replicas=(1,), needs=("parameter_server",))
def parameter_servers_hold_the_variables(world: World) -> None:
    for strategy in world.each():
        with strategy.scope():
            variable = world.tf.Variable(1.0)

        world.true("/job:ps/" in world.device(variable), "the variable lives on a parameter server")
        world.equal(1, len(strategy.experimental_local_results(variable)), "number of copies")


@check("SCOPE-11", replicas=(1, 2), needs=("multi_worker",))
def multi_worker_scopes_enter_the_device_scope_of_the_workers_cpu(world: World) -> None:
    def program(strategy: Any, _: int) -> str:
        with strategy.scope():
            return world.device(world.tf.constant(1.0))

    for index, device in enumerate(world.workers(2, program, replicas=world.replicas)):
        world.equal(f"/job:worker/replica:0/task:{index}/device:CPU:0", device, "device of a new tensor in the scope")
    # It is no promise of every strategy: others leave the current device alone.
    for strategy in world.each("Mirrored"):
        for name in ("CPU:0", world.names()[-1]):
            with world.tf.device(name), strategy.scope():
                world.equal(
                    world.full(name), world.device(world.tf.constant(1.0)), "device of a new tensor, as around it"
                )


@check("SCOPE-12")
def a_scope_alone_distributes_no_computation(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        calls: list[Any] = []
        with strategy.scope():
            result = counted_constant(world, calls)
            world.true(not isinstance(result, tf.distribute.DistributedValues), "the result is a plain tensor")
            doubled = result * 2.0

        world.equal(1, len(calls), "calls of the function")
        for expected, tensor in ((7.0, result), (14.0, doubled)):
            world.equal([expected], world.locals(strategy, tensor), "local results")


@check("SCOPE-13")
def run_carries_out_a_computation_on_all_replicas(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        calls: list[Any] = []
        with strategy.scope():
            result = strategy.run(partial(counted_constant, world, calls))

        world.equal(count, len(calls), "calls of the function")
        world.equal([7.0] * count, world.locals(strategy, result))


@check("SCOPE-14")
def variables_made_outside_are_plain(world: World) -> None:
    tf = world.tf
    before = tf.Variable(1.0)
    for strategy in world.each():
        with strategy.scope():
            tf.Variable(1.0)
        after = tf.Variable(1.0)

        for variable in (before, after):
            expect_plain(world, strategy, variable)
            world.true(type(before) is type(variable), "all variables made outside have one class")
            read = strategy.run(variable.read_value)
            world.equal([1.0] * strategy.num_replicas_in_sync, world.locals(strategy, read), "read by the replicas")


@check("SCOPE-15")
def run_distributes_the_variables_that_its_function_makes(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        made: dict[int, Any] = {}
        current: list[Any] = []

        def step(made: dict[int, Any] = made, current: list[Any] = current) -> Any:
            current.append(tf.distribute.get_strategy())
            replica = world.replica_id()
            if replica not in made:
                made[replica] = tf.Variable(3.0)
            return made[replica].read_value()

        for _ in range(2):
            world.equal([3.0] * strategy.num_replicas_in_sync, world.locals(strategy, strategy.run(step)))
        for found in current:
            world.same(strategy, found, "the strategy that the function sees")
        for variable in made.values():
            world.same(made[0], variable, "the variable that another replica got")
        expect_homes(world, strategy, made[0])


@check("SCOPE-16")
def reduce_needs_no_scope(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        default = tf.distribute.get_strategy()
        count = strategy.num_replicas_in_sync
        value = world.per_replica(strategy, [float(index + 1) for index in range(count)])
        outside = strategy.reduce("SUM", value, axis=None)
        world.same(default, tf.distribute.get_strategy(), "the strategy after reduce")
        with strategy.scope():
            inside = strategy.reduce("SUM", value, axis=None)

        world.equal(count * (count + 1) / 2, outside)
        world.equal(inside, outside)


@check("SCOPE-17")
def scoped_variables_can_be_read_outside(world: World) -> None:
    for strategy in world.each():
        with strategy.scope():
            variable = world.tf.Variable(1.0)

        world.equal(1.0, variable)
        world.equal(1.0, variable.read_value())
        world.equal(2.0, variable + 1.0)


@check("SCOPE-18", uses=("multi_worker",))
def scoped_variables_can_be_written_outside(world: World) -> None:
    def program(strategy: Any, _: int) -> Any:
        with strategy.scope():
            variable = world.tf.Variable(1.0)
        variable.assign(5.0)
        variable.assign_add(1.0)
        return world.locals(strategy, variable), world.locals(strategy, strategy.run(variable.read_value))

    for index, found in enumerate(world.on_two_workers(program)):
        world.equal([[6.0] * world.replicas] * 2, found, f"the copies on worker {index}, and what its replicas read")
    for strategy in world.each():
        with strategy.scope():
            variable = world.tf.Variable(1.0)
        copies = len(homes(world, strategy))

        variable.assign(5.0)
        world.equal([5.0] * copies, world.locals(strategy, variable), "after assign")
        variable.assign_add(1.0)
        world.equal([6.0] * copies, world.locals(strategy, variable), "after assign_add")
        read = strategy.run(variable.read_value)
        world.equal([6.0] * strategy.num_replicas_in_sync, world.locals(strategy, read), "read by the replicas")


@check("SCOPE-29")
def a_scope_can_be_entered_again(world: World) -> None:
    get_strategy = world.tf.distribute.get_strategy
    for strategy in world.each():
        default = get_strategy()
        count = strategy.num_replicas_in_sync
        with strategy.scope():
            value = world.per_replica(strategy, [1.0] * count)
            world.same(strategy, get_strategy(), "after run in the scope")
            world.equal(float(count), strategy.reduce("SUM", value, axis=None))
            world.same(strategy, get_strategy(), "after reduce in the scope")
            with strategy.scope():
                world.same(strategy, get_strategy(), "in the inner scope")
            world.same(strategy, get_strategy(), "after the inner scope")
            variable = world.tf.Variable(1.0)
        world.same(default, get_strategy(), "after the outer scope")
        expect_homes(world, strategy, variable)


def homes(world: World, strategy: Any) -> list[str]:
    """Return the devices on which a strategy has to keep the copies of a variable."""
    if world.is_a(strategy, "MirroredStrategy", "MultiWorkerMirroredStrategy", "TPUStrategy"):
        return world.replica_devices(strategy)
    if world.is_a(strategy, "OneDeviceStrategy"):
        return [world.full(name) for name in world.names(1)]
    return [world.full("CPU:0")]


def expect_homes(world: World, strategy: Any, variable: Any) -> None:
    """Expect a variable to be one that the strategy made, with its copies where they belong."""
    devices = [world.device(copy) for copy in strategy.experimental_local_results(variable)]
    if isinstance(strategy, getattr(world.tf.distribute, "ParameterServerStrategy", ())):
        world.true(len(devices) == 1 and "/job:ps/" in devices[0], "the variable has one copy, on a parameter server")
    else:
        world.equal(homes(world, strategy), devices, "devices of the copies")
    if not is_default(world, strategy):
        world.true(strategy.extended.variable_created_in_scope(variable), "the variable is one of the strategy's")


def expect_plain(world: World, strategy: Any, variable: Any) -> None:
    """Expect a variable to be an ordinary one, which no strategy made."""
    distributed = isinstance(variable, world.tf.distribute.DistributedValues)
    world.true(isinstance(variable, world.tf.Variable) and not distributed, "the variable is an ordinary one")
    (only,) = strategy.experimental_local_results(variable)
    world.same(variable, only, "the only local result")
    if not is_default(world, strategy):
        world.true(not strategy.extended.variable_created_in_scope(variable), "the variable is not the strategy's")


def is_default(world: World, strategy: Any) -> bool:
    """Tell, outside all scopes, whether this is the default strategy, to which all variables there may belong."""
    return world.tf.distribute.get_strategy() is strategy


def library_code(world: World) -> Any:
    """Look at the current strategy without having been told it."""
    return world.tf.distribute.get_strategy()


def counted_constant(world: World, calls: list[Any]) -> Any:
    """Compute something, and leave a mark."""
    calls.append(None)
    return world.tf.constant(7.0)


def run_in_thread(function: Any) -> Any:
    """Call a function in a thread of its own, and return its result."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]
