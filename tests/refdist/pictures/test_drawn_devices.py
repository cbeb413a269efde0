import pytest

import refdist as tf
from refdist._core.pictures.drawn_devices import columns_of, spots_of
from tests.refdist.pictures.programs import central, mirrored, parameter_servers


def columns(strategy, most):
    return [(column.name, column.role) for column in columns_of(spots_of(strategy), most)]


def tpus(replicas, cores):
    with tf.using("simulator", tpus=(2, 2, 1, 2)):
        topology = tf.tpu.experimental.initialize_tpu_system()
        shape = {1: [1, 1, 1, 1], 2: [1, 1, 1, 2], 4: [1, 2, 1, 2]}[cores]
        assignment = tf.tpu.experimental.DeviceAssignment.build(topology, shape, num_replicas=replicas)
        return tf.distribute.TPUStrategy(experimental_device_assignment=assignment)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_few_replicas_have_a_column_each(count):
    assert [(f"GPU:{n}", f"replica {n}") for n in range(count)] == columns(mirrored(count), 4)


@pytest.mark.parametrize("count", [5, 1024])
def test_of_many_replicas_all_but_the_first_are_folded(count):
    folded = (f"GPU:1 ... GPU:{count - 1}, the same", f"replicas 1 ... {count - 1}")

    assert [("GPU:0", "replica 0"), folded] == columns(mirrored(count), 4)


def test_a_device_that_only_keeps_variables_is_the_last_column():
    assert ("CPU:0", "keeps variables") == columns(central(2), 4)[-1]
    assert all(column.computes == (column.name != "CPU:0") for column in columns_of(spots_of(central(2)), 4))


def test_parameter_servers_and_workers_are_folded_each_apart():
    expected = [
        ("CPU:0", "coordinator"),
        ("worker 0 ... worker 2, the same", "works at its own pace"),
        ("ps 0 CPU:0", "parameter server"),
        ("ps 1 CPU:0", "parameter server"),
    ]

    assert expected == columns(parameter_servers(), 4)
    assert 6 == len(columns(parameter_servers(), 8))


@pytest.mark.parametrize(
    ("cores", "first"),
    [
        (1, ("TPU:0", "replica 0")),
        (2, ("TPU:0, TPU:1", "replica 0")),
        (4, ("TPU:0 ... TPU:3", "replica 0, 4 cores")),
    ],
)
def test_the_logical_devices_of_a_replica_are_one_column(cores, first):
    assert first == columns(tpus(2, cores), 4)[0]


def test_the_replicas_of_all_workers_have_columns():
    def main(_):
        return columns(tf.distribute.MultiWorkerMirroredStrategy(), 4)

    with tf.using("simulator", gpus=2):
        first, second = tf.cluster.run_workers(main, 2)

    assert [f"worker {worker} GPU:{gpu}" for worker in (0, 1) for gpu in (0, 1)] == [name for name, _ in first]
    assert first == second
