import pytest

import refdist as tf


@pytest.fixture(scope="module")
def model():
    made = tf.keras.Sequential([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("experimental", "tf.keras.optimizers.schedules"),
        ("utils.experimental", r"strategy.distribute_datasets_from_function\(\) in place of DatasetCreator"),
        ("utils.multi_gpu_model", "tf.distribute.MirroredStrategy"),
        ("layers.experimental", "tf.keras.layers, which has the layers for preprocessing"),
        ("layers.CuDNNLSTM", "tf.keras.layers.LSTM"),
        ("layers.NeverHeardOf", "another layer"),
        ("losses.mean_squared_error", "MSE in the same module"),
        ("metrics.MeanTensor", "tf.keras.metrics.Mean"),
        ("backend.learning_phase", "training="),
        ("backend.get_session", "no sessions"),
        ("mixed_precision.experimental", r"set_global_policy\(\)"),
        ("optimizers.schedules.LinearDecay", "PolynomialDecay"),
        ("preprocessing.text.never", "a tokenizer"),
    ],
)
def test_names_of_the_past_say_what_to_use_instead(name, instead):
    home, _, last = f"keras.{name}".rpartition(".")
    module = tf
    for part in home.split("."):
        module = getattr(module, part)

    with pytest.raises(AttributeError, match=rf"was asked for; expected a name of Keras 3.*\. Use .*{instead}"):
        getattr(module, last)
    assert not hasattr(module, "__path_of_nothing__")


def test_what_tensorflow_has_under_short_names_is_there():
    for name in [
        "MSE",
        "MAE",
        "MAPE",
        "MSLE",
        "KLD",
        "mse",
        "kld",
        "logcosh",
        "cosine_similarity",
        "sparse_categorical_crossentropy",
    ]:
        assert callable(getattr(tf.keras.losses, name))


@pytest.mark.parametrize(
    ("make", "name", "instead"),
    [
        (lambda model: tf.keras.metrics.Mean(), "reset_states", r"reset_state\(\)"),
        (lambda model: model.optimizer, "lr", "learning_rate"),
        (lambda model: model.optimizer, "get_weights", "v.numpy"),
        (lambda model: tf.keras.mixed_precision.LossScaleOptimizer(model.optimizer), "get_scaled_loss", "scale_loss"),
        (lambda model: model, "fit_generator", r"fit\(\)"),
        (lambda model: model, "predict_classes", "numpy.argmax"),
        (lambda model: model.layers[0], "output_shape", r"layer\.output\.shape"),
        (lambda model: tf.keras.layers.Layer(), "add_update", r"assign\(\)"),
    ],
)
def test_attributes_of_the_past_say_what_to_use_instead(make, name, instead, model):
    owner = make(model)

    assert not hasattr(owner, name)
    with pytest.raises(AttributeError, match=rf"has no attribute '{name}': .*; expected .*\. Use .*{instead}"):
        getattr(owner, name)


def test_an_object_may_have_an_attribute_of_such_a_name():
    class Doubled(tf.keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.updates = 3

    assert 3 == Doubled().updates


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        (lambda model: tf.keras.optimizers.Adam(lr=0.1), "learning_rate="),
        (lambda model: tf.keras.layers.Dense(3, batch_input_shape=(2, 3)), "batch_shape="),
        (lambda model: tf.keras.regularizers.l2(l=0.1), "l2="),
        (lambda model: tf.keras.callbacks.ModelCheckpoint("a.keras", period=2), "save_freq="),
        (lambda model: model.fit([[1.0]], workers=2), "tf.data.Dataset"),
        (lambda model: model.compile("sgd", experimental_run_tf_function=False), "run_eagerly="),
        (lambda model: model.save_weights("a", save_format="tf"), "weights.h5"),
        (lambda model: tf.keras.metrics.Accuracy().add_weight("total", initializer="zeros"), "name='total'"),
    ],
)
def test_arguments_of_the_past_say_what_to_use_instead(call, instead, model):
    with pytest.raises(TypeError, match=rf"Keras 2.*; expected .*\. Use .*{instead}"):
        call(model)
    with pytest.raises(ValueError, match="Keras 2"):  # which Keras raises for some of them
        call(model)


def test_a_loss_has_no_automatic_reduction():
    with pytest.raises(ValueError, match=r"'auto', which Keras 2 had; expected .*\. Leave it out"):
        tf.keras.losses.MeanSquaredError(reduction=tf.keras.losses.Reduction.AUTO)


def test_the_compiled_loss_and_metrics_of_a_step_are_there_as_in_tensorflow(model):
    model.compile("sgd", "mse", metrics=["mae"])
    x, y = tf.ones([2, 1]), tf.zeros([2, 1])
    with pytest.warns(UserWarning, match="compute_loss"):
        assert 1.0 == float(model.compiled_loss(y, x, regularization_losses=[]))
    model.evaluate(tf.ones([2, 3]), y, verbose=0)  # which builds the metrics
    model.reset_metrics()
    with pytest.warns(UserWarning, match=r"model\.metrics"):
        model.compiled_metrics.update_state(y, x)
    assert 1.0 == float(model.metrics[-1].result()["mae"])
