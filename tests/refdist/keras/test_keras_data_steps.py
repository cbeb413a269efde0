"""Steps for TensorFlow, those of Keras among them, give TensorFlow's numbers on any number of replicas."""

import json
import pathlib

import numpy as np
import pytest

import refdist as tf
from tests.refdist.keras.step_programs import CASES, ROWS, TARGETS, layers, trained

ANSWERS = json.loads((pathlib.Path(__file__).parents[2] / "fixtures/step_answers.json").read_text())["answers"]


@pytest.mark.parametrize(("name", "count", "weights"), CASES)
def test_they_give_the_numbers_of_tensorflow(name, count, weights):
    with tf.using("simulator", cpus=count):
        strategy = tf.distribute.MirroredStrategy([f"CPU:{i}" for i in range(count)])
        actual = trained(tf, name, strategy, weights=weights)

    expected = ANSWERS[f"{name} {count}"]
    for part in ("history", "evaluated"):
        assert expected[part].keys() == actual[part].keys()
        for key, values in expected[part].items():
            np.testing.assert_allclose(actual[part][key], values, rtol=1e-5, err_msg=key)
    np.testing.assert_allclose(actual["predicted"], expected["predicted"], rtol=1e-4)


def test_a_step_without_weights_to_train_says_so():
    model = tf.keras.Model(*layers(tf))
    model.trainable = False
    model.compile(optimizer="sgd", loss="mse")

    with pytest.warns(UserWarning, match="does not have any trainable weights"):
        logs = model.train_step((ROWS, TARGETS))
    assert ["loss"] == list(logs)
