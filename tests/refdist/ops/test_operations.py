"""Operations answer as TensorFlow has answered: values, shapes, dtypes, and what is refused."""

import pytest

import refdist as tf
from tests.refdist.ops.answers import answers_of, expressions_of
from tests.refdist.ops.comparison import differences, evaluated, staged, staged_together
from tests.thorough import THOROUGH

ANSWERS = answers_of("operations")
NAMES = sorted({expression[3 : expression.index("(")] for expression in ANSWERS})

# TensorFlow divides by the global batch size of zero; and it has no kernel for powers of uint8.
DIFFERENT = {
    "tf.nn.compute_average_loss(t([1.0]), global_batch_size=0)",
    "tf.pow(t([[1, 2, 3], [4, 0, 6]], 'uint8'), t([1, 2, 3], 'uint8'))",
    "tf.pow(t([[1, 2, 3], [4, 0, 6]], 'uint8'), 2)",
}
# What decides on a shape has to be known when a function is traced.
SIZES = {"tf.tile(t([1.0, 2.0]), t([2]))", "tf.where(t([True, False]))", "tf.where(t([[0, 2], [3, 0]]))"}
TEXT = {"tf.equal(t(['a', 'b']), t(['a', 'c']))", "tf.fill([2], 'a')", "tf.zeros_like(['a', 'b'])"}  # JAX has none


def of(name, left_out=frozenset()):
    found = {one: answer for one, answer in ANSWERS.items() if one.startswith(f"tf.{name}(")}
    return {one: answer for one, answer in found.items() if one not in DIFFERENT | left_out}


def test_the_answers_are_those_of_the_expressions():
    assert set(expressions_of("operations")) == set(ANSWERS)


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_answers_as_tensorflow(any_backend, name):
    turn = ("host", "simulator", "jax").index(any_backend.name)
    if not THOROUGH and any_backend.name != "simulator" and NAMES.index(name) % 2 != turn // 2:
        pytest.skip("the simulator has all, and host and JAX take turns; --thorough runs all on all")
    narrow = any_backend.name == "jax"
    answers = of(name, TEXT if narrow else frozenset())
    found = differences(answers, lambda expression: evaluated(expression, tf.constant), narrow)

    assert [] == list(filter(None, found))


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_in_a_function_answers_as_tensorflow(name):
    answers = of(name)
    with tf.using("simulator", gpus=1):
        answered = [one for one, answer in answers.items() if isinstance(answer, list) and one not in SIZES | TEXT]
        together = staged_together(answered)  # what is refused stays alone, because it would stop the others
        found = differences(answers, lambda one: together[one] if one in together else staged(one, SIZES), False)

        assert [] == list(filter(None, found))


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_what_decides_on_a_shape_or_is_beyond_the_end_is_told_in_a_function_too(any_backend, around):
    with pytest.raises(tf.errors.InvalidArgumentError, match="indices beyond"):
        around(tf.gather)(tf.constant([1, 2]), tf.constant([2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="indices beyond"):
        around(tf.nn.sparse_softmax_cross_entropy_with_logits)(tf.constant([2]), tf.constant([[1.0, 2.0]]))


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_average_losses_of_replicas_add_up_to_the_average(any_backend, names, around):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    losses = strategy.experimental_distribute_values_from_function(
        lambda context: tf.constant([1.0, 2.0]) + float(context.replica_id_in_sync_group)
    )

    def replica(loss):
        return tf.nn.compute_average_loss(loss), tf.nn.scale_regularization_loss(tf.constant(4.0))

    found = around(lambda loss: [strategy.reduce("SUM", one, axis=None) for one in strategy.run(replica, (loss,))])(
        losses
    )

    assert [2.0, 4.0] == [float(one) for one in found]
    with pytest.raises(RuntimeError, match="outside of replicas"), strategy.scope():
        tf.nn.compute_average_loss([1.0])
    with pytest.raises(RuntimeError, match="outside of replicas"), strategy.scope():
        tf.nn.scale_regularization_loss(1.0)


@pytest.mark.parametrize(
    "operation",
    [
        lambda x: tf.sqrt(x),
        lambda x: tf.maximum(1.0, x),
        lambda x: tf.reduce_max(x),
        lambda x: tf.zeros_like(x),
        lambda x: tf.fill([2], 1.0),
        lambda x: tf.eye(2),
        lambda x: tf.linspace(0.0, 1.0, 3),
        lambda x: tf.reshape(x, [2, 1]),
        lambda x: tf.where(x > 1.0, x, 0.0),
        lambda x: tf.argmax(x, output_type=tf.int32),
        lambda x: tf.one_hot([0, 1], 2),
        lambda x: tf.gather(x, [0]),
        lambda x: tf.split(x, 2)[1],
        lambda x: tf.unstack(x)[1],
        lambda x: tf.pad(x, [[1, 1]]),
        lambda x: tf.tile(x, [2]),
        lambda x: tf.rank(x),
        lambda x: tf.squeeze(x),
        lambda x: tf.nn.softmax(x),
        lambda x: tf.nn.moments(x, [0])[1],
    ],
)
def test_results_are_tensors_on_the_device_of_the_replica(any_backend, names, operation):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    results = strategy.experimental_local_results(strategy.run(lambda: operation(tf.constant([1.0, 2.0]))))

    assert all(isinstance(one, any_backend.tensor_type) for one in results)
    assert names[:2] == [tf.device_name(one)[-5:] for one in results]


def test_operations_take_variables(any_backend):
    variable = tf.Variable([4.0, 9.0])

    assert [2.0, 3.0] == tf.sqrt(variable).tolist()
    assert [4.0, 5.0] == tf.minimum(variable, 5).tolist()
    assert 9.0 == float(tf.reduce_max(variable))
