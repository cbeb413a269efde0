"""Sees every operation of JAX as it happens: what is counted, and what gradients are taken of later.

JAX asks the current trace to carry out an operation. Two traces of ours let the one before them do it, and report the operation.
"""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
from jax._src.core import (  # pyright: ignore
    EvalTrace,
    Trace,
    eval_trace,
    set_current_trace,
    trace_ctx,
)
from jax.extend.core import jaxpr_as_fun  # pyright: ignore

from refdist._core.base.where import HERE, entered
from refdist._core.compilers.host_arithmetic import computed_on_host
from refdist._core.compilers.jax_traces import treat_as_outside

Operation = Callable[..., Sequence[Any]]
"""Computes the results of an operation again, from other inputs."""


class _Computed(EvalTrace):
    """Computes as JAX does outside of all traces; with numpy where that was asked for."""

    def process_primitive(self, primitive: Any, args: Any, params: Any, /) -> Any:
        if _DEPTH.on_host:
            results = computed_on_host(primitive, args, params)
            if results is not NotImplemented:
                return results
        # Not as this trace itself: from JAX 0.12 on, parts of an operation would come here once more.
        return eval_trace.process_primitive(primitive, args, params)

    # JAX leaves the trace before it asks it for something, so that the parts of these would be computed as usual.

    def process_custom_jvp_call(self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, **params: Any) -> Any:
        with set_current_trace(_parent()):
            return super().process_custom_jvp_call(primitive, fun, jvp, tracers, **params)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Any, /, **params: Any
    ) -> Any:
        with set_current_trace(_parent()):
            return super().process_custom_vjp_call(primitive, fun, fwd, bwd, tracers, **params)


class _Observed(_Computed):
    """The same, and reports what was computed.

    There is only one, because JAX keeps compiled programs for the trace in which they were first called.
    """

    def process_primitive(self, primitive: Any, args: Any, params: Any, /) -> Any:
        results = super().process_primitive(primitive, args, params)
        report(primitive, args, params, results)
        return results

    def process_custom_jvp_call(self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, **params: Any) -> Any:
        if HERE.get().tapes is None:
            return super().process_custom_jvp_call(primitive, fun, jvp, tracers, **params)
        return with_own_derivative(_parent(), primitive, (fun, jvp), tracers, params)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Any, /, **params: Any
    ) -> Any:
        if HERE.get().tapes is None:
            return super().process_custom_vjp_call(primitive, fun, fwd, bwd, tracers, **params)
        return with_own_derivative(_parent(), primitive, (fun, fwd, bwd), tracers, params)


class _Between(Trace):
    """Lets the trace of a program that is being written do its work, and reports it."""

    __slots__ = ("parent",)

    def __init__(self, parent: Any) -> None:
        super().__init__()
        self.parent, self.requires_low = parent, parent.requires_low

    def stage_value(self, val: Any) -> Any:
        return self.parent.stage_value(val)

    def process_primitive(self, primitive: Any, tracers: Any, params: Any, /) -> Any:
        results = self.parent.process_primitive(primitive, tracers, params)
        report(primitive, tracers, params, results)
        return results

    def process_custom_jvp_call(self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, **params: Any) -> Any:
        return with_own_derivative(self.parent, primitive, (fun, jvp), tracers, params)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Any, /, **params: Any
    ) -> Any:
        return with_own_derivative(self.parent, primitive, (fun, fwd, bwd), tracers, params)

    def process_call(self, call_primitive: Any, f: Any, tracers: Any, params: Any, /) -> Any:
        return self.parent.process_call(call_primitive, f, tracers, params)

    def process_shard_map(self, *args: Any, **params: Any) -> Any:
        return self.parent.process_shard_map(*args, **params)

    def cur_qdd(self, x: Any) -> Any:
        return self.parent.cur_qdd(x)


OBSERVED, _COMPUTED = _Observed(), _Computed()
treat_as_outside(OBSERVED)
treat_as_outside(_COMPUTED)
_charges: list[Callable[[Any, Any, Any, Sequence[Any]], None]] = []


def charge_with(charge: Callable[[Any, Any, Any, Sequence[Any]], None]) -> None:
    """Tell a function of every operation outside of programs: its primitive, inputs, parameters and results."""
    _charges.append(charge)


def report(primitive: Any, args: Sequence[Any], params: Any, results: Any) -> None:
    """Tell whoever wants to know that an operation was carried out."""
    outputs: Sequence[Any] = results if primitive.multiple_results else [results]
    for charge in _charges:
        charge(primitive, args, params, outputs)
    tapes = HERE.get().tapes
    if tapes is not None and primitive.name not in _CONSTANT and params.get("name") not in _CONSTANT:
        tapes.note(args, outputs, _again(primitive, params))


_CONSTANT = frozenset({"floor", "ceil", "round", "stop_gradient"})
"""Operations through which TensorFlow sees no connection, where JAX has a gradient of zero."""


def _again(primitive: Any, params: Any) -> Operation:
    def operation(*values: Any) -> Sequence[Any]:
        results = primitive.bind(*values, **params)
        return results if primitive.multiple_results else [results]

    return operation


def with_own_derivative(parent: Any, primitive: Any, parts: Any, args: Any, params: Any) -> Any:
    """Carry out an operation whose author has written its derivative.

    Its parts can be called only once, so that they are made a program first, which can be run again.
    """
    program = jaxpr_as_fun(jax.make_jaxpr(lambda *values: primitive.bind(*values, subfuns=parts, **params))(*args))
    tapes = HERE.get().tapes
    with set_current_trace(parent), entered(tapes=None):
        results = program(*args)
    if tapes is not None:
        tapes.note(args, results, program)
    return results


class _Depth(threading.local):
    """How many blocks of a thread are observed, and what was the trace around the first of them."""

    count = 0
    around: Any = None
    on_host = False  # whether operations are computed with numpy


_DEPTH = _Depth()


def _parent() -> Any:
    return _COMPUTED if _DEPTH.on_host else eval_trace


class observed:  # noqa: N801, a context manager is used like a function
    """Report what JAX computes in a block.

    Replicas enter and leave such blocks in any order, all in one thread, so that the blocks outside of programs are counted.
    Not a generator: one that a Ctrl-C keeps from finishing would finish much later, and undo what is not its own.
    """

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        trace = trace_ctx.trace
        self._before = None
        if trace is eval_trace or trace is OBSERVED:
            if _DEPTH.count == 0:
                _DEPTH.around = trace
            _DEPTH.count += 1
            trace_ctx.set_trace(OBSERVED)
        elif not isinstance(trace, _Between):
            self._before = trace
            trace_ctx.set_trace(_Between(trace))

    def __exit__(self, *exception: object) -> None:
        if self._before is not None:
            trace_ctx.set_trace(self._before)
        elif trace_ctx.trace is OBSERVED:
            _DEPTH.count -= 1
            if _DEPTH.count == 0:
                trace_ctx.set_trace(_DEPTH.around)


@contextmanager
def computed_with_numpy() -> Generator[None]:
    """Compute what JAX would compile a program for, wherever numpy can: in a block that is run once, compiling takes longest."""
    before, _DEPTH.on_host = _DEPTH.on_host, True
    try:
        with observed():
            yield
    finally:
        _DEPTH.on_host = before
