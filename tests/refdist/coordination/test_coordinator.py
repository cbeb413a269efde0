import numpy as np
import pytest

import refdist as tf
from tests.refdist.servers import backend, make, server

assert backend  # a fixture
ClusterCoordinator = tf.distribute.coordinator.ClusterCoordinator
worker_index = tf.distribute.coordinator.experimental_get_current_worker_index
following = tf.function(lambda iterator: next(iterator))


def coordinator(workers=2):
    return ClusterCoordinator(make(ps=2, workers=workers))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_workers_take_turns_and_compute_on_their_own_devices(backend, workers):
    cluster, devices = coordinator(workers), []

    @tf.function
    def step():
        devices.append(cluster.strategy.extended.worker_devices)
        return tf.constant(worker_index())

    values = [cluster.schedule(step) for _ in range(2 * workers)]
    cluster.join()
    kind = "CPU" if backend.name == "jax" else "GPU"

    assert 2 * list(range(workers)) == [int(value) for value in cluster.fetch(values)]
    # The body is called once on each worker, to write the worker's program.
    assert [(f"/job:worker/replica:0/task:{index}/device:{kind}:0",) for index in range(workers)] == devices


def test_scheduled_steps_train_the_variables_on_the_servers(backend):
    cluster = coordinator()
    with cluster.strategy.scope():
        weight, steps = tf.Variable(0.0), tf.Variable(0, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def step(x, y):
        def replica():
            weight.assign_sub(0.1 * tf.reduce_mean(2.0 * (weight * x - y) * x))
            steps.assign_add(1)
            return weight * 1.0

        return cluster.strategy.run(replica)

    x = tf.constant([1.0, 2.0])
    last = [cluster.schedule(step, args=(x,), kwargs={"y": x * 3.0}) for _ in range(20)][-1]
    cluster.join()

    assert abs(last.fetch() - 3.0) < 1e-4
    assert (20, float(weight)) == (int(steps), float(last.get()))
    assert [server(0), server(1)] == [weight.device, steps.device]


def test_a_result_is_fetched_as_numpy_and_got_as_a_tensor_on_the_coordinator(backend):
    cluster = coordinator()
    value = cluster.schedule(tf.function(lambda: (tf.constant([1, 2]), {"a": tf.constant(3.0), "none": None})))
    (first, second), tensors = value.fetch(), value.get()

    assert isinstance(first, np.ndarray)
    assert ([1, 2], {"a": 3.0, "none": None}) == (first.tolist(), second)
    assert backend.devices()[0] == tf.device_name(tensors[0])
    assert {"x": [3.0, "text"]} == cluster.fetch(
        {"x": [cluster.schedule(tf.function(lambda: tf.constant(3.0))), "text"]}
    )


def test_results_of_one_worker_can_be_given_to_another(backend):
    cluster = coordinator()
    double = tf.function(lambda x: x * 2.0)
    value = tf.constant(1.0)
    for _ in range(3):
        value = cluster.schedule(double, args=(value,)).get()

    assert 8.0 == float(value)


def test_arguments_come_to_the_worker_also_where_python_does_the_work(backend):
    cluster = coordinator()
    with cluster.strategy.scope():
        weight = tf.Variable(1.0)
    iterator = iter(cluster.create_per_worker_dataset(tf.data.Dataset.range(2)))
    step = tf.function(lambda iterator, x: (next(iterator), weight + x))
    there = cluster.schedule(tf.function(lambda: tf.constant(2.0)))
    values = [cluster.schedule(step, args=(iterator, there.get())) for _ in range(2)]

    assert [3.0, 3.0] == [float(value[1]) for value in cluster.fetch(values)]


class TestErrors:
    def failing(self, cluster):
        def fail():
            raise KeyError("a mistake")

        return cluster.schedule(tf.function(fail))

    @pytest.mark.parametrize("call", ["join", "done", "schedule"])
    def test_are_raised_once_by_the_next_call(self, call):
        cluster, calls = coordinator(), []
        step = tf.function(lambda: calls.append(None))
        self.failing(cluster)
        with pytest.raises(KeyError, match="a mistake") as raised:
            cluster.schedule(step) if call == "schedule" else getattr(cluster, call)()
        note = "\n".join(raised.value.__notes__)

        assert [] == calls
        assert "scheduled on worker 0, on /job:worker/replica:0/task:0" in note
        assert cluster.done()
        cluster.join()

    def test_are_raised_by_their_own_value_as_often_as_it_is_asked(self):
        cluster = coordinator()
        value = self.failing(cluster)
        for ask in (value.fetch, value.get, lambda: cluster.fetch([value])):
            with pytest.raises(KeyError, match="a mistake"):
                ask()

    def test_leave_no_scope_behind_and_the_next_worker_has_its_turn(self):
        cluster = coordinator()
        self.failing(cluster)
        with pytest.raises(KeyError):
            cluster.join()

        assert not tf.distribute.has_strategy()
        assert 1 == cluster.schedule(tf.function(lambda: tf.constant(worker_index()))).fetch()

    def test_of_the_system_are_raised_at_once(self):
        cluster = coordinator()

        def interrupt():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            cluster.schedule(tf.function(interrupt))

        assert cluster.done()


class TestDatasets:
    def test_each_worker_reads_all_of_it(self, backend):
        cluster = coordinator()
        calls = []

        def dataset():
            calls.append((worker_index(), tf.distribute.get_strategy() is cluster.strategy))
            return tf.data.Dataset.range(3)

        per_worker = cluster.create_per_worker_dataset(dataset)
        iterator = iter(per_worker)
        values = [cluster.schedule(following, args=(iterator,)) for _ in range(6)]

        assert [0, 0, 1, 1, 2, 2] == [int(value) for value in cluster.fetch(values)]
        assert [(0, True), (1, True)] == calls
        assert () == per_worker.element_spec.shape

    def test_the_end_of_the_data_is_an_error_of_the_step(self, backend):
        cluster = coordinator()
        iterator = iter(cluster.create_per_worker_dataset(tf.data.Dataset.range(1)))
        values = [cluster.schedule(following, args=(iterator,)) for _ in range(3)]
        with pytest.raises(tf.errors.OutOfRangeError):
            cluster.join()

        assert [0, 0] == [int(value) for value in cluster.fetch(values[:2])]
        assert (
            0
            == cluster.schedule(
                following, args=(iter(cluster.create_per_worker_dataset(tf.data.Dataset.range(1))),)
            ).fetch()
        )

    @pytest.mark.parametrize("given", ["distributed", "function", "dealt"])
    def test_a_distributed_one_is_read_by_each_worker_too(self, backend, given):
        cluster = coordinator()
        data, strategy = tf.data.Dataset.range(8).batch(4), cluster.strategy
        made = {
            "distributed": lambda: cluster.create_per_worker_dataset(strategy.experimental_distribute_dataset(data)),
            "function": lambda: cluster.create_per_worker_dataset(
                lambda: strategy.experimental_distribute_dataset(data)
            ),
            "dealt": lambda: cluster.create_per_worker_dataset(
                lambda: strategy.distribute_datasets_from_function(lambda context: data)
            ),
        }[given]()
        iterator = iter(made)
        step = tf.function(lambda iterator: strategy.run(lambda x: x + 1, args=(next(iterator),)))
        values = cluster.fetch([cluster.schedule(step, args=(iterator,)) for _ in range(4)])

        assert [[1, 2, 3, 4], [1, 2, 3, 4], [5, 6, 7, 8], [5, 6, 7, 8]] == [value.tolist() for value in values]

    @pytest.mark.parametrize("wrong", [3, lambda: 3, [1, 2]])
    def test_anything_else_is_refused(self, wrong):
        with pytest.raises(ValueError, match=r"tf\.data\.Dataset"):
            coordinator().create_per_worker_dataset(wrong)

    def test_the_coordinator_itself_cannot_read_from_the_workers(self):
        iterator = iter(coordinator().create_per_worker_dataset(tf.data.Dataset.range(3)))
        with pytest.raises(NotImplementedError, match="scheduled function"):
            next(iterator)


def test_a_strategy_has_one_coordinator():
    strategy = make()

    assert ClusterCoordinator(strategy) is ClusterCoordinator(strategy=strategy)
    assert ClusterCoordinator(strategy) is not ClusterCoordinator(make())
    assert ClusterCoordinator(strategy).strategy is strategy


def test_other_strategies_have_none():
    for wrong in (None, tf.distribute.get_strategy(), tf.distribute.OneDeviceStrategy("CPU:0")):
        with pytest.raises(TypeError, match="ParameterServerStrategy"):
            ClusterCoordinator(wrong)


def test_only_functions_are_scheduled_with_values_that_are_there():
    cluster = coordinator()
    step = tf.function(lambda x: x)
    for wrong in (3, None, lambda: 3):
        with pytest.raises(TypeError, match=r"@tf\.function"):
            cluster.schedule(wrong)
    with pytest.raises(ValueError, match="tuple or list"):
        cluster.schedule(step, args=3)
    with pytest.raises(ValueError, match="RemoteValue"):
        cluster.schedule(step, args=([cluster.schedule(step, args=(1,))],))
    with pytest.raises(ValueError, match="RemoteValue"):
        cluster.schedule(step, kwargs={"x": cluster.schedule(step, args=(1,))})


def test_it_works_in_the_scope_but_not_in_replicas_nor_on_workers_nor_under_another_strategy():
    cluster = coordinator()
    step = tf.function(lambda: tf.constant(1))
    with cluster.strategy.scope():
        assert 1 == cluster.schedule(step).fetch()
    with pytest.raises(RuntimeError, match="cross-replica context"):
        cluster.strategy.run(lambda: cluster.schedule(step))
    with make().scope(), pytest.raises(RuntimeError, match="one strategy at a time"):
        cluster.schedule(step)
    cluster.schedule(tf.function(lambda: cluster.join()))
    with pytest.raises(RuntimeError, match="on worker 1; expected the coordinator"):
        cluster.join()


def test_the_worker_index_is_known_on_workers_only():
    with pytest.raises(RuntimeError, match="on the coordinator"):
        worker_index()


def test_variables_that_workers_make_take_turns_on_the_servers(backend):
    cluster, made = coordinator(), []

    def step():
        if len(made) == worker_index():
            made.append(tf.Variable(float(worker_index())))
        return made[worker_index()] * 2.0

    values = [cluster.schedule(tf.function(step)) for _ in range(2)]

    assert [0.0, 2.0] == cluster.fetch(values)
    assert [server(0), server(1)] == [variable.device for variable in made]


def test_two_clusters_do_not_disturb_each_other(backend):
    one, other = coordinator(workers=3), coordinator(workers=1)
    counts = tf.function(lambda: (one.strategy.num_replicas_in_sync, other.strategy.num_replicas_in_sync))

    assert [(1, 1)] * 4 == [tuple(map(int, one.schedule(counts).fetch())) for _ in range(4)]
