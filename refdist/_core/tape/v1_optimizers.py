"""The optimizers of `tf.compat.v1.train`: they add up the gradients of all replicas, and update each copy of a variable."""

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.backends.choosing import current
from refdist._core.base.enums import ReduceOp, VariableAggregation
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import is_jax
from refdist._core.ops.tensor_functions import cast, convert_to_tensor
from refdist._core.replicas import context
from refdist._core.replicas.named_function import UpdateOf
from refdist._core.tape.gradient_tape import GradientTape
from refdist._core.variables.tensors import current_value
from refdist._core.variables.variable import Variable

_global_steps: "weakref.WeakKeyDictionary[Any, Variable]" = weakref.WeakKeyDictionary()


class Optimizer:
    """What all optimizers have in common; each has a rule, `_step`, and slots: variables beside each variable."""

    rows_only = True  # whether a gradient of some rows changes these rows only

    def __init__(self, learning_rate: Any, name: str, **slots: float) -> None:
        self._learning_rate, self._name = learning_rate, name
        self._starts = slots  # what the slots begin with
        self._slots: dict[int, tuple[Variable, dict[str, Variable]]] = {}  # with the variable, which keeps its id

    def minimize(
        self,
        loss: Callable[[], Any],
        global_step: Any = None,
        var_list: Sequence[Any] | None = None,
        gate_gradients: Any = None,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        name: Any = None,
        grad_loss: Any = None,
    ) -> None:
        """Change variables in the direction in which a loss, which a function computes, falls."""
        self.apply_gradients(self.compute_gradients(loss, var_list, grad_loss=grad_loss), global_step)

    def compute_gradients(
        self,
        loss: Callable[[], Any],
        var_list: Sequence[Any] | None = None,
        gate_gradients: Any = None,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Any, Any]]:
        """The gradients of a loss, each with its variable; without a list, of the trainable variables that the loss reads."""
        if not callable(loss):
            raise RuntimeError(
                f"compute_gradients() got a {type(loss).__name__}; expected a function that computes the loss, because gradients "
                f"are taken while it runs. Pass it as lambda: loss(...)."
            )
        with GradientTape() as tape:
            value = loss()
        variables = list(tape.watched_variables() if var_list is None else var_list)
        return list(zip(tape.gradient(value, variables, grad_loss), variables, strict=True))

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> None:
        """Add up the gradients of all replicas, and change the variables."""
        pairs = list(grads_and_vars)
        if not pairs:
            raise ValueError(
                "apply_gradients() got no variables; expected at least one. Pass pairs of gradients and variables."
            )
        for _, variable in pairs:
            if not isinstance(variable, Variable):
                raise NotImplementedError(
                    f"apply_gradients() got a {type(variable).__name__} to change; expected a tf.Variable. Pass pairs of gradients "
                    f"and variables."
                )
        gradients = [gradient for gradient, _ in pairs if gradient is not None]
        variables = [variable for gradient, variable in pairs if gradient is not None]
        if not variables:
            raise ValueError(
                f"apply_gradients() got no gradient for any of {[variable.name for _, variable in pairs]}; expected some. "
                f"Compute a loss that depends on the variables."
            )
        replica = context.get_replica_context()
        if replica is None:
            raise RuntimeError(
                "apply_gradients() was called in cross-replica context; expected a replica, whose gradients are added to those "
                "of the others. Call it in the function that strategy.run() takes."
            )
        rate = self._rate()

        def apply(strategy: Any, *summed: Any) -> None:
            self._create_slots(variables)
            for gradient, variable in zip(_summed(strategy, summed, variables), variables, strict=True):
                slots = self._slots[id(variable)][1].values()
                strategy.extended.update(
                    variable, self._updated, args=(gradient, rate, *self._shared(), *slots), group=False
                )
            self._finish(strategy)
            if global_step is not None:
                strategy.extended.update(global_step, lambda step: step.assign_add(1), group=False)

        replica.update_together(UpdateOf(self._name, variables), apply, tuple(gradients))

    def get_name(self) -> str:
        """The name of the optimizer."""
        return self._name

    def get_slot(self, var: Any, name: str) -> Any:
        """A variable that the optimizer has made beside another; None if there is none."""
        return self._slots[id(var)][1].get(name) if id(var) in self._slots else None

    def get_slot_names(self) -> list[str]:
        """The names of the variables that the optimizer makes beside each variable."""
        return sorted(self._starts) if self._slots else []

    def variables(self) -> list[Variable]:
        """All variables that the optimizer has made."""
        return [slot for _, slots in self._slots.values() for slot in slots.values()]

    def _step(self, value: Any, gradient: Any, rate: Any, *slots: Any) -> tuple[Any, ...]:
        """The new value of a variable, and those of its slots."""
        raise NotImplementedError

    def _shared(self) -> tuple[Any, ...]:
        """What the rule takes beside the slots, before these."""
        return ()

    def _finish(self, strategy: Any) -> None:
        """Do what follows the change of all variables."""

    def _rate(self) -> Any:
        rate = self._learning_rate() if callable(self._learning_rate) else current_value(self._learning_rate)
        return rate if is_jax(rate) else np.float32(np.asarray(rate))

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        for variable in variables:
            if id(variable) not in self._slots:
                prefix = f"{variable.name.partition(':')[0]}/{self._name}"
                made = {
                    slot: _variable(
                        np.full(tuple(variable.shape), start, variable.dtype), f"{prefix}_{index}".removesuffix("_0")
                    )
                    for index, (slot, start) in enumerate(self._starts.items())
                }
                self._slots[id(variable)] = variable, made

    def _updated(self, copy: Variable, gradient: Any, rate: Any, *state: Any) -> None:
        """Change one copy of a variable, and its slots."""
        count = len(self._shared())
        slots, before = state[count:], copy.read_value()
        held = [slot.read_value() for slot in slots]
        touched = None
        if isinstance(gradient, IndexedSlices):
            touched = gradient.indices if self.rows_only else None
            gradient = convert_to_tensor(gradient)
        if tuple(gradient.shape) != tuple(before.shape):
            raise ValueError(
                f"apply_gradients() got a gradient of shape {tuple(gradient.shape)} for {copy.name!r}; expected "
                f"{tuple(before.shape)}, the shape of the variable. Reduce or reshape it."
            )
        rate = cast(rate, before.dtype)
        after = self._step(before, gradient, rate, *(current_value(one) for one in state[:count]), *held)
        for variable, old, new in zip((copy, *slots), (before, *held), after, strict=True):
            variable.assign(cast(new, old.dtype) if touched is None else _with_rows(old, new, touched))


def _variable(initial: Any, name: str) -> Variable:
    return Variable(initial, trainable=False, name=name)


def _with_rows(old: Any, new: Any, rows: Any) -> Any:
    """The old tensor with some rows of the new one."""
    numbers = np if not is_jax(new) else new.__array_namespace__()
    there = (numbers.arange(old.shape[0])[:, None] == numbers.asarray(rows)[None, :]).any(-1)
    return cast(numbers.where(there.reshape((-1, *(1,) * (len(old.shape) - 1))), new, old), old.dtype)


def _summed(strategy: Any, gradients: Sequence[Any], variables: Sequence[Variable]) -> list[Any]:
    pairs = list(zip(gradients, variables, strict=True))
    return strategy.extended.batch_reduce_to(ReduceOp.SUM, pairs)


class GradientDescentOptimizer(Optimizer):
    """Goes against the gradient."""

    def __init__(self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent") -> None:
        super().__init__(learning_rate, name)

    def _step(self, value: Any, gradient: Any, rate: Any, *slots: Any) -> tuple[Any, ...]:
        return (value - rate * gradient,)


class MomentumOptimizer(Optimizer):
    """Goes on in the direction of the last steps."""

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(learning_rate, name, momentum=0.0)
        self._momentum, self._nesterov = momentum, use_nesterov

    def _step(self, value: Any, gradient: Any, rate: Any, *slots: Any) -> tuple[Any, ...]:
        momentum = self._momentum() if callable(self._momentum) else current_value(self._momentum)
        moving = slots[0] * momentum + gradient
        step = gradient * rate + moving * momentum * rate if self._nesterov else moving * rate
        return value - step, moving


class AdamOptimizer(Optimizer):
    """Divides an average of the gradients by one of their squares."""

    rows_only = False

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: float = 0.9,
        beta2: float = 0.999,
        epsilon: float = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(learning_rate, name, m=0.0, v=0.0)
        self._betas, self._epsilon = (beta1, beta2), epsilon
        self._powers: list[Variable] = []

    def variables(self) -> list[Variable]:
        return [*super().variables(), *self._powers]

    def _create_slots(self, variables: Sequence[Variable]) -> None:
        super()._create_slots(variables)
        if not self._powers:
            self._powers = [
                _variable(np.float32(beta), f"beta{number}_power") for number, beta in enumerate(self._betas, 1)
            ]

    def _shared(self) -> tuple[Any, ...]:
        return tuple(self._powers)

    def _step(self, value: Any, gradient: Any, rate: Any, *slots: Any) -> tuple[Any, ...]:
        power1, power2, mean, squares = slots
        new1, new2 = (
            value.dtype.type(1) - value.dtype.type(beta) for beta in self._betas
        )  # rounded as TensorFlow does
        step = cast(rate * (1 - power2) ** 0.5 / (1 - power1), value.dtype)
        mean = mean + (gradient - mean) * new1
        squares = squares + (gradient * gradient - squares) * new2
        return value - mean * step / (squares**0.5 + self._epsilon), mean, squares

    def _finish(self, strategy: Any) -> None:
        for power, beta in zip(self._powers, self._betas, strict=True):
            strategy.extended.update(power, lambda copy, factor=beta: copy.assign(copy * factor), group=False)


class AdagradOptimizer(Optimizer):
    """Divides gradients by the sum of all squares before."""

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        super().__init__(learning_rate, name, accumulator=initial_accumulator_value)

    def _step(self, value: Any, gradient: Any, rate: Any, *slots: Any) -> tuple[Any, ...]:
        total = slots[0] + gradient * gradient
        return value - rate * gradient / total**0.5, total


class RMSPropOptimizer(Optimizer):
    """Divides gradients by an average of their squares."""

    def __init__(
        self,
        learning_rate: Any,
        decay: float = 0.9,
        momentum: float = 0.0,
        epsilon: float = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(learning_rate, name, rms=1.0, momentum=0.0, **({"mg": 0.0} if centered else {}))
        self._decay, self._momentum, self._epsilon, self._centered = decay, momentum, epsilon, centered

    def _step(self, value: Any, gradient: Any, rate: Any, *slots: Any) -> tuple[Any, ...]:
        squares = slots[0] + (gradient * gradient - slots[0]) * (1 - self._decay)
        mean = slots[2] + (gradient - slots[2]) * (1 - self._decay) if self._centered else None
        around = squares if mean is None else squares - mean * mean
        moving = slots[1] * self._momentum + rate * gradient / (around + self._epsilon) ** 0.5
        return (value - moving, squares, moving) if mean is None else (value - moving, squares, moving, mean)


def get_global_step(graph: Any = None) -> Any:
    """The variable that counts steps; None if there is none yet."""
    return _global_steps.get(current())


def get_or_create_global_step(graph: Any = None) -> Any:
    """The variable that counts steps, made when it is first asked for."""
    found = get_global_step()
    if found is None:
        found = _global_steps[current()] = Variable(
            np.int64(0), trainable=False, name="global_step", aggregation=VariableAggregation.ONLY_FIRST_REPLICA
        )
    return found
