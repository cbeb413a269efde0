"""Numpy on tensors of a cluster gives what numpy gives, takes time, and takes room."""

import warnings

import numpy as np
import pytest

import refdist as tf
import simulator

GPU = simulator.DeviceKind("GPU", 1e6, 1e12, 1e12)
VALUES = np.random.default_rng(7).standard_normal((8, 8)).astype(np.float32)


@pytest.fixture
def tensor():
    with tf.using("simulator", cluster=simulator.Cluster.star(2, 12.5e9, 500e-9, GPU)), tf.device("GPU:0"):
        yield tf.constant(VALUES)


FUNCTIONS = {
    "mean": lambda x: np.mean(x, axis=0),
    "mean of all": np.mean,
    "method mean": lambda x: x.mean(axis=0),
    "std": lambda x: x.std(axis=0),
    "var": np.var,
    "median": lambda x: np.median(x, axis=0),
    "average": lambda x: np.average(x, axis=0),
    "sum of some": lambda x: np.sum(x, where=x > 0),
    "reduce_mean": lambda x: tf.reduce_mean(x, axis=0),
    "product with a list": lambda x: [[1.0] * 8] @ x,
    "dot": lambda x: np.dot(x, x),
    "method dot": lambda x: x.dot(x),
    "einsum": lambda x: np.einsum("ij, jk -> ik", x, x),
    "einsum of the rest": lambda x: np.einsum("...j->...", x),
    "tensordot": lambda x: np.tensordot(x, x, 1),
    "concatenate": lambda x: np.concatenate([x, x]),
    "where": lambda x: np.where(x > 0, x, -x),
    "sort": np.sort,
    "argmax": lambda x: x.argmax(axis=0),
    "astype": lambda x: x.astype(np.float64),
    "picked out": lambda x: x[[3, 1, 2]],
    "written elsewhere": lambda x: np.add(x, 1, out=np.empty_like(VALUES)),
    "mean written elsewhere": lambda x: np.mean(x, axis=0, out=np.empty(8, np.float32)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_numpy_functions_give_what_they_give_elsewhere_and_take_time(tensor, name):
    call = FUNCTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = call(tensor)
    after = simulator.now()

    np.testing.assert_array_equal(np.asarray(result), call(VALUES))
    assert after > 0


@pytest.mark.parametrize(
    ("product", "operations"),
    [
        (lambda x: np.dot(x, x), 2 * 8**3),
        (lambda x: np.tensordot(x, x, 1), 2 * 8**3),
        (lambda x: np.einsum("ij,jk->ik", x, x), 2 * 8**3),
        (lambda x: [[1.0] * 8] @ x, 2 * 8**2),
    ],
)
def test_products_take_two_operations_for_each_multiplication(product, operations):
    slow = simulator.DeviceKind("GPU", flops_per_second=1e6)
    with tf.using("simulator", cluster=simulator.Cluster.star(2, 1e9, 1e-6, slow)), tf.device("GPU:0"):
        product(tf.constant(VALUES))

        assert operations / 1e6 == pytest.approx(simulator.now())


def resident():
    return simulator.memory_report().splitlines()[1].split()[1:3]


@pytest.mark.parametrize("function", [np.concatenate, lambda x: x[0][[1, 2]], lambda x: x[0].astype(np.float16)])
def test_what_numpy_functions_make_takes_room(tensor, function):
    before = resident()
    made = function([tensor, tensor])

    assert before != resident()
    del made
    assert before == resident()


@pytest.mark.parametrize(
    "view", [np.transpose, lambda x: np.reshape(x, -1), lambda x: x[1:3], lambda x: np.split(x, 2)]
)
def test_views_take_neither_time_nor_room_and_hold_what_they_show(tensor, view):
    tf.identity(tensor)
    before = resident()
    made = view(tensor + 0)
    after, then = simulator.now(), resident()
    again = view(made if isinstance(made, np.ndarray) else made[0])

    assert [after, then] == [simulator.now(), resident()]
    assert before != then
    del made, again
    assert before == resident()


def test_a_view_that_forgets_its_tensor_is_a_tensor_again(tensor):
    wide = np.broadcast_to(tensor[0], (3, 8))
    assert tensor.device == wide.device
    before = simulator.now()
    np.testing.assert_array_equal(np.asarray(wide + 1), np.broadcast_to(VALUES[0], (3, 8)) + 1)
    assert simulator.now() > before


def test_one_element_is_a_tensor_that_takes_time_too(tensor):
    element = tensor[0][0]
    before = simulator.now()
    assert np.float32(2) * VALUES[0, 0] == (element * 2).numpy()
    assert simulator.now() > before


def test_tensors_are_not_written_into(tensor):
    with pytest.raises(TypeError, match="Leave out= away"):
        np.add(tensor, 1, out=tensor)
    with pytest.raises(ValueError, match="read-only"):
        np.copyto(tensor, 1.0)
    np.testing.assert_array_equal(VALUES, np.asarray(tensor))


def test_results_in_tuples_keep_their_kind(tensor):
    found = np.linalg.svd(tensor)
    np.testing.assert_array_equal(np.linalg.svd(VALUES).S, np.asarray(found.S))
    assert isinstance(np.divmod(tensor, 2), tuple)
    assert np.shape(tensor) == (8, 8)
    assert np.array_equal(tensor, VALUES)


@pytest.mark.parametrize(
    ("function", "first", "second"),
    [
        (lambda x: x * tf.constant(10.0), [0, 10], [20, 30]),
        (lambda x: tf.ones([4]) + x, [1, 2], [3, 4]),
        (lambda x: np.divmod(tf.ones([4]) * 4.0, x + 1.0)[0], [4, 2], [1, 1]),
        (lambda x: np.where(x > 1, x, tf.ones([4])), [1, 1], [2, 3]),
        (lambda x: np.concatenate([tf.ones([1]), x]), [1, 0, 1, 2, 3], [1, 0, 1, 2, 3]),
    ],
)
def test_tensors_in_pieces_stay_so_when_they_meet_others(function, first, second):
    with tf.using("simulator", cluster=simulator.presets.tpu_v4((2, 2, 2))):
        topology = tf.tpu.experimental.initialize_tpu_system()
        build = tf.tpu.experimental.DeviceAssignment.build
        assignment = build(topology, computation_shape=[1, 1, 2, 1], num_replicas=4)
        strategy = tf.distribute.TPUStrategy(experimental_device_assignment=assignment)

        def step():
            return function(strategy.experimental_split_to_logical_devices(tf.range(4.0), [2]))

        pieces = tf.logical_pieces(strategy.run(step).values[0])
        assert [first, second] == [piece.tolist() for _, piece in pieces]


def test_nothing_is_written_into_a_tensor(strategy):
    with pytest.raises(TypeError, match=r"add was to write into a tensor; expected no change.*\. Leave out= away"):
        strategy.run(lambda: np.add(tf.ones([2]), 1, out=tf.ones([2])))
