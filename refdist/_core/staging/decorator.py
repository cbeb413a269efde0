"""`tf.function`: makes staged functions, whose calls type checkers see as those of the function that each was made of."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, overload

from refdist._core.base.callables import require_callable
from refdist._core.staging.function import Function

if TYPE_CHECKING:
    from refdist._core.staging.concrete_function import ConcreteFunction

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)

_ACCEPTED = frozenset(
    {
        "experimental_implements",
        "experimental_autograph_options",
        "experimental_attributes",
        "experimental_relax_shapes",
        "experimental_compile",
        "experimental_follow_type_hints",
    }
)


class StagedFunction(Protocol[P, R_co]):
    """What is documented of a staged function: it is called as the Python function, and bound as its method."""

    @property
    def __name__(self) -> str: ...
    @property
    def python_function(self) -> Callable[P, R_co]: ...
    @property
    def input_signature(self) -> tuple[Any, ...] | None: ...
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    def get_concrete_function(self, *args: Any, **kwargs: Any) -> "ConcreteFunction": ...
    def experimental_get_tracing_count(self) -> int: ...
    def experimental_get_compiler_ir(self, *args: Any, **kwargs: Any) -> Callable[..., str]: ...
    @overload
    def __get__(self, instance: None, owner: Any = None) -> "StagedFunction[P, R_co]": ...
    @overload
    def __get__(
        self: "StagedFunction[Concatenate[Any, Q], R_co]", instance: object, owner: Any = None
    ) -> "StagedFunction[Q, R_co]": ...


@overload
def function(
    func: Callable[P, R_co],
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    *,
    trace_once: bool = False,
    **others: Any,
) -> StagedFunction[P, R_co]: ...
@overload
def function(
    func: None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    *,
    trace_once: bool = False,
    **others: Any,
) -> Callable[[Callable[P, R_co]], StagedFunction[P, R_co]]: ...
def function(
    func: Callable[..., Any] | None = None,
    input_signature: Any = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    *,
    trace_once: bool = False,
    **others: Any,
) -> Any:
    """Make a function run as a compiled program: its body is called only to write the program.

    >>> import refdist as tf
    >>> @tf.function
    ... def double(x):
    ...     print("traced")
    ...     return x * 2
    >>> double(tf.constant(3.0))
    traced
    <tf.Tensor: shape=(), dtype=float32, numpy=6.0>
    >>> double(tf.constant(4.0))
    <tf.Tensor: shape=(), dtype=float32, numpy=8.0>

    Where a signature leaves a size open (None in `input_signature` or in the `element_spec` of an iterator, `reduce_retracing`),
    one trace is for all sizes. The body is called again, uncounted, where it has to know a size, where there are no elements, and
    where the replicas have tensors of different shapes.

    Args:
        func: the function; without it, a decorator is returned.
        input_signature: a nest of TensorSpecs for the positional arguments.
        autograph: whether `if`, `while`, `for`, `and`, `or`, `not` over tensors become part of the program.
        jit_compile: accepted; every program is compiled.
        reduce_retracing: let the trace for a second shape stand for all shapes that differ in the same places.
        trace_once: write the replicas' part of a program once for all of them, with a symbolic replica number.
    """
    unknown = others.keys() - _ACCEPTED
    if unknown:
        raise TypeError(f"function() got {', '.join(sorted(unknown))}; expected documented arguments. Leave it out.")
    relax = bool(reduce_retracing or others.get("experimental_relax_shapes"))
    if func is None:
        return functools.partial(
            function,
            input_signature=input_signature,
            autograph=autograph,
            reduce_retracing=relax,
            trace_once=trace_once,
        )
    if isinstance(func, Function):
        return func
    require_callable(func, "function()")
    if input_signature is not None and not isinstance(input_signature, (tuple, list)):
        raise TypeError(
            f"function() got input_signature={input_signature!r}; expected a list or tuple with a spec for each argument. Write "
            f"[{input_signature!r}]."
        )
    return Function(func, input_signature, trace_once, relax=relax, autograph=autograph)
