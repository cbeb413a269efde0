"""The variables of Keras: each is held by a `tf.Variable`, whose kind depends on the scope in which it is created."""

import functools
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from refdist._core.base.enums import VariableAggregation, VariableSynchronization
from refdist._core.base.tensor_shape import StaticShape, get_shape
from refdist._core.base.where import HERE
from refdist._core.replicas import context
from refdist._core.variables.tensors import Readable
from refdist._core.variables.variable import Variable

_core: Any = importlib.import_module("keras.src.backend.jax.core")
_state: Any = importlib.import_module("keras.src.backend.common.global_state")
_layers: Any = importlib.import_module("keras.src.layers.layer")
_stateless: Any = importlib.import_module("keras.src.backend.common.stateless_scope")
_symbolic: Any = importlib.import_module("keras.src.backend.common.symbolic_scope")


def install() -> None:
    """Make Keras keep the values of its variables in ours."""
    kind = _core.JaxVariable
    kind.__bases__ = (*kind.__bases__, Readable)
    kind.read_value = _read_value
    kind.__init__ = _remembering_its_maker(kind.__init__)
    kind.__array__ = _array
    kind.value = property(_value)
    kind.shape = property(lambda self: StaticShape(self._shape))
    kind.get_shape = get_shape
    kind._direct_assign = _direct_assign
    kind._initialize_with_initializer = _initialize_with_initializer


def tensor(value: Any) -> Any:
    """Convert a tensor or variable of any backend to a JAX array, with the precision that JAX uses at present."""
    return _core.convert_to_tensor(value.read_value() if isinstance(value, Variable) else value)


def held(variable: Any) -> Variable:
    """The variable that holds a variable of Keras."""
    value: Any = variable._value
    if value is None:
        variable._deferred_initialize()  # a model that is built inside tf.function leaves this to the first use
        value = variable._value
    if isinstance(value, Variable):
        return value
    _hold(variable, value)  # it was made before the hooks were in place
    return variable._value


def adopted(variable: Variable) -> Any:
    """Make a variable of Keras that a variable of ours holds."""
    name = variable.name.partition(":")[0].replace("/", "_")
    existing = _Existing(variable)
    return _core.JaxVariable(existing, variable.shape, variable.dtype, trainable=variable.trainable, name=name)


class _Existing:
    """Stands where Keras expects the initializer of a variable that is there already."""

    def __init__(self, variable: Variable) -> None:
        self.variable = variable

    def __call__(self, *_: Any, **__: Any) -> Any:
        return tensor(self.variable)


def _remembering_its_maker(original: Callable[..., None]) -> Callable[..., None]:
    """Let a variable know whether a layer makes it, though it may get its value later."""

    @functools.wraps(original)
    def initialize(self: Any, *args: Any, **kwargs: Any) -> None:
        scopes = _state.get_global_attribute("name_scope_stack") or [None]
        self._of_layer = isinstance(getattr(scopes[-1], "caller", None), _layers.Layer)
        original(self, *args, **kwargs)

    return initialize


def _read_value(self: Any) -> Any:
    """The current value as a tensor, for functions that take variables and tensors alike."""
    scope = _stateless.get_stateless_scope()
    known = None if scope is None else scope.get_current_value(self)
    if known is None and _symbolic.in_symbolic_scope():
        return _core.jnp.zeros(self._shape, self._dtype)  # only its shape matters
    return held(self).read_value() if known is None else known


def _array(self: Any, dtype: Any = None, copy: Any = None) -> Any:
    return np.asarray(self.value, dtype=dtype)


def _value(self: Any) -> Any:
    scope = _stateless.get_stateless_scope()
    known = None if scope is None else scope.get_current_value(self)
    if known is not None:
        return self._maybe_autocast(known)
    if self._value is None:
        return self._maybe_autocast(self._initializer(self._shape, dtype=self._dtype))
    if _symbolic.in_symbolic_scope():
        return self._maybe_autocast(_core.jnp.zeros(self._shape, self._dtype))  # only its shape matters
    # Keras, layers and replicas compute with tensors. Other callers get the variable, as from TensorFlow's Keras.
    caller = sys._getframe(1).f_globals.get("__name__", "")  # pyright: ignore[reportPrivateUsage]
    frame = HERE.get().frame
    computing = caller.startswith("keras.") or (frame is not None and frame.replica is not None) or _in_layer()
    if not computing:
        return held(self)
    value = tensor(self._value)
    tapes = HERE.get().tapes
    if tapes is not None and not caller.startswith("keras."):
        tapes.shown(held(self), value)  # whom the user may ask to watch it: in TensorFlow it is the variable
    return self._maybe_autocast(value)


def _in_layer() -> bool:
    return _state.get_global_attribute("current_call_ctx") is not None


def _initialize_with_initializer(self: Any, initializer: Callable[..., Any]) -> None:
    if isinstance(initializer, _Existing):
        self._value = initializer.variable
        return
    # A function, so that a value made inside tf.function does not become part of the program.
    _hold(self, lambda: self._convert_to_tensor(initializer(self._shape, dtype=self._dtype)))


def _direct_assign(self: Any, value: Any) -> None:
    if getattr(self, "_value", None) is None and self._initializer is None:
        _hold(self, value)
        return
    variable = held(self)
    if _sums_in_one_copy(variable):
        # All replicas add to the same sum, which must grow by what each of them adds.
        variable.assign_add(value - tensor(variable))
    else:
        variable.assign(value)


def _hold(self: Any, value: Any) -> None:
    synchronization = VariableSynchronization[self.synchronization.upper()]
    aggregation = VariableAggregation[self.aggregation.upper()]
    if _keeps_track(self):
        synchronization, aggregation = VariableSynchronization.ON_READ, VariableAggregation.ONLY_FIRST_REPLICA
    self._value = Variable(
        value, trainable=self.trainable, name=self.name, synchronization=synchronization, aggregation=aggregation
    )


def _keeps_track(self: Any) -> bool:
    """Say whether a layer keeps track of its inputs in a variable, such as a moving average.

    As in TensorFlow, each replica then has a value of its own, and outside there is that of the first.
    """
    ours = getattr(self, "_of_layer", False) and not self.trainable
    return ours and self.aggregation == "none" and self.synchronization == "auto" and "float" in self.dtype


def _sums_in_one_copy(variable: Variable) -> bool:
    """Say whether replicas sum up in a variable that has a single copy, as under central storage."""
    replica = context.get_replica_context()
    several = replica is not None and replica.num_replicas_in_sync > 1
    return several and variable.synchronization is VariableSynchronization.ON_READ and not variable.own_copies
