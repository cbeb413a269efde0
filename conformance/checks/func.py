"""Checks of `tf.function`: decorated functions on replicas, what is traced, and the signatures that data gives them."""

from typing import Any

from conformance.checks import check
from conformance.checks.run_examples import doubled_replica_count, sum_of_replica_ids
from conformance.world import World

STEPS = 3


@check("FUNC-01", needs=("function",))
def a_decorated_function_runs_on_replicas_as_the_undecorated_one_does(world: World) -> None:
    tf = world.tf

    def step(x: Any, *, factor: Any) -> Any:
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return {"mixed": (x * factor + tf.cast(number, tf.float32),), "same": x, "nothing": None}

    @tf.function
    def decorated(x: Any, *, factor: Any) -> Any:
        return step(x, factor=factor)

    @tf.function()
    def decorated_with_brackets(x: Any, *, factor: Any) -> Any:
        return step(x, factor=factor)

    for strategy in world.each():
        indices = range(strategy.num_replicas_in_sync)
        value = world.per_replica(strategy, [1.0 + index for index in indices])
        for fn in (step, decorated, decorated_with_brackets):
            result = strategy.run(fn, args=(value,), kwargs={"factor": tf.constant(10.0)})

            world.equal(["mixed", "nothing", "same"], sorted(result))
            world.equal([10.0 + 11.0 * index for index in indices], world.locals(strategy, result["mixed"][0]))
            world.equal([1.0 + index for index in indices], world.locals(strategy, result["same"]))
            world.same(None, result["nothing"])


@check("FUNC-02", needs=("function",))
def what_was_traced_serves_new_inputs_of_the_same_kind(world: World) -> None:
    for strategy in world.each():
        calls: list[Any] = []
        for double in _doubling(world, strategy, calls):
            calls.clear()
            counts: list[int] = []
            for step in (1.0, 2.0, 3.0):
                inputs = [step + 10 * index for index in range(strategy.num_replicas_in_sync)]
                result = double(world.per_replica(strategy, inputs))
                counts.append(len(calls))

                world.equal([2 * x for x in inputs], world.locals(strategy, result))
            world.true(counts[0] > 0, "the first input is traced")
            world.equal(counts[:1] * STEPS, counts, "calls of the Python function up to each step")


@check("FUNC-03", needs=("function",))
def eager_execution_is_off_inside_a_decorated_function_only(world: World) -> None:
    tf = world.tf
    seen: list[bool] = []

    def look() -> None:
        seen.append(bool(tf.executing_eagerly()))

    def expect(eager: bool, where: str, function: Any, *args: Any) -> None:
        seen.clear()
        function(*args)
        world.true(len(seen) > 0, f"{where} is executed")
        world.equal([eager] * len(seen), seen, f"eager in {where}")

    for strategy in world.each():

        @tf.function
        def around(strategy: Any = strategy) -> None:
            look()
            strategy.run(look)
            look()

        expect(True, "plain code", look)
        expect(True, "an undecorated function on the replicas", strategy.run, look)
        expect(False, "a decorated function", tf.function(look))
        expect(False, "a decorated function on the replicas", strategy.run, tf.function(look))
        expect(False, "a decorated function and what it runs on the replicas", around)
        expect(True, "plain code after that", look)


@check("FUNC-04", needs=("data", "function"))
def the_spec_of_a_distributed_dataset_serves_as_signature(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        # The last batch is smaller, which the signature allows: its first dimension has no size.
        dataset = world.tf.data.Dataset.range(2 * count * STEPS + 1).batch(2 * count)
        dist_dataset = strategy.experimental_distribute_dataset(dataset)
        calls: list[Any] = []
        train_step = _squaring(world, dist_dataset.element_spec, calls)
        results: list[list[Any]] = []
        for x in dist_dataset:
            results.append([part.tolist() for part in world.locals(strategy, strategy.run(train_step, args=(x,)))])
            if len(results) == STEPS:
                _expect_one_trace(world, count, calls)

        squares = [number * number for number in range(2 * count * STEPS + 1)]
        pieces = [squares[start : start + 2] for start in range(0, len(squares), 2)] + [[]] * (count - 1)
        world.equal([pieces[start : start + count] for start in range(0, len(pieces), count)], results)


@check("FUNC-05", needs=("data", "function"))
def example_takes_the_signature_from_the_iterator(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        inputs = strategy.experimental_distribute_datasets_from_function(
            lambda context: tf.data.Dataset.range(1000).batch(2)
        )
        iterator = iter(inputs)
        calls: list[Any] = []
        replica_fn_with_signature = _squaring(world, iterator.element_spec, calls)

        for step in range(STEPS):
            result = strategy.run(replica_fn_with_signature, args=(next(iterator),))

            starts = [2 * (step * count + index) for index in range(count)]
            world.equal([[start**2, (start + 1) ** 2] for start in starts], world.locals(strategy, result))
        _expect_one_trace(world, count, calls)


@check("FUNC-06", needs=("data", "function"))
def example_trains_an_epoch_in_a_decorated_function(world: World) -> None:
    tf = world.tf
    for strategy in world.each():
        with strategy.scope():

            @tf.function
            def distribute_train_epoch(dataset: Any, my_strategy: Any = strategy) -> Any:
                def replica_fn(input: Any) -> Any:
                    # As 32 bits, like the Python 0 that the total starts from.
                    return tf.reduce_sum(tf.cast(input, tf.int32))

                total_result = 0
                for x in dataset:
                    per_replica_result = my_strategy.run(replica_fn, args=(x,))
                    total_result += my_strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_result, axis=None)
                return total_result

            dist_dataset = strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4))
            for epoch in range(3):
                train_result = distribute_train_epoch(dist_dataset)

                _expect_tensor(world, 28, train_result, f"the total of epoch {epoch}")


@check("FUNC-07", needs=("function",))
def values_may_be_made_for_the_replicas_inside_a_decorated_function(world: World) -> None:
    for strategy in world.each():
        count = strategy.num_replicas_in_sync
        _expect_tensor(world, 2 * count, doubled_replica_count(world, strategy), "the doubled number of replicas")
        if count == 1:
            continue  # the example that reduces has several replicas; there is nothing to reduce on one
        sums = strategy.experimental_local_results(sum_of_replica_ids(world, strategy))

        world.equal(count, len(sums), "components")
        for component in sums:
            _expect_tensor(world, count * (count - 1) // 2, component, "the sum of the replica ids")


def _doubling(world: World, strategy: Any, calls: list[Any]) -> list[Any]:
    """Return what doubles a value on the replicas: a decorated function that is run, and one that runs."""

    def double(x: Any) -> Any:
        calls.append(x)
        return x * 2.0

    decorated = world.tf.function(double)
    return [
        lambda value: strategy.run(decorated, args=(value,)),
        world.tf.function(lambda value: strategy.run(double, args=(value,))),
    ]


def _squaring(world: World, spec: Any, calls: list[Any]) -> Any:
    """Return a decorated function that takes what a spec describes."""

    @world.tf.function(input_signature=[spec])
    def square(x: Any) -> Any:
        calls.append("called")
        return x * x

    return square


def _expect_one_trace(world: World, count: int, calls: list[Any]) -> None:
    """Expect one trace, for all replicas together or for each of them."""
    world.true(len(calls) in {1, count}, f"one trace for all or each of {count} replicas, got {len(calls)} calls")


def _expect_tensor(world: World, expected: int, got: Any, what: str) -> None:
    """Expect one tensor of 32 bits, not one for each replica, and not a Python number."""
    world.true(not isinstance(got, world.tf.distribute.DistributedValues), f"{what} is one tensor, not {got}")
    world.equal(expected, got, what)
    world.equal("int32", world.array(got).dtype.name, f"dtype of {what}")
