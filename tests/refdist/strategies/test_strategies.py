import pytest

import refdist as tf

ctx = tf.distribute.get_replica_context


@pytest.mark.parametrize("make", [tf.distribute.MirroredStrategy, tf.distribute.experimental.CentralStorageStrategy])
class TestDevices:
    def test_a_device_twice_is_refused(self, make):
        with tf.using("host", gpus=2), pytest.raises(ValueError, match="GPU:0 more than once"):
            make(["GPU:0", "/gpu:0"])

    def test_an_unknown_device_is_refused_with_the_list_of_those_there_are(self, make):
        with tf.using("host", gpus=2), pytest.raises(ValueError, match="CPU:0, GPU:0, GPU:1"):
            make(["GPU:0", "GPU:2"])

    def test_a_single_name_is_refused_because_a_list_is_meant(self, make):
        with tf.using("host", gpus=2), pytest.raises(ValueError, match="expected a list"):
            make("GPU:0")

    def test_an_empty_list_means_the_default(self, make):
        with tf.using("host", gpus=3):
            assert 3 == make([]).num_replicas_in_sync


def test_one_device_on_a_device_that_is_not_there_is_refused():
    with tf.using("host", gpus=1), pytest.raises(ValueError, match="does not exist"):
        tf.distribute.OneDeviceStrategy("GPU:1")


def test_cross_device_ops_of_another_type_are_refused():
    with pytest.raises(TypeError, match="CrossDeviceOps"):
        tf.distribute.MirroredStrategy(cross_device_ops=object())


def test_a_strategy_keeps_the_backend_with_which_it_was_made():
    with tf.using("host", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
    with tf.using("simulator", gpus=5):
        assert ["GPU:0", "GPU:1"] == [part.device[-5:] for part in strategy.run(lambda: tf.constant(1.0)).values]


@pytest.mark.parametrize(
    "ops",
    [
        tf.distribute.NcclAllReduce(),
        tf.distribute.NcclAllReduce(num_packs=2),
        tf.distribute.HierarchicalCopyAllReduce(),
        tf.distribute.ReductionToOneDevice(),
        tf.distribute.ReductionToOneDevice("CPU:0"),
        tf.distribute.ReductionToOneDevice("GPU:1", accumulation_fn=lambda tensors: sum(tensors[1:], tensors[0])),
    ],
)
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_every_algorithm_gives_the_same_numbers(ops, count):
    with tf.using("host", gpus=8):
        strategy = tf.distribute.MirroredStrategy([f"GPU:{i}" for i in range(count)], cross_device_ops=ops)

    def body():
        value = tf.constant([1.0, 2.0]) * (ctx().replica_id_in_sync_group + 1)
        return ctx().all_reduce("sum", value), ctx().all_reduce("mean", value)

    sums, means = strategy.run(body)

    total = count * (count + 1) / 2
    for part, device in zip(strategy.experimental_local_results(sums), strategy.extended.worker_devices, strict=True):
        assert [total, 2 * total] == part.tolist()
        assert device == part.device
    assert [total / count, 2 * total / count] == strategy.experimental_local_results(means)[0].tolist()


@pytest.mark.parametrize("packs", [-1, 1.5, "2"])
def test_a_number_of_packs_that_is_none_is_refused(packs):
    with pytest.raises(ValueError, match="num_packs"):
        tf.distribute.NcclAllReduce(num_packs=packs)


def test_an_own_algorithm_is_called():
    calls = []

    class Recording(tf.distribute.ReductionToOneDevice):
        def reduce_implementation(self, reduce_op, per_replica_value, destinations, options):
            calls.append(reduce_op)
            return super().reduce_implementation(reduce_op, per_replica_value, destinations, options)

    with tf.using("host", gpus=2):
        strategy = tf.distribute.MirroredStrategy(cross_device_ops=Recording())
    with strategy.scope():
        variable = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
    strategy.run(lambda: variable.assign(tf.constant(1.0) * ctx().replica_id_in_sync_group))
    strategy.run(lambda: ctx().all_reduce("sum", 1.0))
    strategy.run(lambda: ctx().all_reduce("sum", [1.0, 2.0]))
    strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)), axis=None)

    names = [op.name for op in calls]
    assert ["MEAN", "SUM", "SUM", "SUM", "SUM"] == names


def test_central_storage_puts_variables_where_the_page_says():
    for gpus, home, replicas in [(0, "CPU:0", 1), (1, "GPU:0", 1), (3, "CPU:0", 3)]:
        with tf.using("host", gpus=gpus):
            strategy = tf.distribute.experimental.CentralStorageStrategy()
            with strategy.scope():
                variable = tf.Variable(1.0)
            assert (home, replicas) == (variable.device[-5:], strategy.num_replicas_in_sync)


def test_the_default_strategy_runs_and_reduces_in_place():
    default = tf.distribute.get_strategy()
    value = tf.constant([1.0, 3.0])

    assert value is default.run(lambda x: x, args=(value,))
    assert value is default.reduce("SUM", value, axis=None)
    assert 2.0 == default.reduce("MEAN", value, axis=0)
    assert [1, 2] == default.reduce("SUM", [1, 2], axis=None)


@pytest.mark.parametrize("make", [tf.distribute.MirroredStrategy, tf.compat.v1.distribute.MirroredStrategy])
def test_a_mirrored_strategy_that_leaves_cpus_idle_says_so(make):
    with tf.using("host", cpus=6):
        with pytest.warns(UserWarning, match=r"other 5 CPUs idle.*\"CPU:0\", .*\"CPU:3\", \.\.\.") as told:
            assert 1 == make().num_replicas_in_sync

        assert [__file__] == [one.filename for one in told]


@pytest.mark.parametrize(("counts", "devices"), [({"cpus": 2}, ["CPU:1"]), ({"cpus": 2, "gpus": 1}, None), ({}, None)])
def test_a_mirrored_strategy_that_has_what_was_asked_for_says_nothing(counts, devices):
    with tf.using("host", **counts):
        assert 1 == tf.distribute.MirroredStrategy(devices).num_replicas_in_sync


@pytest.mark.parametrize("devices", [5, tf.constant(["CPU:0"]), iter(["CPU:0"])])
@pytest.mark.parametrize("make", [tf.distribute.MirroredStrategy, tf.distribute.experimental.CentralStorageStrategy])
def test_devices_that_are_no_list_are_refused(make, devices):
    with tf.using("host"), pytest.raises(TypeError, match=r"expected a list of names. Write \['GPU:0'"):
        make(devices)


def test_a_logical_device_alone_is_refused_because_a_list_is_meant():
    with tf.using("host"), pytest.raises(ValueError, match="expected a list of names"):
        tf.distribute.MirroredStrategy(tf.config.list_logical_devices()[0])


def test_a_set_of_devices_is_taken():
    with tf.using("host", gpus=2):
        assert 2 == tf.distribute.MirroredStrategy({"GPU:0", "GPU:1"}).num_replicas_in_sync


@pytest.mark.parametrize("resolver", ["abc", "", 5])
@pytest.mark.parametrize(
    "make", [tf.distribute.MultiWorkerMirroredStrategy, tf.compat.v1.distribute.experimental.ParameterServerStrategy]
)
def test_a_cluster_resolver_of_another_type_is_refused(make, resolver):
    with pytest.raises(
        TypeError, match=r"got cluster_resolver=.*; expected a tf.distribute.cluster_resolver.ClusterResolver"
    ):
        make(cluster_resolver=resolver)


def test_an_accumulation_function_that_is_none_is_refused_at_once():
    with pytest.raises(TypeError, match=r"ReductionToOneDevice\(\) got 5, a int; expected a function"):
        tf.distribute.ReductionToOneDevice(accumulation_fn=5)
