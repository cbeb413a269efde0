"""Arrays of JAX have the methods that programs call on tensors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
from tests.children import run_python

ctx = tf.distribute.get_replica_context


@pytest.fixture(autouse=True)
def on_jax():
    with tf.using("jax", cpus=2):
        yield


def test_what_users_get_from_replicas_and_variables_has_numbers():
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    with strategy.scope():
        variable = tf.Variable([1.0, 2.0])
    value = strategy.run(lambda: variable.read_value() * (ctx().replica_id_in_sync_group + 1))

    assert [2.0, 4.0] == strategy.experimental_local_results(value)[1].numpy().tolist()
    assert [3.0, 6.0] == strategy.reduce("SUM", value, axis=None).numpy().tolist()
    assert [1.0, 2.0] == variable.read_value().numpy().tolist() == variable.numpy().tolist()
    assert [2.0] == tf.function(lambda x: x + x)(tf.constant([1.0])).numpy().tolist()


def test_it_is_a_copy_and_of_a_scalar_a_number_of_numpy():
    tensor = tf.constant([1.0])
    tensor.numpy()[0] = 7.0

    assert [1.0] == tensor.numpy().tolist()
    assert isinstance(tf.constant(1.0).numpy(), np.float32)


def test_in_a_program_there_are_no_numbers_yet():
    assert tf.function(lambda x: x + (10.0 if hasattr(x, "numpy") else 1.0))(tf.constant(1.0)) == 2.0
    with pytest.raises(AttributeError, match=r"numpy\(\) was asked of .*; expected a tensor .* known. Return it"):
        tf.function(lambda x: x.numpy())(tf.constant(1.0))
    with pytest.raises(AttributeError, match="no attribute"):
        tf.function(lambda x: x.of_which_nobody_knows)(tf.constant(1.0))


@pytest.mark.parametrize(
    "made",
    [
        "tf.keras.layers.Dense(2)(np.ones((1, 3), np.float32))[0]",
        "(__import__('jax').numpy.ones(2), tf.distribute.OneDeviceStrategy('CPU:0').run(int))[0]",
    ],
    ids=["of a layer of Keras", "of the user"],
)
def test_arrays_of_jax_have_it_beside_the_simulator(made):
    program = f"import refdist as tf, numpy as np, sys\nassert 'jax' not in sys.modules\nprint({made}.numpy().shape)"
    ended = run_python(program)

    assert "(2,)" == ended.stdout.strip(), ended.stderr


@pytest.mark.parametrize("around", [lambda body: body, tf.function], ids=["eager", "staged"])
def test_a_shape_is_asked_for_and_promised(around):
    seen = []

    def body(x):
        x.set_shape([None, 3])
        seen.append(x.get_shape().as_list())
        with pytest.raises(ValueError, match=r"expected sizes that it has, or None\. Use tf\.reshape"):
            x.set_shape([2, 4])
        return x

    around(body)(tf.ones([2, 3]))

    assert [2, 3] == seen[0]


def test_text_stays_on_the_host():
    words = tf.constant(["a", "b"])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(words, tf.constant([3, 4])), -1)

    assert [b"a", b"b"] == words.numpy().tolist()
    assert [4, -1] == table.lookup(tf.constant(["b", "c"])).numpy().tolist()
    assert b"c" == tf.constant("c", tf.string).numpy()
    with pytest.raises(TypeError, match="expected one that becomes float32"):
        tf.constant(["a"], tf.float32)


def test_shapes_are_tuples_to_jax():
    array = jnp.ones((2, 3))
    doubled = jax.jit(lambda x: jnp.zeros(x.shape) + jnp.reshape(x, x.shape[::-1]).T)(array)

    assert [2, 3] == doubled.shape.as_list()
    assert (3, 4) == jax.tree.map(lambda size: size + 1, array.shape)
    assert [2, 3] == jax.tree.leaves({"shape": array.shape})
    assert (2, 3) == jax.eval_shape(lambda x: jnp.broadcast_to(x[0], x.shape), array).shape


@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_a_tensor_in_a_function_lies_nowhere_unless_it_is_in_a_replica(backend):
    seen = []

    def noted():
        seen.append((tf.constant(1.0) + 1.0).device)

    with tf.using(backend, cpus=2):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        tf.function(lambda x: seen.append(x.device))(tf.constant(1.0))
        tf.function(lambda: strategy.run(noted))()

    place = "/job:localhost/replica:0/task:0/device:CPU:"
    assert seen == ["", f"{place}0", f"{place}1"]
