import jax
import numpy as np
import pytest

import refdist as tf
from refdist._core.saving.array_file import read_arrays, read_notes, write_arrays

ROWS = tf.TensorSpec([None, 3], tf.float32)


class Model(tf.Module):
    def __init__(self):
        super().__init__()
        self.w = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2))
        self.calls = tf.Variable(0, dtype=tf.int64)

    @tf.function(input_signature=[ROWS])
    def __call__(self, x):
        self.calls.assign_add(1)
        return {"y": tf.matmul(x, self.w), "sum": tf.reduce_sum(x)}

    @tf.function
    def scaled(self, x, factor=2.0, *, twice=False):
        return x * factor * 2.0 if twice else x * factor

    @tf.function
    def never(self, x):
        return x


@pytest.fixture(params=["simulator", "jax"])
def backend(request):
    with tf.using(request.param, cpus=2) as chosen:
        yield chosen


@pytest.fixture
def strategy(backend):
    return tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def round_trip(module, folder, **options):
    tf.saved_model.save(module, str(folder), **options)
    return tf.saved_model.load(str(folder))


def test_functions_are_loaded_with_their_variables_for_any_size_that_is_none(tmp_path, backend):
    loaded = round_trip(Model(), tmp_path)
    results = [loaded(tf.ones([rows, 3])) for rows in (1, 4)]

    assert [[[6.0, 9.0]] * rows for rows in (1, 4)] == [np.asarray(result["y"]).tolist() for result in results]
    assert [3.0, 12.0] == [float(result["sum"]) for result in results]
    assert 2 == loaded.calls.numpy()  # a loaded function writes its variables
    loaded.w.assign(tf.zeros([3, 2]))
    assert [[0.0, 0.0]] == np.asarray(loaded(tf.ones([1, 3]))["y"]).tolist()
    with pytest.raises(TypeError, match=r"shape \(1, 2\).*expected TensorSpec"):
        loaded(tf.ones([1, 2]))


def test_a_function_is_saved_for_each_kind_of_call_that_it_has_had(tmp_path, backend):
    model = Model()
    model.scaled(tf.ones([2]))
    model.scaled(tf.ones([3]), 3.0)
    model.scaled(tf.ones([2]), twice=True)
    loaded = round_trip(model, tmp_path)
    results = [
        loaded.scaled(tf.ones([2])),
        loaded.scaled(np.ones(3, np.float32), 3.0),
        loaded.scaled(x=np.ones(2, np.float32), twice=True),
    ]

    assert [[2.0] * 2, [3.0] * 3, [4.0] * 2] == [np.asarray(result).tolist() for result in results]
    with pytest.raises(ValueError, match=r"scaled\(\) got arguments of none of the kinds"):
        loaded.scaled(tf.ones([4]))
    with pytest.raises(ValueError, match=r"never\(\) was loaded without a program \(it has no input_signature"):
        loaded.never(tf.ones([4]))
    assert "scaled" in repr(loaded.scaled)


def test_a_model_of_one_strategy_is_loaded_into_another(tmp_path, strategy):
    with strategy.scope():
        model = Model()
    plain = round_trip(model, tmp_path)
    with strategy.scope():
        distributed = tf.saved_model.load(str(tmp_path))

    def step(rows):
        return distributed(rows)["y"]

    eager = strategy.run(step, args=(tf.ones([1, 3]),))
    staged = tf.function(lambda rows: strategy.run(step, args=(rows,)))(tf.ones([1, 3]))

    assert [[6.0, 9.0]] == np.asarray(plain(tf.ones([1, 3]))["y"]).tolist()
    assert "MirroredVariable" == type(distributed.w).__name__
    for result in (eager, staged):
        assert [[[6.0, 9.0]]] * 2 == [np.asarray(part).tolist() for part in strategy.experimental_local_results(result)]


def test_a_loaded_function_is_part_of_other_functions_and_has_a_derivative(tmp_path, backend):
    model = Model()
    model.scaled(tf.ones([2]))
    loaded = round_trip(model, tmp_path)

    assert [3.0, 3.0] == np.asarray(tf.function(lambda x: loaded.scaled(x) + 1.0)(tf.ones([2]))).tolist()
    assert [2.0, 2.0] == jax.grad(lambda x: loaded.scaled(x).sum())(jax.numpy.ones(2)).tolist()


def test_signatures_take_names_and_return_dicts(tmp_path, backend):
    model = Model()
    loaded = round_trip(model, tmp_path / "default")
    serving = loaded.signatures[tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY]
    module = tf.Module()
    module.add = tf.function(lambda x, y: (x + y, x))
    concrete = module.add.get_concrete_function(tf.TensorSpec([2], tf.float32), tf.TensorSpec([2], tf.float32))
    added = round_trip(module, tmp_path / "own", signatures={"add": concrete}).signatures["add"]

    assert ["sum", "y"] == sorted(serving(x=tf.ones([1, 3]))) == sorted(serving(tf.ones([1, 3])))
    assert ((), {"x": tf.TensorSpec([None, 3], tf.float32, "x")}) == serving.structured_input_signature
    assert tf.TensorSpec([None, 2], tf.float32) == serving.structured_outputs["y"]
    assert ["output_0", "output_1"] == list(added(y=tf.ones([2]), x=tf.zeros([2])))
    with pytest.raises(TypeError, match=r"expected the names \['x', 'y'\]"):
        added(tf.ones([2]), tf.ones([2]))
    with pytest.raises(TypeError, match=r"got \['x'\]; expected"):
        added(x=tf.ones([2]))
    with pytest.raises(ValueError, match="as the signature 'serving_default'; expected a tf"):
        tf.saved_model.save(module, str(tmp_path / "bad"), signatures=module.add)
    assert tf.saved_model.contains_saved_model(str(tmp_path / "own"))
    assert not tf.saved_model.contains_saved_model(str(tmp_path / "bad"))


def test_a_variable_that_is_not_saved_is_told(tmp_path):
    outside, module = tf.Variable(1.0), tf.Module()
    module.f = tf.function(lambda x: x * outside, input_signature=[tf.TensorSpec([], tf.float32)])
    with pytest.raises(ValueError, match="uses a variable that is no attribute"):
        tf.saved_model.save(module, str(tmp_path / "m"))

    assert not (tmp_path / "m").exists()


def test_random_numbers_are_drawn_anew_in_each_call(tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda: tf.random.uniform([4]), input_signature=[])
    loaded = round_trip(module, tmp_path)

    for draw in (loaded.f, tf.function(lambda: loaded.f() + 1.0)):
        assert np.asarray(draw()).tolist() != np.asarray(draw()).tolist()


def test_a_module_without_a_call_and_a_file_of_nonsense_are_told(tmp_path):
    loaded = round_trip(tf.Module(), tmp_path)
    with pytest.raises(TypeError, match="A loaded model was called"):
        loaded(1)
    tf.saved_model.save(Model(), str(tmp_path))
    file = tmp_path / "functions.safetensors"
    write_arrays(file, read_arrays(file), dict.fromkeys(read_notes(file), '{"arguments": 3}'))
    with pytest.raises(ValueError, match="what cannot be read"):
        tf.saved_model.load(str(tmp_path))
