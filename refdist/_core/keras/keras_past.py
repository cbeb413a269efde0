"""What Keras 2 had and the Keras 3 of TensorFlow 2.21 does not: names, attributes, arguments, and what to use instead of them."""

import functools
import importlib
import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Never

from refdist._core.keras.keras_past_words import ARGUMENTS, ATTRIBUTES, FOR_MODULES, NAMES

_OUR_NAME, _KERAS = "tf.keras", "keras._tf_keras.keras"


def install() -> None:
    """Let Keras say what to use instead, wherever it is asked for something of its past."""
    root: Any = importlib.import_module(_KERAS)
    for name, word in FOR_MODULES.items():
        module = functools.reduce(getattr, name.split(".") if name else [], root)
        module.__getattr__ = _lacking(name, word)
    for place, words in ATTRIBUTES.items():
        for name, word in words.items():
            if not hasattr(_found(place), name):  # what Keras has again is left alone
                setattr(_found(place), name, _Gone(place.rpartition(".")[2], name, word))
    for places, words in ARGUMENTS.items():
        for place in places.split():
            kind, _, method = place.rpartition(".")
            setattr(_found(kind), method, _refusing(getattr(_found(kind), method), words))
    metric: Any = _found("metrics.Metric")
    metric.add_weight = _with_shape(metric.add_weight)
    losses: Any = importlib.import_module("keras.src.losses.loss")
    losses.standardize_reduction = _with_automatic(losses.standardize_reduction)
    trainer: Any = importlib.import_module("refdist._core.keras.trainer").Trainer
    trainer.compiled_loss, trainer.compiled_metrics = _compiled_loss, property(_CompiledMetrics)


def _found(place: str) -> Any:
    module, _, name = place.rpartition(".")
    return getattr(importlib.import_module(f"keras.src.{module}"), name)


def _lacking(module: str, word: str) -> Callable[[str], Never]:
    home = ".".join(filter(None, (_OUR_NAME, module)))

    def missing(name: str) -> Never:
        text = f"module {home!r} has no attribute {name!r}"
        if name.startswith("__"):  # what Python itself looks for
            raise AttributeError(text, name=name)
        instead = NAMES.get(f"{module}.{name}" if module else name, word)
        raise AttributeError(
            f"{text}: {home}.{name} was asked for; expected a name of Keras 3, which TensorFlow 2.21 has. Use {instead}.",
            name=name,
        )

    return missing


class _Gone:
    """An attribute that objects no longer have; they may be given one of this name."""

    def __init__(self, kind: str, name: str, word: str) -> None:
        self._kind, self._name, self._word = kind, name, word

    def __get__(self, owner: Any, kind: type) -> Never:
        raise AttributeError(
            f"{kind.__name__!r} object has no attribute {self._name!r}: this was asked of a {self._kind} of Keras 2; expected one "
            f"of Keras 3, which TensorFlow 2.21 has. Use {self._word}.",
            name=self._name,
            obj=owner,
        )


def _refusing(original: Callable[..., Any], words: Mapping[str, str]) -> Callable[..., Any]:
    """The same method, which names the argument of the past that it got, before Keras says that it knows no such argument."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        for name in kwargs.keys() & words.keys():
            called = type(self).__name__ if original.__name__ == "__init__" else original.__name__
            # Both kinds of error, because Keras raises one for some classes, and Python the other for the rest.
            raise _UnknownArgumentError(
                f"{called}() got {name}=, an argument of Keras 2; expected those of Keras 3, which TensorFlow 2.21 has. Use "
                f"{words[name]}."
            )
        return original(self, *args, **kwargs)

    made: Any = method
    made.__signature__ = inspect.signature(original)  # which Keras looks at first
    return made


class _UnknownArgumentError(TypeError, ValueError):
    """An argument that is not there any more."""


def _with_shape(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def add_weight(self: Any, shape: Any = (), *args: Any, **kwargs: Any) -> Any:
        if isinstance(shape, str):
            raise _UnknownArgumentError(
                f"add_weight() got {shape!r} first, where Keras 2 had the name; expected a shape. Use name={shape!r}."
            )
        return original(self, shape, *args, **kwargs)

    return add_weight


def _with_automatic(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def standardize_reduction(reduction: Any) -> Any:
        if reduction == "auto":
            raise ValueError(
                "A loss got reduction='auto', which Keras 2 had; expected one of 'sum_over_batch_size', 'sum', 'mean', "
                "'mean_with_sample_weight', 'none' or None. Leave it out, or use 'none' in a replica, and "
                "tf.nn.compute_average_loss()."
            )
        return original(reduction)

    return standardize_reduction


def _compiled_loss(self: Any, y: Any, y_pred: Any, sample_weight: Any = None, regularization_losses: Any = None) -> Any:
    warnings.warn("model.compiled_loss() is deprecated; use model.compute_loss().", stacklevel=2)
    return self.compute_loss(x=None, y=y, y_pred=y_pred, sample_weight=sample_weight)


class _CompiledMetrics:
    """What a model of Keras 2 had for the metrics that compile() got."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def update_state(self, y: Any, y_pred: Any, sample_weight: Any = None) -> None:
        """Update all metrics; a mean takes the predictions alone."""
        warnings.warn("model.compiled_metrics is deprecated; use the metrics in model.metrics.", stacklevel=2)
        mean: Any = _found("metrics.Mean")
        for metric in self._model.metrics:
            given = (y_pred,) if isinstance(metric, mean) else (y, y_pred)
            metric.update_state(*given, sample_weight=sample_weight)
