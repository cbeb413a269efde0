"""Control flow in replicas and around them: answers of TensorFlow 2.21 for one, two and three replicas."""

import pytest

import refdist as tf

CASES = [("simulator", 1), ("jax", 2), ("simulator", 3)]


class Program:
    """A strategy, its variables, and a value of each replica: -0.5, 0.5, 1.5."""

    def __init__(self, count):
        self.count = count
        self.strategy = tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(count)])
        with self.strategy.scope():
            self.mirrored = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
            self.own = tf.Variable(
                0.0,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
            )
        self.values = self.strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant(context.replica_id_in_sync_group - 0.5)
        )

    def run(self, step):
        """What each replica returns from a step in a function."""
        result = tf.function(lambda x: self.strategy.run(step, args=(x,)))(self.values)
        return [float(one) for one in self.strategy.experimental_local_results(result)]


@pytest.fixture(params=CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def program(request):
    backend, count = request.param
    with tf.using(backend, cpus=4):
        yield Program(count)


def test_each_replica_takes_its_own_branch(program):
    def step(x):
        if x > 0:
            y = x * 10
        else:
            y = -x
        return y

    assert [0.5, 5.0, 15.0][: program.count] == program.run(step)


def test_each_replica_writes_its_own_copy(program):
    def step(x):
        if x > 0:
            program.own.assign_add(x)
        for _ in tf.range(3):
            program.own.assign_add(1.0)
        return program.own.read_value()

    assert [3.0, 3.5, 4.5][: program.count] == program.run(step)
    assert [3.0, 6.5, 11.0][program.count - 1] == program.own.numpy()


def test_replicas_run_in_a_loop(program):
    @tf.function
    def steps(x, n):
        def step(x):
            program.mirrored.assign_add(x)
            return program.mirrored.read_value()

        last = program.strategy.run(step, args=(x,))
        for _ in tf.range(n):
            last = program.strategy.run(step, args=(x,))
        return last

    last = steps(program.values, tf.constant(3))

    expected = [-1.0, 1.0, 7.0][program.count - 1]
    assert [expected] * program.count == [float(one) for one in program.strategy.experimental_local_results(last)]
    assert expected == program.mirrored.numpy()


def test_replicas_run_in_a_branch(program):
    @tf.function
    def steps(x, n):
        total = 0.0
        if n > 2:
            doubled = program.strategy.run(lambda x: x * 2, args=(x,))
            total = program.strategy.reduce(tf.distribute.ReduceOp.SUM, doubled, axis=None)
        return total

    assert [-1.0, 0.0, 3.0][program.count - 1] == float(steps(program.values, tf.constant(3)))
    assert 0.0 == float(steps(program.values, tf.constant(1)))


def test_replicas_meet_where_all_take_the_same_way(program):
    # TensorFlow refuses it.
    def step(x):
        turns = tf.constant(2) + tf.cast(program.mirrored > 0.0, tf.int32)
        while turns > 0:
            x = tf.distribute.get_replica_context().all_reduce("sum", x)
            turns -= 1
        return x

    count = program.count
    assert [sum([-0.5, 0.5, 1.5][:count]) * count**2] * count == program.run(step)


def test_replicas_do_not_meet_where_each_may_take_its_own_way(program):
    def combine(x):
        if x > 0:
            x = tf.distribute.get_replica_context().all_reduce("sum", x)
        return x

    def write(x):
        while x > 0:
            program.mirrored.assign_add(x)
            x = x - 1
        return x

    for step in (combine, write):
        if program.count == 1:
            assert [-0.5] == program.run(step)
            continue
        with pytest.raises(tf.errors.MeetingError, match="may differ between replicas") as caught:
            program.run(step)
        assert f"{__file__}:{step.__code__.co_firstlineno + 1} " in str(caught.value)
    assert 1.0 == program.mirrored.numpy()


def test_a_loop_takes_as_many_batches_as_it_turns(program):
    numbers = tf.data.Dataset.from_tensor_slices([float(number) for number in range(1, 13)]).batch(program.count)
    batches = iter(program.strategy.experimental_distribute_dataset(numbers))

    def step(batch):
        program.own.assign_add(tf.reduce_sum(batch))

    @tf.function
    def steps(batches, n):
        for _ in tf.range(n):
            program.strategy.run(step, args=(next(batches),))

    steps(batches, tf.constant(3))
    assert [6.0, 21.0, 45.0][program.count - 1] == program.own.numpy()
    with pytest.raises(tf.errors.OutOfRangeError):
        steps(batches, tf.constant(20))
    assert 78.0 == program.own.numpy()
