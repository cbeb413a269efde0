"""The steps of a trainer: a global batch is cut into pieces, and each replica takes a step of Keras on its own piece."""

import contextlib
import contextvars
import dataclasses
import functools
import importlib
import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.enums import VariableAggregation
from refdist._core.keras.keras_batches import OwnPieces, cut, joined, placed
from refdist._core.keras.keras_optimizers import without_clipping
from refdist._core.keras.keras_variables import held, tensor
from refdist._core.keras.keras_workers import totals
from refdist._core.replicas import context
from refdist._core.replicas.values import DistributedValues, select
from refdist._core.staging.decorator import function
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.variables.distributed_variable import MirroredVariable
from refdist._core.variables.variable import Variable

_base: Any = importlib.import_module("keras.src.trainers.trainer")
_core: Any = importlib.import_module("keras.src.backend.jax.core")


@dataclasses.dataclass
class Step:
    """The step that a replica is taking."""

    share: float  # how much of the global batch the replica has
    gradients: list[Any] | None = None  # where the optimizer leaves them, if it is to be applied after the step
    empty: bool = False  # whether it has no rows, so that only what layers add to the loss counts


STEP: contextvars.ContextVar[Step | None] = contextvars.ContextVar("step", default=None)


@contextlib.contextmanager
def taking(step: Step | None) -> Generator[None]:
    """Set the current step for a block; None means no step."""
    token = STEP.set(step)
    try:
        yield
    finally:
        STEP.reset(token)


class Steps:
    """Takes steps of one kind with a model, each as one run on the replicas of its strategy.

    If all replicas have the same number of rows, the step is one program over all of them. Otherwise, and on several workers,
    each replica has its own program, and the optimizer another one; but a training step that the user has written, which may
    need the new weights at once, is taken in Python.
    """

    def __init__(self, model: Any, kind: str, *, custom: bool) -> None:
        self._model, self._kind = model, kind
        self._compiles = model.jit_compile and not model.run_eagerly
        # What a loss of the user's adds to those of Keras is not divided by the number of replicas on TensorFlow, nor here.
        own_loss = kind != "predict" and type(model).compute_loss is not _base.Trainer.compute_loss
        self._workers = model.distribute_strategy.extended.plan.workers
        # Workers cannot meet while JAX is tracing, but the gradients of a tape go through what replicas do together.
        synchronized = any(getattr(layer, "synchronized", False) for layer in model._flatten_layers())
        taped = kind == "train" and self._workers > 1 and synchronized
        self._of_data = takes_data_alone(model, kind) or ((own_loss or taped) and not custom)
        apart = self._compiles and not self._of_data and not (custom and kind == "train")
        self._uneven = functools.partial(
            self.run_step, replica_step=self._compiled_step if apart else self._replica_step
        )
        self._even: Callable[..., Any] = self._uneven
        if self._workers == 1:
            self._even = function(self.run_step, trace_once=True) if self._compiles else self.run_step
        self._programs: dict[Any, Any] = {}  # by share; that of the optimizer by name

    def __call__(self, state: Any, iterator: Iterator[Any]) -> tuple[Any, Any]:
        """Take as many steps as one execution has; the state is returned unchanged, because the variables hold it."""
        strategy, outputs = self._model.distribute_strategy, list[Any]()
        in_pieces = isinstance(iterator, OwnPieces)
        batches = iterator.steps if in_pieces else iterator
        for _, data in zip(range(self._model.steps_per_execution), batches, strict=False):
            pieces, shares = (placed if in_pieces else cut)(strategy, data)
            output = (self._uneven if isinstance(shares, DistributedValues) else self._even)(pieces, shares)
            outputs.append(joined(strategy, output, shares) if self._kind == "predict" else output)
        if not outputs:
            raise StopIteration
        if self._kind != "predict" or len(outputs) == 1:
            return outputs[-1], state
        return nest.transpose(outputs, np.concatenate, AssertionError), state

    def run_step(self, pieces: Any, shares: Any, replica_step: Callable[..., Any] | None = None) -> Any:
        """Take one step on all replicas, each with its own piece of a batch and its share of it."""
        strategy = self._model.distribute_strategy
        outputs = strategy.run(replica_step or self._replica_step, args=(pieces, shares))
        if self._kind == "predict":
            return outputs
        with totals(self._model) if self._workers > 1 else contextlib.nullcontext():
            logs = self._model._get_metrics_result_or_logs(outputs)
        return strategy.reduce("MEAN", logs, axis=None) if logs is outputs else logs

    def _replica_step(self, data: Any, share: float) -> Any:
        if self._of_data:
            # It reads and writes variables by itself, and counts rows by itself: none, where none is left.
            rows = data if share > 0 else nest.map_structure(lambda leaf: None if leaf is None else leaf[:0], data)
            batch = nest.map_structure(_tensor, rows)
            alone = isinstance(batch, tuple) and len(batch) == 1  # inputs without targets are no tuple there
            return getattr(self._model, f"{self._kind}_step")(batch[0] if alone else batch)
        groups = self._variables()
        old = _values(groups)
        outputs, new = self._keras_step(self._step(share), old, nest.map_structure(_tensor, data))
        write(groups, old, new, share)
        return outputs

    def _compiled_step(self, data: Any, share: float) -> Any:
        def step(old: Any, data: Any) -> Any:
            gradients: list[Any] = []
            outputs, new = self._keras_step(self._step(share, gradients), old, data)
            pairs = [zip(*pair, strict=True) for pair in zip(new, old, strict=True)]
            return outputs, [[None if value is was else value for value, was in pair] for pair in pairs], gradients

        groups = self._variables()
        old = _values(groups)
        program = self._programs.get(share) or self._programs.setdefault(share, _core.jax.jit(step))
        outputs, changes, gradients = program(old, nest.map_structure(_tensor, data))
        pairs = [zip(*pair, strict=True) for pair in zip(changes, old, strict=True)]
        write(groups, old, [[was if value is None else value for value, was in pair] for pair in pairs], share)
        if gradients:
            replica = context.get_replica_context()
            assert replica is not None
            replica.merge_call(self._apply, args=(_weighted(gradients[0], self._step(share).share),))
        return outputs

    def _step(self, share: float, gradients: list[Any] | None = None) -> Step:
        """A step of a replica with this share; on several workers, one without rows still adds its part of what layers add."""
        if share == 0 and self._workers > 1:
            return Step(1 / self._model.distribute_strategy.num_replicas_in_sync, gradients, empty=True)
        return Step(share, gradients)

    def _keras_step(self, step: Step, old: Any, data: Any) -> Any:
        with taking(step):
            outputs, new = getattr(self._model, f"{self._kind}_step")(old, data)
        return outputs, (old[0], new) if self._kind == "predict" else new

    def _apply(self, strategy: StrategyBase, gradients: list[Any]) -> None:
        """Apply the optimizer once, for all replicas."""
        groups = self._variables()
        pairs = list(zip(gradients, map(held, groups["trainable"]), strict=True))
        totals = [tensor(select(total, 0)) for total in strategy.extended.batch_reduce_to("SUM", pairs)]
        optimizer = self._model.optimizer
        program = self._programs.setdefault("apply", _core.jax.jit(lambda *given: optimizer.stateless_apply(*given)))
        trainable, slots = ([held(variable) for variable in groups[name]] for name in ("trainable", "optimizer"))
        with without_clipping(optimizer):  # each replica has done that
            new = program([tensor(one) for one in slots], totals, [tensor(one) for one in trainable])
        for variable, value in zip([*trainable, *slots], [*new[0], *new[1]], strict=True):
            variable.assign(value)

    def _variables(self) -> dict[str, list[Any]]:
        """The variables of the model, in the order in which Keras's steps take their values."""
        model = self._model
        groups = {"trainable": model.trainable_variables, "non_trainable": model.non_trainable_variables}
        if self._kind == "train":
            groups["optimizer"] = model.optimizer.variables
        if self._kind != "predict":
            groups["metrics"] = model.metrics_variables
        return groups


def takes_data_alone(model: Any, kind: str) -> bool:
    """Say whether a step of the user's is written for TensorFlow: it takes a batch; those for JAX take a state, too."""
    return len(inspect.signature(getattr(model, f"{kind}_step")).parameters) == 1


def _values(groups: dict[str, list[Any]]) -> tuple[list[Any], ...]:
    return tuple([tensor(held(variable)) for variable in group] for group in groups.values())


def _tensor(leaf: Any) -> Any:
    return None if leaf is None else tensor(leaf)


def _weighted(tensors: Sequence[Any], share: float) -> list[Any]:
    """Return what a replica adds to a sum: zeros, whatever it has computed, if it has no share."""
    return [_core.jnp.zeros_like(one) for one in tensors] if share == 0 else list(tensors)


def summed(tensors: Sequence[Any], share: float) -> list[Any]:
    """Sum tensors over all replicas, except those that have no share."""
    replica = context.get_replica_context()
    assert replica is not None
    return [tensor(one) for one in replica.all_reduce("SUM", _weighted(tensors, share))] if tensors else []


def write(groups: dict[str, list[Any]], old: Sequence[Any], new: Sequence[Any], share: float) -> None:
    """Write the new values of a step to the variables; values that differ between replicas are combined into one."""
    replica = context.get_replica_context()
    assert replica is not None
    alone = replica.num_replicas_in_sync == 1
    equal: list[tuple[Variable, Any]] = []
    parts: list[tuple[Variable, Any, Any]] = []  # the last: what is added to the sum of all parts
    for name, before, after in zip(groups, old, new, strict=True):
        for one, was, value in zip(groups[name], before, after, strict=True):
            variable = held(one)
            adds = variable.aggregation is VariableAggregation.SUM
            if value is was:
                continue
            if alone or variable.own_copies:
                if share > 0:
                    variable.assign(value)
            elif name in ("trainable", "optimizer") or (variable.dtype.kind in "iub" and not adds):
                equal.append((variable, value))
            else:
                # What a layer keeps track of, such as moving averages, is averaged by the rows that replicas have.
                parts.append((variable, was, value - was) if adds else (variable, 0, value * share))
    totals = summed([part for _, _, part in parts], share)
    equal += [(variable, base + total) for (variable, base, _), total in zip(parts, totals, strict=True)]

    def store(_: StrategyBase, values: list[Any]) -> None:
        for (variable, _), value in zip(equal, values, strict=True):
            checked = isinstance(variable, MirroredVariable) and variable.aggregation is VariableAggregation.NONE
            variable.assign(value if checked else select(value, 0))

    if equal:
        replica.merge_call(store, args=([value for _, value in equal],))
