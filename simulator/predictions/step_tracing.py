"""The program of a training step, from shapes alone: nothing is computed, and no array is made."""

import dataclasses
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.replicas import context
from refdist._core.replicas.specs import TensorSpec
from refdist._core.replicas.values import PerReplica
from refdist._core.staging.argument_kinds import ArgumentKinds
from refdist._core.staging.function import Function
from refdist._core.staging.parameters import taken_apart
from refdist._core.staging.program import Program
from refdist._core.staging.program_source import ProgramSource
from refdist._core.staging.references import mentioned_strategy
from refdist._core.staging.trace_count import Traces
from refdist._core.staging.writer import Call
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.variables.variable import LIVE


@dataclasses.dataclass(frozen=True)
class TracedStep:
    """A step as one device takes it."""

    jaxpr: Any
    parameter_bytes: float  # of trainable variables; 0 where the step has arguments only
    state_bytes: float  # of other variables
    argument_bytes: float
    temporary_bytes: float  # what it makes on its way, at most at once
    replicas: int | None = None  # of the strategy that it runs on; None for what runs on none


def traced_step(step: Any, specs: Sequence[Any], strategy: StrategyBase | None, axis_name: str | None) -> TracedStep:
    """Write the program of a step.

    Args:
        step: a `tf.function`, a function that calls `strategy.run`, a compiled Keras model; with `strategy`, what runs in each
            replica; with `axis_name`, a function of JAX that meets the others by that name; or a function of JAX that does not.
        specs: its arguments: TensorSpec, `jax.ShapeDtypeStruct`, arrays, or nests of these; each is what one replica gets.
    """
    if hasattr(step, "train_step") and hasattr(step, "distribute_strategy"):
        found = _of_program(*_keras_step(step, specs))
        return dataclasses.replace(found, replicas=step.distribute_strategy.num_replicas_in_sync)
    if axis_name is None and (strategy is not None or isinstance(step, Function) or _meets(step)):
        return _of_program(step, specs, strategy)
    return _of_jax(step, specs, axis_name)


def _meets(step: Callable[..., Any]) -> bool:
    """Whether a function runs something on the replicas of a strategy by itself."""
    code = getattr(step, "__code__", None)
    return code is not None and "run" in code.co_names


def _of_program(step: Any, specs: Sequence[Any], strategy: StrategyBase | None) -> TracedStep:
    function = step if isinstance(step, Function) else Function(step, None, False)
    given = nest.map_structure(lambda leaf: _stand_in(leaf, strategy), (tuple(specs), {}))
    leaves, shape = taken_apart(*given)
    source = ProgramSource(function, Traces(relax=False), **function.tracing())
    call = Call(function.python_function, strategy, leaves, shape, ArgumentKinds(leaves))
    try:
        program = source.written(call, strategy if strategy is not None else context.get_strategy())
    finally:
        call.elements.put_back()
    if program is None:
        raise ValueError(
            f"predict_step() got {step!r}, which does not become one program over all replicas; expected a step that tf.function "
            f"compiles. Leave out what only Python can do, such as reading from an iterator in a Python loop."
        )
    variables, strategies = _variables(program)
    on_some = strategy or mentioned_strategy(function.python_function) or strategies
    parameters = sum(size for size, trainable in variables if trainable)
    jaxpr = program.written.jaxpr.jaxpr
    everything = _bytes(jaxpr.invars)
    state = sum(size for size, trainable in variables if not trainable)
    arguments = max(everything - parameters - state, 0.0)
    return TracedStep(
        jaxpr, parameters, state, arguments, _temporary(jaxpr), program.compiler.count if on_some else None
    )


def _variables(program: Program) -> tuple[list[tuple[float, bool]], list[StrategyBase]]:
    """The bytes of each variable that a program reads, and whether it is trained; and the strategies that they belong to."""
    live = {id(variable.storage): variable for variable in list(LIVE.values())}
    found: list[tuple[float, bool]] = []
    strategies: list[StrategyBase] = []
    for storage in program.interface.reads:
        variable = live.get(id(storage))
        if variable is not None:
            size = float(np.prod(variable.shape, dtype=np.float64)) * np.dtype(variable.dtype).itemsize
            found.append((size, bool(variable.trainable)))
            made_for = variable.distribute_strategy
            if made_for is not None and made_for.extended.plan.name != "default":
                strategies.append(made_for)
    return found, strategies


def _stand_in(leaf: Any, strategy: StrategyBase | None) -> Any:
    """A tensor without memory for each spec."""
    shape, dtype = _spec(leaf)
    if shape is None:
        return leaf
    zero = np.zeros((), dtype)
    zero.flags.writeable = False
    tensor = context.backend().put(np.broadcast_to(zero, shape), None)
    return tensor if strategy is None else PerReplica([tensor] * len(strategy.extended.plan.devices))


def _spec(leaf: Any) -> tuple[tuple[int, ...] | None, Any]:
    if isinstance(leaf, TensorSpec):
        sizes = [size for size in leaf.sizes if size is not None]
        if len(sizes) < len(leaf.sizes):
            raise ValueError(
                f"predict_step() got {leaf!r}; expected sizes for all dimensions, because time depends on them. Give the batch of "
                f"one replica."
            )
        return tuple(sizes), leaf.dtype
    if type(leaf).__name__ == "ShapeDtypeStruct":
        return tuple(leaf.shape), np.dtype(leaf.dtype)
    return None, None


def _of_jax(step: Callable[..., Any], specs: Sequence[Any], axis_name: str | None) -> TracedStep:
    traces: Any = importlib.import_module("refdist._core.compilers.abstract_programs")

    def abstract(leaf: Any) -> Any:
        shape, dtype = _spec(leaf)
        return leaf if shape is None else traces.abstract(shape, dtype)

    jaxpr = traces.program_of(step, nest.map_structure(abstract, tuple(specs)), axis_name)
    return TracedStep(jaxpr, 0.0, 0.0, _bytes(jaxpr.invars), _temporary(jaxpr))


def _keras_step(model: Any, specs: Sequence[Any]) -> tuple[Any, Sequence[Any], StrategyBase | None]:
    steps: Any = importlib.import_module("refdist._core.keras.keras_steps")
    strategy = model.distribute_strategy
    taken = steps.Steps(model, "train", custom=steps.takes_data_alone(model, "train"))
    if not model.optimizer.built:
        with strategy.scope():
            model.optimizer.build(model.trainable_variables)

    def step(*batch: Any) -> Any:
        return taken.run_step(batch, 1.0 / strategy.num_replicas_in_sync)

    return step, specs, None


def _temporary(jaxpr: Any) -> float:
    costs: Any = importlib.import_module("refdist._core.compilers.costs")
    return costs.cost_of(jaxpr).peak_bytes


def _bytes(atoms: Sequence[Any]) -> float:
    return float(
        sum(
            np.prod(atom.aval.shape, dtype=np.float64) * atom.aval.dtype.itemsize
            for atom in atoms
            if isinstance(getattr(atom.aval, "dtype", None), np.dtype)
        )
    )
