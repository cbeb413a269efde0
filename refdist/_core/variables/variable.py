"""Variables: one copy, or several that agree on write or on read."""

import contextvars
import operator
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Never, TypeVar, cast

import numpy as np

from refdist._core.base.call_sites import call_site, where
from refdist._core.base.enums import VariableAggregation, VariableSynchronization
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import is_jax, loaded, staging, tracing
from refdist._core.base.operators import Operators, add_operators
from refdist._core.base.pytree_nodes import is_node
from refdist._core.base.tensor_shape import SAME_SIZES, StaticShape, TensorShape, get_shape
from refdist._core.base.where import HERE, where_of
from refdist._core.devices.device import Device
from refdist._core.devices.tensor import Tensor, dtype_name, numpy_text, sizes_of
from refdist._core.replicas import context
from refdist._core.replicas.drift import suspect
from refdist._core.replicas.values import WRITING, Storage
from refdist._core.seam.backend import host_device
from refdist._core.variables.scattering import Operation, Scatterable
from refdist._core.variables.tensors import Readable, current_value, initial_tensor, new_tensor, require_single

if TYPE_CHECKING:
    from refdist._core.seam.backend import Backend
    from refdist._core.strategies.strategy import StrategyBase

# Every variable that a program has made and still holds: a trace must know which ones it could meet. Keyed by id,
# because variables are not hashable.
LIVE: "weakref.WeakValueDictionary[int, Variable]" = weakref.WeakValueDictionary()


Made = TypeVar("Made")


class _Creation(type):
    """Lets every `Variable(...)` pass through the creators of the scopes around it."""

    def __call__(cls: type[Made], *args: Any, **kwargs: Any) -> Made:
        if cls is not Variable:
            return super().__call__(*args, **kwargs)
        for name, value in zip(("initial_value", "trainable"), args, strict=False):
            kwargs[name] = value
        if len(args) > 2:
            raise TypeError(
                f"Variable() got {len(args)} positional arguments; expected initial_value and trainable. Name the others."
            )
        create: Callable[..., Any] = super().__call__
        for creator in context.creators():
            create = _bound(creator, create)
        draft = HERE.get().draft
        made: Any = create(**kwargs) if draft is None else draft.create(create, kwargs)
        _remember(made)
        return cast("Made", made)


def _remember(made: Any) -> None:
    if isinstance(made, Variable):
        LIVE.update((id(one), one) for one in made.shards)
        if (journal := HERE.get().journal) is not None:
            journal.made(made)


def _bound(creator: context.Creator, following: Callable[..., Any]) -> Callable[..., Any]:
    def create(**kwargs: Any) -> Any:
        return creator(following, **kwargs)

    return create


_SHAPE, _DTYPE = operator.attrgetter("shape"), operator.attrgetter("dtype")


class Variable(Readable, Scatterable, Operators, metaclass=_Creation):
    """A tensor that can be replaced, on one device.

    In the scope of a strategy, the strategy decides what a new variable becomes.

    >>> import refdist as tf
    >>> v = tf.Variable(1.0)
    >>> v.assign_add(2.0)
    <tf.Variable 'Variable:0' shape=() dtype=float32, numpy=3.0>
    """

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        *,
        name: str | None = None,
        dtype: Any = None,
        shape: Any = None,
        validate_shape: bool = True,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        constraint: Callable[[Any], Any] | None = None,
    ) -> None:
        if initial_value is None:
            raise ValueError(
                "Variable() got no initial_value; expected one, or a function that makes it. Pass a value."
            )
        value = initial_value() if callable(initial_value) and not is_node(initial_value) else initial_value
        self._backend = context.backend()
        self._device = HERE.get().device or host_device(self._backend)
        first = initial_tensor(self._backend, self._device, value, dtype)
        self.storage = Storage([first], [self._device])
        self._shape, self._dtype = StaticShape(first.shape), first.dtype
        if shape is not None and validate_shape:
            listed = isinstance(shape, (tuple, list))
            given: Any = tuple(cast("list[Any]", shape)) if listed else TensorShape(shape)
            if given != self.shape:
                raise ValueError(
                    f"Variable() got an initial value of shape {self.shape} and shape={given}; expected them "
                    f"to be equal. Leave out shape, or give it the value's."
                )
        self._name = name or "Variable"
        self._trainable = (
            synchronization is not VariableSynchronization.ON_READ if trainable is None else bool(trainable)
        )
        self._synchronization, self._aggregation = synchronization, aggregation
        self._constraint = constraint
        self._strategy: StrategyBase | None = None
        self._container: Variable | None = None

    own_copies = False  # whether each replica has a value of its own
    _place = 0  # which of the copies of its container it is

    def belong(self, strategy: "StrategyBase", container: "Variable", place: int = 0) -> None:
        """Remember in whose scope the variable was made, and which copy of which distributed variable it is."""
        self._strategy = strategy
        if container is not self:
            self._container, self._place, self.storage = container, place, container.storage

    # Getters written in C, because every write calls them.
    shape = property(operator.attrgetter("_shape"), doc="The shape of each copy.")
    get_shape = get_shape
    dtype = property(operator.attrgetter("_dtype"), doc="The dtype of its values.")
    trainable = property(operator.attrgetter("_trainable"), doc="Whether tapes watch it.")
    synchronization = property(operator.attrgetter("_synchronization"), doc="When its copies are made equal.")
    aggregation = property(operator.attrgetter("_aggregation"), doc="How what replicas write is combined.")
    constraint = property(operator.attrgetter("_constraint"), doc="What an optimizer applies after its update.")
    distribute_strategy = property(operator.attrgetter("_strategy"), doc="The strategy in whose scope it was made.")
    container = property(operator.attrgetter("_container"), doc="What it is a part of, if of anything.")
    name = property(lambda self: f"{self._name}:0", doc="Its name, with a zero after it as TensorFlow writes it.")
    ndim = property(lambda self: len(self.shape), doc="The number of dimensions.")
    get_shape = get_shape
    shards = property(lambda self: (self,), doc="The variables that hold its rows: itself, unless it is cut.")

    @property
    def device(self) -> str:
        """The full name of the device on which the variable lives."""
        return self._device

    def read_value(self) -> Any:
        """The current value; a replica gets it on its own device."""
        stored, where = self.stored, HERE.get()
        if where.draft is None:
            if loaded() is not None and staging():
                context.require_not_staged(f"The variable {self.name!r}")
            # The value of a parameter server is brought here, because nothing is computed there.
            here = where.device or (host_device(self._backend) if self._device.job == "ps" else None)
            if here is not None and here != self._device:
                stored = self._backend.copy(stored, here)
        return stored if where.tapes is None else where.tapes.read(self, stored)

    def value(self) -> Any:
        """The same as `read_value`."""
        return self.read_value()

    def numpy(self) -> Any:
        """The current value as a numpy array or scalar."""
        return self.backend.get(self.read_value())[()]

    def assign(self, value: Any, use_locking: Any = None, name: Any = None, read_value: bool = True) -> Any:
        """Replace the value; with read_value=False nothing is returned."""
        written = self.write("assign", replace, value)
        return written if read_value else None

    def assign_add(self, delta: Any, use_locking: Any = None, name: Any = None, read_value: bool = True) -> Any:
        """Add to the value."""
        written = self.write("assign_add", operator.add, delta)
        return written if read_value else None

    def assign_sub(self, delta: Any, use_locking: Any = None, name: Any = None, read_value: bool = True) -> Any:
        """Subtract from the value."""
        written = self.write("assign_sub", operator.sub, delta)
        return written if read_value else None

    def write(self, verb: str, operation: Operation, value: Any) -> Any:
        """Replace the value with the result of an operation on it and an operand."""
        operand = self.operand(verb, value)
        frame = HERE.get().frame
        if self._container is None and frame is not None and frame.replica is not None:
            self.require_own(frame.strategy)
        elif self._container is not None and not self.storage.own_copies and (frame is None or frame.updating is None):
            suspect(self._container, self._place)
        with WRITING:
            self.store(self.computed(operation, operand), verb)
        return self

    def require_own(self, strategy: "StrategyBase") -> None:
        """Raise if replicas of a strategy would each write this variable, which has one copy, and is none of that strategy."""
        if self._strategy is not strategy and strategy.num_replicas_in_sync > 1:
            made = "outside of every scope" if self._strategy is None else f"in the scope of {self._strategy!r}"
            raise RuntimeError(
                f"The variable {self.name!r}, made {made}, was written in one of {strategy.num_replicas_in_sync} replicas at "
                f"{where(call_site())}; expected a variable of the strategy, because each of them would write it once more. Make "
                f"it in `with strategy.scope():`."
            )

    def computed(self, operation: Operation, operand: Any) -> Any:
        """The result of an operation on the value, computed where the variable lives."""
        return contextvars.copy_context().run(self._computed, operation, operand)

    def _computed(self, operation: Operation, operand: Any) -> Any:
        # The context is a copy, which ends with this call; so what is entered need not be left.
        here = HERE.get()
        HERE.set(where_of((here.frame, self._device, *here[2:])))
        with self.backend.on(self._device):
            return operation(self.stored, operand)

    @property
    def backend(self) -> "Backend":
        """What computes with the value: the variable's own backend, or that of the program that is being written."""
        draft = HERE.get().draft
        return self._backend if draft is None else draft.backend

    @property
    def stored(self) -> Any:
        """The value where it lies, whatever device scope is active."""
        draft = HERE.get().draft
        return self.storage.copies()[self._place] if draft is None else draft.read(self)

    @property
    def copies(self) -> "tuple[Variable, ...]":
        """The variables that make up this one, in the order of the devices they live on."""
        return (self,)

    @property
    def all_copies(self) -> "tuple[Variable, ...]":
        """The same, but all of them in a trace too."""
        return (self,)

    def operand(self, verb: str, value: Any) -> Any:
        """Convert what is to be written to a tensor on the variable's device, or say why that is impossible."""
        if loaded() is not None and tracing():
            context.require_no_trace(f"{verb}() of {self.name!r}")
        if self.fits(verb, value, self._device):
            return value  # as most often, and need not be looked at one by one
        backend = self.backend
        if isinstance(value, IndexedSlices) or verb.startswith("scatter"):
            return self._slices(verb, value)
        if not isinstance(value, backend.tensor_type):
            value = current_value(value)
            require_single(value, f"{verb}() of {self.name!r}")
        if isinstance(value, backend.tensor_type):
            if value.dtype != self.dtype:
                raise ValueError(
                    f"{verb}() of {self.name!r} got a tensor of dtype {dtype_name(value.dtype)}; expected "
                    f"{dtype_name(self.dtype)}. Convert it with tf.cast()."
                )
            tensor = backend.copy(value, self._device) if backend.device_of(value) != self._device else value
        else:
            tensor = new_tensor(backend, value, self._device, self.dtype)
        if not SAME_SIZES(tensor.shape, self.shape):
            raise ValueError(
                f"{verb}() of {self.name!r} got a value of shape {tuple(tensor.shape)}; expected {self.shape}, the shape of the "
                f"variable. Reshape it, or make a variable of that shape."
            )
        return tensor

    def fits(self, verb: str, value: Any, home: Device) -> bool:
        """Say whether a value is a tensor on the device of a copy that can be written to it as it is."""
        return (
            type(value) is Tensor
            and value.lies_on is home
            and value.dtype is self._dtype
            and self.backend.tensor_type is Tensor
            and SAME_SIZES(sizes_of(value), self._shape)
            and not verb.startswith("scatter")
        )

    def _slices(self, verb: str, value: Any) -> IndexedSlices:
        """Check slices that are to be written; in a draft, indices that are not known yet are checked when the program runs."""
        slices, draft = IndexedSlices.fitting(verb, value, self.shape, self.dtype), HERE.get().draft
        inside = None if draft is None else slices.inside(self.shape[0])
        if draft is not None and inside is not None:
            text = f"{verb}() of {self.name!r} got indices beyond its rows; expected 0 to {self.shape[0] - 1}. Correct them."
            draft.require(inside, ValueError, text)
        return slices

    def store(self, tensor: Any, verb: str = "assign") -> None:
        """Take a tensor as the new value; it has the right shape and dtype."""
        assert (tuple(tensor.shape), tensor.dtype) == (self.shape, self.dtype)
        here = HERE.get()
        if here.draft is not None:
            here.draft.write(self, tensor)
        else:
            if here.journal is not None:
                whole = self if self._container is None else self._container
                here.journal.written(whole, verb, self._place, [tensor])
            self.storage.replace(self._place, self._backend.copy(tensor, self._device))

    def store_all(self, tensors: list[Any], verb: str) -> None:
        """Take a tensor for each copy, already on that copy's device: all of them, or none."""
        here = HERE.get()
        if here.draft is not None:
            for copy, tensor in zip(self.copies, tensors, strict=True):
                copy.store(tensor)
            return
        assert set(map(_DTYPE, tensors)) == {self._dtype}
        sizes = set(map(sizes_of if type(tensors[0]) is Tensor else _SHAPE, tensors))
        assert all([SAME_SIZES(one, self._shape) for one in sizes])
        if here.journal is not None:
            here.journal.written(self, verb, None, tensors)
        self.storage.replace_all(tensors)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Variable":
        clone: Any = object.__new__(type(self))
        clone.__dict__.update(self.__dict__)
        # Tensors are immutable, so they are shared; a copy of a component has a value of its own.
        copies = self.storage.copies() if self._container is None else [self.stored]
        homes = self.storage.homes if self._container is None else [self._device]
        clone.storage = Storage(copies, homes, own_copies=self.own_copies)
        clone._container, clone._place = None, 0
        memo[id(self)] = LIVE[id(clone)] = clone
        return clone

    def ref(self) -> "VariableReference":
        """A reference that can be a key of a dict, which a variable cannot."""
        return VariableReference(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.backend.get(self.read_value()), dtype=dtype)

    def __jax_array__(self) -> Any:
        return self.read_value()

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        values = [current_value(one) for one in inputs]
        array = next((one for one in values if is_jax(one)), None)
        if (
            array is not None and method == "__call__" and not kwargs
        ):  # numpy would leave JAX, and a tape see nothing of it
            return getattr(array.__array_namespace__(), function.__name__)(*values)
        return getattr(function, method)(*values, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self.read_value()[key]

    def __len__(self) -> int:
        return len(self.read_value())

    def __iter__(self) -> Any:
        return iter(self.read_value())

    def __hash__(self) -> Never:  # pyright: ignore[reportIncompatibleVariableOverride]
        raise TypeError(
            f"The variable {self.name!r} was used as a key; expected something hashable. Use {self._name}.ref()."
        )

    def _repr_html_(self) -> str:
        from refdist._core.variables.variable_tables import variable_table  # for notebooks only

        return variable_table(self)

    def __repr__(self) -> str:
        known = HERE.get().draft is None  # before a program runs, its variables have no value
        value = f", numpy={numpy_text(self.backend.get(self.stored))}" if known else ""
        return f"<tf.Variable {self.name!r} shape={self.shape} dtype={dtype_name(self.dtype)}{value}>"


class VariableReference:
    """Stands for a variable where something hashable is needed."""

    def __init__(self, variable: Variable) -> None:
        self._variable = variable

    def deref(self) -> Variable:
        """The variable itself."""
        return self._variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VariableReference) and self._variable is other._variable

    def __hash__(self) -> int:
        return id(self._variable)


def replace(old: Any, new: Any) -> Any:
    """The operation of `assign`."""
    return new


add_operators(Variable, current_value)
