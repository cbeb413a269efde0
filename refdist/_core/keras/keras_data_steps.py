"""The steps of Keras in the form that they have on TensorFlow: they take a batch, and write variables themselves.

Steps of users that are written for TensorFlow call them as `super().train_step(data)`.
"""

import importlib
import warnings
from typing import Any

from refdist._core.tape.gradient_tape import GradientTape

_adapters: Any = importlib.import_module("keras.src.trainers.data_adapters.data_adapter_utils")
_losses: Any = importlib.import_module("keras.src.losses.loss")
_tree: Any = importlib.import_module("keras.src.tree")


def train_step(model: Any, data: Any) -> Any:
    """Take a training step, and return what the metrics say."""
    x, y, sample_weight = _adapters.unpack_x_y_sample_weight(data)
    optimizer: Any = model.optimizer
    with GradientTape() as tape:
        predicted = _predicted(model, x, training=True)
        loss = _tracked_loss(model, x, y, predicted, sample_weight, training=True)
        if optimizer:
            loss = optimizer.scale_loss(loss)
    variables = model.trainable_variables
    if variables:
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
    else:
        warnings.warn("The model does not have any trainable weights.", stacklevel=3)
    return model.compute_metrics(x, y, predicted, sample_weight=sample_weight)


def test_step(model: Any, data: Any) -> Any:
    """Take an evaluation step, and return what the metrics say."""
    x, y, sample_weight = _adapters.unpack_x_y_sample_weight(data)
    predicted = _predicted(model, x, training=False)
    _tracked_loss(model, x, y, predicted, sample_weight, training=False)
    return model.compute_metrics(x, y, predicted, sample_weight=sample_weight)


def predict_step(model: Any, data: Any) -> Any:
    """Return what the model predicts."""
    x, _, _ = _adapters.unpack_x_y_sample_weight(data)
    return _predicted(model, x, training=False)


def _predicted(model: Any, x: Any, *, training: bool) -> Any:
    return model(x, training=training) if model._call_has_training_arg else model(x)


def _tracked_loss(model: Any, x: Any, y: Any, predicted: Any, sample_weight: Any, *, training: bool) -> Any:
    loss = model._compute_loss(x=x, y=y, y_pred=predicted, sample_weight=sample_weight, training=training)
    rows = next(one for one in _tree.flatten(x) if one is not None).shape[0]
    model._loss_tracker.update_state(_losses.unscale_loss_for_distribution(loss), sample_weight=rows)
    return loss
