"""`GradientTape`: records what is computed, and differentiates it."""

import enum
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from refdist._core.base import nest
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import is_jax, is_tracer
from refdist._core.base.where import HERE, Entered, entered
from refdist._core.devices.tensor import Tensor
from refdist._core.replicas import context
from refdist._core.replicas.values import DistributedValues, Mirrored
from refdist._core.tape.recording_tapes import RecordingTapes, recording
from refdist._core.tape.watched_tensor import remember_twin, twin, watched
from refdist._core.variables.tensors import current_value
from refdist._core.variables.variable import Variable


class UnconnectedGradients(enum.Enum):
    """What the gradient is with respect to something that the target does not depend on."""

    NONE = "none"
    ZERO = "zero"


class GradientTape:
    """Records what is computed in a `with` block, to take gradients of it.

    >>> import refdist as tf
    >>> x = tf.Variable(3.0)
    >>> with tf.GradientTape() as tape:
    ...     y = x * x
    >>> print(tape.gradient(y, x))
    tf.Tensor(6.0, shape=(), dtype=float32)

    Args:
        persistent: whether several gradients can be taken.
        watch_accessed_variables: whether trainable variables are watched once they are read.
    """

    def __init__(self, persistent: bool = False, watch_accessed_variables: bool = True) -> None:
        self._persistent, self._watches_variables = bool(persistent), bool(watch_accessed_variables)
        self._blocks: tuple[AbstractContextManager[Any], Entered] | None = None
        self._used_up = False
        self.reset()

    def __enter__(self) -> "GradientTape":
        if self._blocks is not None:
            raise ValueError("A GradientTape was entered twice; expected it to have been left. Make another tape.")
        around = HERE.get().tapes
        here = RecordingTapes([*(around.tapes if isinstance(around, RecordingTapes) else ()), self])
        self._blocks = recording().observed(), entered(tapes=here)
        for block in self._blocks:
            block.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        self._leave()

    def _leave(self) -> None:
        if self._blocks is not None:
            blocks, self._blocks = self._blocks, None
            for block in reversed(blocks):
                block.__exit__(None, None, None)

    def reset(self) -> None:
        """Forget all that was recorded."""
        self.recorded: Any = recording().Recording()
        self._readings: dict[
            int, tuple[Variable, dict[int, tuple[Any, Any]]]
        ] = {}  # of variables: values, and their arrays
        self._twins: dict[int, tuple[Tensor, Any]] = {}  # of watched tensors that are not arrays of JAX
        self._watched: dict[int, Variable] = {}
        self.shown: dict[int, tuple[Any, Variable]] = {}  # arrays that were handed out in place of variables

    def watch(self, tensor: Any) -> None:
        """Watch tensors or variables: gradients can be taken with respect to them."""
        for leaf in nest.flatten(tensor):
            one = variable_of(leaf)
            if isinstance(one, Variable):
                self._watched[id(one)] = one
                continue
            if id(one) in self.shown:
                _, variable = self.shown[id(one)]
                self._watched[id(variable)] = variable
                self.remember(variable, one, one)
                continue
            if isinstance(one, Mirrored):
                one = one.nearest()
            if not (isinstance(one, Tensor) or is_jax(one)):
                raise ValueError(
                    f"watch() got {leaf!r}; expected a tensor or a variable. Make a tensor of it with tf.constant()."
                )
            if isinstance(one, Tensor):
                around = HERE.get().tapes  # of which another may watch the same tensor
                array = twin(one)
                if array is None:
                    array = recording().as_array(one) if around is None else around.tensor(one)
                if not is_jax(array):
                    raise TypeError(
                        f"watch() got a tensor of dtype {one.dtype}; expected numbers that JAX has, because gradients are computed "
                        f"with JAX. Use float32, or set JAX_ENABLE_X64=1 outside."
                    )
                self._twins[id(one)] = watched(one), array
                remember_twin(one, array)
                one = array
            if one.dtype.kind in "fcV":  # of integers there is no gradient
                self.recorded.watch(one)

    def watched_variables(self) -> tuple[Variable, ...]:
        """The variables that the tape watches, in the order in which they were first read."""
        read = {key: variable for key, (variable, _) in self._readings.items()}
        return tuple({**read, **self._watched}.values())

    def stop_recording(self) -> AbstractContextManager[None]:
        """Record nothing in a block."""
        around = HERE.get().tapes
        tapes = around.tapes if isinstance(around, RecordingTapes) else ()
        if self not in tapes:
            raise ValueError(
                "stop_recording() was called while the tape does not record; expected a call in its block."
            )
        return entered(tapes=_without(tapes, self))

    def gradient(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any = None,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
    ) -> Any:
        """The gradient of a target, or of the sum of several, with respect to each source in a nest."""
        return self.taken(target, sources, output_gradients, UnconnectedGradients(unconnected_gradients))

    def taken(
        self,
        target: Any,
        sources: Any,
        output_gradients: Any,
        unconnected: UnconnectedGradients,
        stops: Sequence[Any] = (),
    ) -> Any:
        """The same, where some tensors count as constants."""
        targets = [self._array(leaf) for leaf in nest.flatten(target)]
        seeds = [None] * len(targets) if output_gradients is None else nest.flatten(output_gradients)
        if len(seeds) != len(targets):
            raise ValueError(
                f"gradient() got {len(targets)} targets and {len(seeds)} output_gradients; expected one for each target."
            )
        arrays = [None if seed is None else _seed(seed) for seed in seeds]
        places = [self._places(source) for source in nest.flatten(sources)]
        recorded = self.recorded.without(stops) if stops else self.recorded
        with self._ending():
            found = recorded.gradients(targets, arrays, [one for place in places for one in place])
            sums = [self._sum(found, place) for place in places]
        self._forget()
        return self._answer(sources, sums, unconnected)

    def jacobian(
        self,
        target: Any,
        sources: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: Any = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivatives of each element of a target with respect to each source in a nest."""
        return self._derivatives(recording().Recording.jacobians, target, sources, unconnected_gradients)

    def batch_jacobian(
        self,
        target: Any,
        source: Any,
        unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
        parallel_iterations: Any = None,
        experimental_use_pfor: bool = True,
    ) -> Any:
        """The derivatives of each row of a target with respect to the same row of a source."""
        rows = target.shape[0] if target.shape else None
        if rows is None or not source.shape or source.shape[0] != rows:
            raise ValueError(
                f"batch_jacobian() got a target of shape {tuple(target.shape)} and a source of shape {tuple(source.shape)}; "
                f"expected as many rows in both. Use jacobian()."
            )
        return self._derivatives(recording().Recording.batch_jacobians, target, source, unconnected_gradients)

    def _derivatives(
        self, of_each: Callable[..., dict[int, Any]], target: Any, sources: Any, unconnected: UnconnectedGradients | str
    ) -> Any:
        places = [self._places(source) for source in nest.flatten(sources)]
        with self._ending():
            found = of_each(self.recorded, self._array(target), [one for place in places for one in place])
            sums = [self._sum(found, place) for place in places]
        self._forget()
        return self._answer(sources, sums, UnconnectedGradients(unconnected))

    # What is asked by the code that the tape records.

    def watches(self, variable: Variable) -> bool:
        """Say whether a variable is watched when it is read."""
        return (self._watches_variables and variable.trainable) or id(variable) in self._watched

    def reading_of(self, variable: Variable, value: Any) -> Any:
        """The array under which a value of a variable was recorded; None if it was not."""
        known = self._readings.get(id(variable))
        return None if known is None or id(value) not in known[1] else known[1][id(value)][1]

    def remember(self, variable: Variable, value: Any, array: Any) -> None:
        """Record that an array was read from a variable."""
        self._readings.setdefault(id(variable), (variable, {}))[1][id(value)] = value, array
        self.recorded.watch(array)

    def twin_of(self, tensor: Tensor) -> Any:
        """The array that stands for a watched tensor; None if it is not watched."""
        known = self._twins.get(id(tensor))
        return None if known is None else known[1]

    def _ending(self) -> Entered:
        """Compute gradients: other tapes record that, and this one only if it can be used again."""
        if self._used_up:
            raise RuntimeError(
                "A second gradient was asked of a GradientTape; expected one, because it forgets what it has recorded. Make it "
                "with persistent=True."
            )
        around = HERE.get().tapes
        tapes = around.tapes if isinstance(around, RecordingTapes) else ()
        if self._persistent:
            return entered()
        self._used_up = True
        self._leave()
        return entered(tapes=_without(tapes, self))

    def _forget(self) -> None:
        """Give back the memory of what was recorded, once it cannot be used again."""
        if self._used_up:
            self.recorded, self._twins = recording().Recording(), {}

    def _array(self, value: Any) -> Any:
        """What a target is recorded as."""
        one = variable_of(value)
        if isinstance(one, Variable):
            with entered(tapes=RecordingTapes([self])):
                return current_value(one)
        if isinstance(one, DistributedValues):
            one = one.nearest() if isinstance(one, Mirrored) else one.values[0]
        twin = self.twin_of(one) if isinstance(one, Tensor) else None
        return one if twin is None else twin

    def _places(self, source: Any) -> list[int]:
        """The ids of the arrays that stand for a source: as many as values were read from it, if it is a variable."""
        one = variable_of(source)
        if isinstance(one, Variable):
            owner = one if one.container is None else one.container
            known = self._readings.get(id(owner))
            return [] if known is None else [id(array) for _, array in known[1].values()]
        if id(source) in self.shown and id(owner := self.shown[id(source)][1]) in self._watched:
            return [id(array) for _, array in self._readings[id(owner)][1].values()]
        if isinstance(source, (Tensor, DistributedValues)) or is_jax(source):
            return [id(self._array(source))]
        raise TypeError(
            f"A gradient was asked for with respect to {source!r}; expected a variable, or a tensor that the tape has watched. "
            f"Make it a tf.Variable, or call tape.watch()."
        )

    @staticmethod
    def _sum(found: dict[int, Any], places: list[int]) -> Any:
        known = [found[one] for one in places if one in found]
        return None if not known else known[0] if len(known) == 1 else recording().total(known)

    @staticmethod
    def _answer(sources: Any, gradients: list[Any], unconnected: UnconnectedGradients) -> Any:
        leaves = nest.flatten(sources)
        if unconnected is UnconnectedGradients.ZERO:
            gradients = [
                recording().zeros(tuple(leaf.shape), leaf.dtype) if one is None else one
                for leaf, one in zip(leaves, gradients, strict=True)
            ]
        return nest.pack_sequence_as(sources, [_given_out(one) for one in gradients])


def _without(tapes: Any, tape: GradientTape) -> RecordingTapes | None:
    others = [one for one in tapes if one is not tape]
    return RecordingTapes(others) if others else None


def variable_of(value: Any) -> Any:
    """The variable behind a variable of Keras; anything else is itself."""
    held = getattr(value, "_value", None)
    return held if isinstance(held, Variable) and not isinstance(value, Variable) else value


def _seed(value: Any) -> Any:
    value = current_value(value)
    return value if isinstance(value, IndexedSlices) else recording().as_array(value)


def _given_out(gradient: Any) -> Any:
    """A gradient as a tensor of the current backend, unless an outer tape records what is done with it."""
    here = HERE.get()
    if gradient is None or here.tapes is not None or here.draft is not None:
        return gradient
    backend = context.backend()

    def tensor(part: Any) -> Any:
        known = isinstance(part, backend.tensor_type) or is_tracer(part)  # the latter in a trace that is none of ours
        return part if known else backend.put(part, here.device)

    return gradient.mapped(tensor) if isinstance(gradient, IndexedSlices) else tensor(gradient)
