"""What checkpoints find in Keras objects: the variables that these track, each at its place."""

import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

from refdist._core.keras.keras_variables import held
from refdist._core.replicas.specs import TensorSpec
from refdist._core.saving.module import WAITING, Module, Trackable, Waiting
from refdist._core.staging.decorator import function
from refdist._core.variables.variable import Variable

_core: Any = importlib.import_module("keras.src.backend.jax.core")
_tracking: Any = importlib.import_module("keras.src.utils.tracking")
_optimizers: Any = importlib.import_module("keras.src.optimizers.base_optimizer")
_inputs: Any = importlib.import_module("keras.src.layers.core.input_layer")
_sequential: Any = importlib.import_module("keras.src.models.sequential")
_seeds: Any = importlib.import_module("keras.src.random.seed_generator")


def install() -> None:
    """Make variables that are created later get the values that wait for them."""
    _tracking.Tracker.add_to_store = _assigning_when_tracked(_tracking.Tracker.add_to_store)
    kind = _core.JaxVariable
    kind._initialize_with_initializer = _assigning_when_initialized(kind._initialize_with_initializer)


def is_trackable(value: Any) -> bool:
    """Say whether a Keras object has variables: a layer, model, optimizer, metric or seed generator, or is a variable."""
    return hasattr(value, "_tracker") or isinstance(value, (_core.JaxVariable, _seeds.SeedGenerator))


def variable(value: Any) -> Variable | None:
    """Return the variable that holds a variable of Keras, or None if that has no value yet."""
    return held(value) if isinstance(value, _core.JaxVariable) and value._value is not None else None


def children(value: Any) -> Iterator[tuple[str, Any]]:
    """Deliver the parts of a Keras object, under names that are the same for every object made in the same way."""
    if isinstance(value, _seeds.SeedGenerator):
        yield "state", value.state
    if not hasattr(value, "_tracker"):
        return
    for name, (_, store) in value._tracker.config.items():
        # Input layers do not count, because some models make one only when they are built.
        yield f"_{name}", [one for one in value._layers if not _is_input(one)] if name == "layers" else store
    for name, child in sorted(vars(value).items()):
        if isinstance(child, (Variable, Trackable, _optimizers.BaseOptimizer)):
            yield name, child


def servable(value: Any) -> Trackable:
    """A module that computes what a model does outside of training, for tensors of the shapes that it has been built for."""
    specs = _input_specs(value)

    def call(*tensors: Any) -> Any:
        return value(tensors[0] if len(tensors) == 1 else list(tensors), training=False)

    module = Module()
    vars(module).update({"model": value, "__call__": function(call, input_signature=specs)})
    return module


def _input_specs(model: Any) -> list[TensorSpec]:
    inputs = getattr(model, "inputs", None)
    if isinstance(inputs, list):
        return [TensorSpec(tuple(one.shape), one.dtype, one.name) for one in inputs]
    called_with = list((getattr(model, "_build_shapes_dict", None) or {}).values())  # by the first call
    if len(called_with) != 1 or isinstance(called_with[0], dict):
        raise ValueError(
            f"saved_model.save() got a {type(model).__name__} that says nothing of its inputs; expected a model that was made of "
            f"layers and an Input, or called with a tensor or a list of them. Do one of these, or save it with "
            f"model.save('model.keras')."
        )
    shapes = called_with[0] if isinstance(called_with[0][0], (list, tuple)) else called_with
    names = ["inputs", *(f"inputs_{number}" for number in range(1, len(shapes)))]
    return [TensorSpec(tuple(shape), model.input_dtype, name) for shape, name in zip(shapes, names, strict=True)]


def holder(value: Any) -> dict[str, Any]:
    """Return the attributes among which a Keras object keeps what it waits for: those of its tracker, which gets its parts."""
    # A sequential model also tracks a model that it makes of its layers, so they cannot be counted there.
    seen = hasattr(value, "_tracker") and not isinstance(value, _sequential.Sequential)
    return vars(value._tracker if seen else value)


def _assigning_when_tracked(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def add_to_store(self: Any, store_name: str, value: Any) -> None:
        original(self, store_name, value)
        waiting: Waiting | None = vars(self).get(WAITING)
        if waiting is not None and not _is_input(value):
            count = sum(not _is_input(one) for one in self.config[store_name][1])
            waiting.values.give(value, (*waiting.place, f"_{store_name}", str(count - 1)))

    return add_to_store


def _assigning_when_initialized(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def initialize(self: Any, initializer: Callable[..., Any]) -> None:
        original(self, initializer)
        waiting: Waiting | None = vars(self).pop(WAITING, None)
        if waiting is not None:
            waiting.values.give(self, waiting.place)

    return initialize


def _is_input(value: Any) -> bool:
    return isinstance(value, _inputs.InputLayer)
