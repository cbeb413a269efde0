"""Optimizers of Keras in loops that users write: replicas sum their gradients, and one update follows.

Keras's JAX backend has optimizers without side effects, and keeps the conditions of its schedules, scales and averages in
them. So an update is computed from values, and its results are assigned.
"""

import contextlib
import functools
import importlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

from refdist._core.base.call_sites import call_site, where
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.where import HERE
from refdist._core.keras.keras_slices import remembered, whole
from refdist._core.keras.keras_variables import adopted, held, tensor
from refdist._core.replicas import context
from refdist._core.replicas.named_function import UpdateOf
from refdist._core.replicas.values import select
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.variables.variable import Variable

_core: Any = importlib.import_module("keras.src.backend.jax.core")
_scopes: Any = importlib.import_module("keras.src.backend.common.name_scope")
_stateless: Any = importlib.import_module("keras.src.backend.common.stateless_scope")
_optimizers: Any = importlib.import_module("keras.src.optimizers")

_CLIPPING = ("clipnorm", "global_clipnorm", "clipvalue")


def install() -> None:
    """Make optimizers sum the gradients of replicas, and take variables of ours."""
    base = _optimizers.base_optimizer.BaseOptimizer
    for kind in (base, _optimizers.LossScaleOptimizer):
        kind.apply = _applying(kind.apply)
    base.apply_gradients = _apply_gradients
    base.build = _building(base.build)
    base._var_key = _key


def _apply_gradients(
    self: Any,
    grads_and_vars: Any,
    name: Any = None,
    skip_gradients_aggregation: bool = False,
    experimental_aggregate_gradients: bool = True,
) -> Any:
    """Apply pairs of gradients and variables, and return how often this was done; replicas may have summed them already."""
    pairs = list(grads_and_vars)
    gradients, variables = [gradient for gradient, _ in pairs], [variable for _, variable in pairs]
    if skip_gradients_aggregation or not experimental_aggregate_gradients:
        self.apply(gradients, variables, aggregated=True)
    else:
        self.apply(gradients, variables)  # which users may have overridden
    return self._iterations


def _applying(original: Callable[..., None]) -> Callable[..., None]:
    """Make an optimizer sum the gradients of the replicas it is called in, and update the variables once."""

    @functools.wraps(original)
    def apply(self: Any, grads: Any, trainable_variables: Any = None, aggregated: bool = False) -> None:
        gradients = list(grads)
        if _stateless.in_stateless_scope() or not gradients:
            original(self, grads, trainable_variables)
            return
        variables = _variables(self, gradients, trainable_variables)
        replica = context.get_replica_context()
        if replica is None or replica.num_replicas_in_sync == 1:
            _update(self, original, gradients, variables)
            return
        if not HERE.get().called_from:  # by fit(), which may be given an optimizer of no scope
            _require_one_scope(self, variables, replica.strategy)
        there = [place for place, gradient in enumerate(gradients) if gradient is not None]

        def merge(_: StrategyBase, totals: list[Any]) -> None:
            given: list[Any] = [None] * len(gradients)
            for place, total in zip(there, totals, strict=True):
                given[place] = select(total, 0)
            with without_clipping(self):
                _update(self, original, given, variables)

        # As in TensorFlow, each replica clips its own gradients, before they are summed.
        own = clipped(self, gradients, variables, [tensor(held(one)) for one in self.variables])
        parts = [part for part in own if part is not None]
        missing = [held(one).name for one, gradient in zip(variables, gradients, strict=True) if gradient is None]
        name = f"gradients, with none for {', '.join(missing)}" if missing else None  # compared between the replicas
        details = UpdateOf(self.name, [held(one) for one in variables], held(self._iterations))
        summed = parts if aggregated else replica.all_reduce("SUM", parts, name=name)
        replica.update_together(details, merge, (summed,))

    return apply


def _variables(optimizer: Any, gradients: Sequence[Any], given: Any) -> list[Any]:
    """The variables of Keras to which gradients belong; the optimizer makes what it keeps for them, if it has not yet."""
    known = optimizer._trainable_variables if given is None else [_view(optimizer, one) for one in given]
    if len(known) != len(gradients) or (given is None and not optimizer.built):
        raise ValueError(
            f"An optimizer got {len(gradients)} gradients for {len(known)} variables; expected as many as it has variables. Pass "
            f"both, or call optimizer.build(variables) first."
        )
    if not optimizer.built:
        with _scopes.name_scope(optimizer.name, caller=optimizer):
            optimizer.build(known)
        optimizer.built = True
    return known


def _require_one_scope(optimizer: Any, variables: Sequence[Any], strategy: StrategyBase) -> None:
    """Raise if an optimizer, or a variable that it is given, was made elsewhere than in the scope of a strategy."""
    for kind, group in (
        ("the variable", variables),
        (f"the optimizer {optimizer.name!r}, with its", optimizer.variables),
    ):
        for one in group:
            home = held(one).distribute_strategy
            if home is not strategy:
                made = "outside of every scope" if home is None else f"in the scope of {home!r}"
                raise ValueError(
                    f"apply_gradients() at {where(call_site())}, in a replica of {strategy!r}, met {kind} {held(one).name!r}, "
                    f"made {made}; expected the optimizer and its variables to be of that strategy: on TensorFlow each replica "
                    f"would write them once more. Make the model and the optimizer in `with strategy.scope():`, and call "
                    f"build() there."
                )


def _update(optimizer: Any, original: Callable[..., None], gradients: Sequence[Any], variables: list[Any]) -> None:
    """Compute an update from values, and assign the new ones."""
    dense = _whole(gradients, variables)
    trainable, own = list(optimizer._trainable_variables), list(optimizer.variables)
    every = [*trainable, *own]
    old = [tensor(held(variable)) for variable in every]
    if hasattr(optimizer, "inner_optimizer"):  # its conditions are on values only
        by_key = {optimizer._var_key(one): gradient for one, gradient in zip(variables, dense, strict=True)}
        every_gradient = [by_key.get(optimizer._var_key(one)) for one in trainable]
        news: Any = optimizer.stateless_apply(old[len(trainable) :], every_gradient, old[: len(trainable)])
        new = [*news[0], *news[1]]
    else:
        remembered(gradients, dense)
        with _stateless.StatelessScope(state_mapping=list(zip(every, old, strict=True))) as scope:
            original(optimizer, dense, variables)
        remembered((), ())
        new = [scope.get_current_value(variable) for variable in every]
    for variable, before, after in zip(every, old, new, strict=True):
        if after is not before:
            held(variable).assign(_core.cast(after, variable.dtype))


def _whole(gradients: Sequence[Any], variables: Sequence[Any]) -> list[Any]:
    pairs = zip(gradients, variables, strict=True)
    return [None if gradient is None else whole(gradient, variable) for gradient, variable in pairs]


def clipped(optimizer: Any, gradients: list[Any], variables: list[Any], values: Sequence[Any]) -> list[Any]:
    """The gradients of a replica, clipped; those that are accumulated first are clipped when they are used.

    Args:
        values: those of the variables of the optimizer itself.
    """
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    if inner.gradient_accumulation_steps or not any(getattr(inner, name) for name in _CLIPPING):
        return gradients
    # A limit is for gradients without the scale that the loss had.
    scale: Any = inner.loss_scale_factor or 1.0
    for variable, value in zip(optimizer.variables, values, strict=True):
        if variable is getattr(optimizer, "dynamic_scale", None):
            scale = scale * value
    dense = [None if one is None else one / scale for one in _whole(gradients, variables)]
    slices = [
        IndexedSlices(one.values / scale, one.indices, one.dense_shape) if isinstance(one, IndexedSlices) else one
        for one in gradients
    ]
    remembered(slices, dense)  # of slices, the norm is that of their values, as on one device
    clipped = inner._clip_gradients(dense)
    remembered((), ())
    return [None if one is None else one * scale for one in clipped]


@contextlib.contextmanager
def without_clipping(optimizer: Any) -> Generator[None]:
    """Switch off what was done already, for a block; what is accumulated was not clipped yet."""
    inner = getattr(optimizer, "inner_optimizer", optimizer)
    attributes: dict[str, Any] = vars(inner)
    before = {} if inner.gradient_accumulation_steps else {name: attributes[name] for name in _CLIPPING}
    attributes.update(dict.fromkeys(before))
    try:
        yield
    finally:
        attributes.update(before)


def _building(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def build(self: Any, variables: Any) -> None:
        original(self, [_view(self, variable) for variable in variables])

    return build


def _view(optimizer: Any, variable: Any) -> Any:
    """The variable of Keras that stands for a variable of ours, always the same one."""
    if not isinstance(variable, Variable):
        return variable
    views: dict[int, Any] = vars(optimizer).setdefault("_views", {})
    if id(variable) not in views:
        views[id(variable)] = adopted(variable)
    return views[id(variable)]


def _key(self: Any, variable: Any) -> int:
    """By what an optimizer knows a variable, whether it is given ours or the one of Keras that it holds."""
    return id(variable if isinstance(variable, Variable) else held(variable))
