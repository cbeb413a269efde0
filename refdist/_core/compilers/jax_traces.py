"""What only JAX itself can say: whether it is in a trace, which types are containers for it, what is inside of a random key."""

import functools
import itertools
import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import jax
import numpy as np
from jax._src import core  # pyright: ignore
from jax._src.config import check_static_indices  # pyright: ignore
from jax._src.core import eval_trace, extend_axis_env_nd, set_current_trace, trace_ctx  # pyright: ignore
from jax._src.interpreters.partial_eval import DynamicJaxprTrace  # pyright: ignore
from jax._src.tree_util import _registry  # pyright: ignore
from jax.extend.core import get_opaque_trace_state  # pyright: ignore

from refdist._core.base.jax_facts import is_tracer


def trace_state() -> object:
    """A token for the open traces; it compares equal while the same ones are open, whether or not a tape records."""
    if _innermost() is trace_ctx.trace:
        return get_opaque_trace_state(convention="flax")  # pyright: ignore
    with set_current_trace(_innermost()):
        return get_opaque_trace_state(convention="flax")  # pyright: ignore


def _innermost() -> Any:
    """The trace that does the work: one of ours in front of it only reports what is done."""
    return getattr(trace_ctx.trace, "parent", trace_ctx.trace)


_NUMBERS = itertools.count()
# The same as trace_ctx.trace, where JAX keeps it, without a call of Python: every write of every replica asks for it.
_HELD = getattr(core, "trace_state_strong_ref", None)
_current_trace: Callable[[], Any] = (
    functools.partial(operator.attrgetter("trace"), trace_ctx)
    if _HELD is None
    else functools.partial(operator.attrgetter("value"), _HELD)
)

# A trace is open in one thread only, so a new thread shows what the state outside of all traces looks like.
with ThreadPoolExecutor(1) as _executor:
    _OUTSIDE = [_executor.submit(trace_state).result()]


@contextmanager
def unseen_trace() -> Generator[None]:
    """Enter a trace that no cache of JAX has seen: the name of an axis tells it apart from all others."""
    with extend_axis_env_nd([(("trace", next(_NUMBERS)), 1)]):
        yield


def tracing() -> bool:
    """Say whether the code runs inside jit, grad, vmap, scan or the like."""
    # Nearly always JAX is in no trace at all; every write of every replica asks, and making a token takes seven times as long.
    return _current_trace() is not eval_trace and trace_state() not in _OUTSIDE


def treat_as_outside(trace: Any) -> None:
    """Treat what happens in a trace as computed immediately."""
    with set_current_trace(trace):
        _OUTSIDE.append(trace_state())


def staging() -> bool:
    """Say whether what is computed now becomes part of a program that runs later: inside jit or scan, not grad or vmap."""
    return tracing() and is_tracer(jax.lax.add(1, 1))


def writing_a_program() -> bool:
    """Say whether the innermost trace is that of a program: of jit, scan or cond, not of grad or vmap."""
    return isinstance(_innermost(), DynamicJaxprTrace)


def made_from(tensor: Any, origin: Any) -> bool:
    """Say whether a tensor of the open traces is made from another one, however many steps there are between."""
    waiting, seen = [tensor], dict[int, Any]()
    while waiting:
        one = waiting.pop()
        if one is origin:
            return True
        if id(one) not in seen:
            seen[id(one)] = one
            waiting += _made_from(one)
    return False


def _made_from(tensor: Any) -> Sequence[Any]:
    """The tensors from which a step has made one; or the one of a trace around, for which it stands in a branch or a loop."""
    step, variable = getattr(tensor, "parent", None), getattr(tensor, "val", None)
    if step is not None or not isinstance(variable, core.Var):
        return getattr(step, "in_tracers", ())
    return [around for around in [tensor._trace.frame.constvar_to_val.get(variable)] if around is not None]


def checked_indices() -> AbstractContextManager[Any]:
    """Make an index beyond the end an error, if it is known; JAX would take the last element for it."""
    return check_static_indices(True)  # pyright: ignore[reportReturnType]


def repeated(times: int, step: Callable[[Any], Any], state: Any) -> Any:
    """Take a step so many times, as one loop of a program."""
    return jax.lax.fori_loop(0, times, lambda _, values: step(values), state)


def kept_known(function: Callable[[], Any]) -> Any:
    """Compute at once, and make integers of numpy of what comes out."""
    with jax.ensure_compile_time_eval():
        result = function()

    def known(leaf: Any) -> Any:
        return np.asarray(leaf) if isinstance(leaf, jax.Array) and leaf.dtype.kind in "biu" else leaf

    return jax.tree.map(known, result)


def pytree_registry() -> Mapping[type, Any]:
    """The types that are containers for JAX, and how each is taken apart and put together; types that come later, too."""
    return _registry


def part_names(container: Any) -> list[str]:
    """How JAX calls the parts of a container: attributes and keys by name, all others by number."""
    paths = jax.tree_util.tree_leaves_with_path(container, is_leaf=lambda value: value is not container)
    return [jax.tree_util.keystr(path, simple=True) for path, _ in paths]


def key_data(key: Any) -> tuple[Any, Any]:
    """The numbers inside of a random key, and its implementation."""
    return jax.random.key_data(key), jax.random.key_impl(key)


def key_of(numbers: Any, implementation: Any) -> Any:
    """The random key with these numbers inside."""
    return jax.random.wrap_key_data(jax.numpy.asarray(numbers), impl=implementation)
