"""Models whose steps are written for TensorFlow, and what TensorFlow says about training them.

TensorFlow's own answers are in tests/fixtures/step_answers.json: `python step_programs.py` records them.
"""

import numpy as np

ROWS = (np.arange(36, dtype=np.float32).reshape(12, 3) % 7 - 3) / 5
TARGETS = ROWS @ np.array([[1.0], [-2.0], [0.5]], np.float32) + 0.3
WEIGHTS = np.linspace(0.5, 1.5, 12, dtype=np.float32)

MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


def layers(tf):
    kinds = tf.keras.layers
    inputs = tf.keras.Input((3,))
    hidden = kinds.Dense(4, activation="tanh", kernel_initializer=ramp(tf), kernel_regularizer="l2")(inputs)
    return inputs, kinds.Dense(1, kernel_initializer=ramp(tf))(hidden)


def ramp(tf):
    def initializer(shape, dtype=None):
        return tf.reshape(tf.range(float(np.prod(shape))), shape) / 10.0 - 0.3

    return initializer


@model
def steps_of_keras(tf):
    class Counted(tf.keras.Model):
        def train_step(self, data):
            logs = super().train_step(data)
            logs["twice"] = 2.0 * logs["loss"]
            return logs

        def test_step(self, data):
            return super().test_step(data)

        def predict_step(self, data):
            return super().predict_step(data) + 1.0

    return Counted(*layers(tf))


@model
def a_loss_of_the_compiled_kind(tf):
    class Custom(tf.keras.Model):
        def train_step(self, data):
            x, y, *weights = data
            weight = weights[0] if weights else None
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=weight)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))  # noqa: B905, as in the guide
            return self.compute_metrics(x, y, y_pred, sample_weight=weight)

    return Custom(*layers(tf))


@model
def metrics_by_name(tf):
    class Guided(tf.keras.Model):
        def train_step(self, data):
            x, y = data[0], data[1]
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compute_loss(y=y, y_pred=y_pred)
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply(gradients, self.trainable_variables)
            for metric in self.metrics:
                if metric.name == "loss":
                    metric.update_state(loss)
                else:
                    metric.update_state(y, y_pred)
            return {metric.name: metric.result() for metric in self.metrics}

    return Guided(*layers(tf))


@model
def a_loss_of_its_own(tf):
    class Penalised(tf.keras.Model):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            loss = super().compute_loss(x, y, y_pred, sample_weight, training)
            return loss + 0.01 * tf.reduce_mean(tf.square(y_pred))

        def train_step(self, data):
            return super().train_step(data)

    return Penalised(*layers(tf))


@model
def a_step_around_a_step(tf):
    class Base(tf.keras.Model):
        def train_step(self, data):
            logs = super().train_step(data)
            return {**logs, "base": logs["loss"]}

    class Noted(Base):
        def train_step(self, data):
            x, y, *rest = data
            return {**super().train_step((x * 0.5, y, *rest)), "noted": tf.reduce_mean(y)}

    return Noted(*layers(tf))


def trained(tf, name, strategy, *, weights=False):
    """The history of two epochs, what evaluate() gives, and two predictions."""
    with strategy.scope():
        one = MODELS[name](tf)
        one.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse", metrics=["mae"])
    extra = (WEIGHTS,) if weights else ()
    data = tf.data.Dataset.from_tensor_slices((ROWS, TARGETS, *extra)).batch(6)
    history = one.fit(data, epochs=2, verbose=0).history
    evaluated = one.evaluate(data, verbose=0, return_dict=True)
    predicted = one.predict(ROWS[:6], batch_size=6, verbose=0)
    return {
        "history": {key: [float(value) for value in values] for key, values in history.items()},
        "evaluated": {key: float(value) for key, value in evaluated.items()},
        "predicted": np.asarray(predicted)[:2].ravel().tolist(),
    }


CASES = [("steps_of_keras", count, True) for count in (1, 2, 3)]
CASES += [("a_loss_of_the_compiled_kind", 2, True), ("metrics_by_name", 3, False)]
CASES += [("a_loss_of_its_own", 2, True), ("a_step_around_a_step", 2, True)]


def _record():
    import json
    import pathlib

    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
    answers = {}
    for name, count, weights in CASES:
        to_one = tf.distribute.ReductionToOneDevice()  # others take strategies of one size only, in one process
        strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(count)], to_one)
        answers[f"{name} {count}"] = trained(tf, name, strategy, weights=weights)
    path = pathlib.Path(__file__).parents[2] / "fixtures" / "step_answers.json"
    path.write_text(json.dumps({"tensorflow": tf.__version__, "answers": answers}, indent=1) + "\n")


if __name__ == "__main__":
    _record()
