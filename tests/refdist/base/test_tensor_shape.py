"""Shapes behave as those of TensorFlow 2.21."""

import pickle

import numpy as np
import pytest

import refdist as tf

Shape = tf.TensorShape


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (lambda: repr(Shape([2, None])), "TensorShape([2, None])"),
        (lambda: str(Shape([2, None])), "(2, None)"),
        (lambda: (repr(Shape(None)), str(Shape(None))), ("TensorShape(None)", "<unknown>")),
        (lambda: Shape(3).as_list(), [3]),
        (lambda: (Shape(None).rank, Shape([1]).rank, Shape([2, 3]).ndims), (None, 1, 2)),
        (lambda: (Shape([2, 3]) == (2, 3), Shape([2, 3]) == [2, 3], (2, 3) == Shape([2, 3])), (True,) * 3),
        (lambda: (Shape(None) == Shape(None), Shape(None) == None), (True, True)),  # noqa: E711
        (lambda: (Shape([2]) == Shape([3]), Shape([2]) == None, Shape([2]) == "a"), (False,) * 3),  # noqa: E711
        (lambda: (Shape([2, 3])[0], Shape([2, 3])[1:], Shape(None)[0]), (2, Shape([3]), None)),
        (lambda: Shape(None)[1:].rank, None),
        (lambda: (list(Shape([2, None])), len(Shape([2, None]))), ([2, None], 2)),
        (
            lambda: [Shape([2, None]).is_compatible_with(one) for one in ([2, 5], [3, 5], [2], None)],
            [True, False, False, True],
        ),
        (
            lambda: (Shape([2, 3]).num_elements(), Shape([2, None]).num_elements(), Shape([]).num_elements()),
            (6, None, 1),
        ),
        (lambda: (Shape([2]).is_fully_defined(), Shape([None]).is_fully_defined()), (True, False)),
        (lambda: (Shape([2]) + [3], [1] + Shape([2]), Shape([2]).concatenate(3)), ((2, 3), (1, 2), (2, 3))),
        (lambda: (bool(Shape([])), bool(Shape(None)), hash(Shape([2])) == hash(Shape([2]))), (True, False, True)),
        (lambda: Shape(Shape([2])).as_list(), [2]),
        (lambda: Shape(tf.constant([1.0, 2.0]).shape) == tf.constant([1.0, 2.0]).shape, True),
    ],
)
def test_a_shape_answers_as_tensorflow(found, expected):
    assert expected == found()


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: Shape(None).as_list(), ValueError),
        (lambda: len(Shape(None)), ValueError),
        (lambda: list(Shape(None)), ValueError),
        (lambda: Shape([-1]), ValueError),
        (lambda: Shape(["a"]), TypeError),
    ],
)
def test_what_is_no_shape_or_has_no_rank_is_refused(wrong, error):
    with pytest.raises(error):
        wrong()


def test_what_takes_a_shape_takes_these(any_backend):
    assert [0.0, 0.0] == tf.zeros(Shape([2])).tolist() == tf.reshape([[0.0, 0.0]], Shape([2])).tolist()
    assert [1.0, 1.0] == tf.constant(1.0, shape=Shape([2])).tolist() == tf.fill(Shape([2]), 1.0).tolist()
    assert tf.TensorSpec([None, 2]) == tf.TensorSpec(Shape([None, 2]))
    assert tf.TensorSpec(None) == tf.TensorSpec(Shape(None))
    assert (2,) == tf.Variable([1.0, 2.0], shape=Shape([2])).shape


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_tensors_of_every_backend_are_tensors(any_backend, around):
    seen = []
    around(lambda x: seen.append((isinstance(x, tf.Tensor), tf.is_tensor(x))))(tf.constant(1.0))

    assert [(True, True)] == seen
    assert [False, False, False] == [isinstance(one, tf.Tensor) for one in (tf.Variable(1.0), np.ones(2), 1.0)]
    with pytest.raises(TypeError, match="that makes tensors"):
        tf.Tensor(1.0)


def test_a_tensor_is_asked_for_its_shape_and_promised_one():
    tensor = tf.ones([2, 3])
    tensor.set_shape([2, None])

    assert ([2, 3], 2) == (tensor.get_shape().as_list(), tensor.get_shape().rank)
    with pytest.raises(ValueError, match=r"expected sizes that it has, or None\. Use tf\.reshape"):
        tensor.set_shape([3])


def extended(sizes, shape):
    sizes += shape
    return sizes


SHAPE_QUESTIONS = [
    (lambda shape: (shape.as_list(), shape.rank, shape.ndims, shape.num_elements()), ([2, 3], 2, 2, 6)),
    (lambda shape: (shape == (2, 3), shape == [2, 3], shape == Shape([2, 3]), Shape([2, 3]) == shape), (True,) * 4),
    (lambda shape: (shape != [2, 3], shape == [2], shape == 2, shape == Shape([2, None])), (False,) * 4),
    (lambda shape: (shape[0], shape[-1], shape[1:].as_list(), shape[:0].rank), (2, 3, [3], 0)),
    (lambda shape: ((shape + [1]).as_list(), ((1,) + shape).as_list()), ([2, 3, 1], [1, 2, 3])),
    (lambda shape: extended([1], shape), [1, 2, 3]),
    (lambda shape: (shape + Shape([None]), shape.concatenate([None]).rank), (Shape([2, 3, None]), 3)),
    (lambda shape: (shape.is_compatible_with([None, 3]), shape.is_fully_defined()), (True, True)),
    (lambda shape: (shape.assert_has_rank(2), shape.assert_is_compatible_with([2, None])), (None, None)),
    (lambda shape: (isinstance(shape, Shape), isinstance(shape, tuple), str(shape)), (True, True, "(2, 3)")),
    (lambda shape: {(2, 3): "found"}[shape], "found"),
    (lambda shape: pickle.loads(pickle.dumps(shape)).as_list(), [2, 3]),
    (lambda shape: tf.nest.map_structure(lambda size: size + 1, {"a": shape}), {"a": (3, 4)}),
    (lambda shape: np.zeros(shape).reshape(shape[::-1]).shape, (3, 2)),
]


@pytest.mark.parametrize(("question", "expected"), SHAPE_QUESTIONS)
def test_shapes_of_tensors_and_variables_answer_as_tensorflow_and_are_tuples(any_backend, question, expected):
    variable = tf.Variable(tf.ones([2, 3]))

    for given in (tf.ones([2, 3]), variable):
        assert expected == question(given.shape) == question(given.get_shape())


def test_shapes_in_functions_and_replicas_answer_too(any_backend):
    strategy, seen = tf.distribute.MirroredStrategy(["CPU:0"]), []

    @tf.function
    def step(x):
        seen.append((x.shape.as_list(), x.shape.rank, x.get_shape().as_list(), x.shape[1:].as_list()))
        return tf.reshape(x, [-1] + x.shape[1:].as_list())

    assert (2, 3) == strategy.experimental_local_results(strategy.run(step, args=(tf.ones([2, 3]),)))[0].shape
    assert seen
    assert all(([2, 3], 2, [2, 3], [3]) == one for one in seen)


@pytest.mark.parametrize(
    "wrong", [lambda shape: shape.assert_has_rank(3), lambda shape: shape.assert_is_compatible_with([3])]
)
def test_a_shape_that_does_not_fit_is_refused(wrong):
    with pytest.raises(ValueError, match=r"expected .*\. Reshape"):
        wrong(tf.ones([2, 3]).shape)


def test_a_size_that_is_open_in_a_function_is_any_size():
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32)])
    def double(x):
        seen.append((x.shape.as_list(), x.shape.is_fully_defined(), x.shape.is_compatible_with([7, 2])))
        return 2 * x

    double(tf.ones([3, 2]))

    assert seen == [([None, 2], False, True)]


@pytest.mark.parametrize("given", ["ab", 2.5, [2.5], ["a"]])
def test_sizes_that_are_no_integers_are_refused_with_what_to_write(given):
    with pytest.raises(TypeError, match=r"The shape is .*; expected integers, with None for any size"):
        Shape(given)
