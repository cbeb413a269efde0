"""`tf.gradients`: in a function, the gradients of what its body has computed, without a tape of the user's."""

from collections.abc import Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import is_jax
from refdist._core.base.where import HERE
from refdist._core.devices.tensor import Tensor, dtype_name
from refdist._core.ops.tensor_functions import convert_to_tensor
from refdist._core.replicas.values import DistributedValues, Mirrored
from refdist._core.seam.draft import executing_eagerly
from refdist._core.seam.tapes import NeedsBodyTape
from refdist._core.tape.gradient_tape import GradientTape, UnconnectedGradients, variable_of
from refdist._core.tape.recording_tapes import RecordingTapes, recording
from refdist._core.variables.tensors import current_value
from refdist._core.variables.variable import Variable


class BodyTape(GradientTape):
    """Records all that the body of a function does.

    Args:
        sources: tensors from outside of the function that it watches; what is made inside, it sees anyway.
    """

    def __init__(self, sources: Sequence[Any] = ()) -> None:
        super().__init__(persistent=True)
        self.watch(list(sources))

    def reset(self) -> None:
        super().reset()
        self.recorded = recording().Recording(of_everything=True)

    def inner(self) -> "BodyTape":
        """A tape for a part of the body, which knows what this one has recorded so far, and tells it nothing."""
        other = BodyTape()
        other.recorded, other._twins = self.recorded.copy(), dict(self._twins)
        other._readings = {key: (variable, dict(known)) for key, (variable, known) in self._readings.items()}
        return other

    def alone(self) -> RecordingTapes:
        """This tape without those of the user."""
        return RecordingTapes([self])

    def hide(self, results: Any) -> None:
        """Remember results of which it was not recorded how they were made, so that no gradient of them is asked for in vain."""
        tensors = [getattr(one, "own", one) for one in nest.flatten(results)]
        self.recorded.hide([one for one in tensors if is_jax(one)])

    def watches(self, variable: Variable) -> bool:
        return True

    def _array(self, value: Any) -> Any:
        found, tapes = super()._array(value), HERE.get().tapes
        return found if tapes is None else tapes.tensor(found)  # which another tape may watch


def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: Any = None,
    gate_gradients: bool = False,
    aggregation_method: Any = None,
    stop_gradients: Any = None,
    unconnected_gradients: UnconnectedGradients | str = UnconnectedGradients.NONE,
) -> list[Any]:
    """The gradients of the sum of ys with respect to each of xs, in a function.

    >>> import refdist as tf
    >>> @tf.function
    ... def slope(x):
    ...     return tf.gradients(x * x, x)
    >>> slope(tf.constant(3.0))
    [<tf.Tensor: shape=(), dtype=float32, numpy=6.0>]

    Args:
        grad_ys: what the gradients of ys are multiplied with; None, also for one of them, means ones.
        stop_gradients: tensors that count as constants.
    """
    tape = _tape("gradients", xs)
    unconnected = _choice(unconnected_gradients)
    targets, sources = _flat(ys, "ys"), _flat(xs, "xs")
    seeds = [None] * len(targets) if grad_ys is None else _flat(grad_ys, "grad_ys")
    if len(seeds) != len(targets):
        raise ValueError(
            f"gradients() got {len(targets)} ys and {len(seeds)} grad_ys; expected one for each of ys. Put None where the "
            f"gradient is 1."
        )
    targets = [_tensor(one) for one in targets]
    seeds = [None if seed is None else _seed(seed, target) for seed, target in zip(seeds, targets, strict=True)]
    if tape.recorded.hides(targets):
        raise RuntimeError(
            "gradients() got ys that several replicas have made together, in strategy.run() or merge_call(); expected ys of one "
            "replica. Call it in the function that strategy.run() runs, and reduce the gradients."
        )
    stops = [] if stop_gradients is None else [_tensor(one) for one in _flat(stop_gradients, "stop_gradients")]
    return tape.taken(targets, [_source(one) for one in sources], seeds, unconnected, stops)


def hessians(
    ys: Any, xs: Any, gate_gradients: bool = False, aggregation_method: Any = None, name: Any = None
) -> list[Any]:
    """The second derivatives of the sum of ys with respect to each of xs, in a function."""
    tape = _tape("hessians", xs)
    sources = [_source(one) for one in _flat(xs, "xs")]
    return [tape.jacobian(slope, one) for slope, one in zip(gradients(ys, sources), sources, strict=True)]


def _tape(name: str, xs: Any) -> BodyTape:
    """The tape that records the body of the function that the code is in."""
    here = HERE.get()
    tapes = here.tapes.tapes if isinstance(here.tapes, RecordingTapes) else ()
    tape = next((one for one in tapes if isinstance(one, BodyTape)), None)
    outside = [
        one for one in _leaves(xs) if isinstance(one, Tensor) and not any(t.twin_of(one) is not None for t in tapes)
    ]
    if tape is not None and not outside:
        return tape
    if tape is None and executing_eagerly():
        raise RuntimeError(
            f"tf.{name}() was called outside of a tf.function; expected a call in one, because nothing is recorded here. Compute "
            f"ys in a block of tf.GradientTape(), and call tape.gradient(ys, xs)."
        )
    if here.draft is None or (tape is None and here.draft.recorded):
        raise RuntimeError(
            f"tf.{name}() was called where the body of its function is not recorded; expected a call in the function itself or in "
            f"that of a replica, with respect to its variables, its arguments, or what it computes. Use tf.GradientTape()."
        )
    raise NeedsBodyTape(outside)


def _choice(given: Any) -> UnconnectedGradients:
    try:
        return UnconnectedGradients(given)
    except ValueError:
        raise ValueError(
            f"gradients() got unconnected_gradients={given!r}; expected 'none' or 'zero'. Use tf.UnconnectedGradients."
        ) from None


def _leaves(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else [value]


def _flat(value: Any, name: str) -> Sequence[Any]:
    """A tensor, or a list of them, as a list; as in TensorFlow, sources are not nested deeper."""
    leaves = _leaves(value)
    for one in leaves:
        nested = isinstance(one, (list, tuple)) and name == "xs"  # a list among ys becomes a tensor
        if nested or isinstance(one, (dict, set)) or (one is None and name != "grad_ys"):
            raise TypeError(
                f"gradients() got {name}={value!r}; expected a tensor, or a list of them. Use tf.nest.flatten()."
            )
        if isinstance(one, DistributedValues) and not isinstance(one, (Variable, Mirrored)):
            raise TypeError(
                f"gradients() got {name} with a value for each replica; expected tensors of one. Call it in the function that "
                f"strategy.run() runs."
            )
    return leaves


def _tensor(value: Any) -> Any:
    return convert_to_tensor(value)


def _source(value: Any) -> Any:
    """What a gradient is taken with respect to; a number of Python stands for a constant that nothing depends on."""
    known = is_jax(value) or isinstance(value, (Tensor, DistributedValues)) or isinstance(variable_of(value), Variable)
    return value if known else _tensor(value)


def _seed(seed: Any, target: Any) -> Any:
    if isinstance(seed, IndexedSlices):
        return seed
    one = _tensor(current_value(seed))
    if tuple(one.shape) != tuple(target.shape):
        raise ValueError(
            f"gradients() got one of grad_ys of shape {tuple(one.shape)} for one of ys of shape {tuple(target.shape)}; expected "
            f"the same. Use tf.broadcast_to()."
        )
    if one.dtype != target.dtype and target.dtype.kind in "fcV":
        raise TypeError(
            f"gradients() got one of grad_ys of {dtype_name(one.dtype)} for one of ys of {dtype_name(target.dtype)}; expected the "
            f"same. Use tf.cast()."
        )
    return one
