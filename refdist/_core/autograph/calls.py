"""Calls in converted code: which functions are converted in turn, and what the built-in ones do with tensors."""

import builtins
import functools
import inspect
import sysconfig
from collections.abc import Callable
from types import CodeType, FunctionType, MethodType
from typing import Any

from malt.operators import py_builtins

from refdist._core.autograph.conversion import CannotConvert, converted_function
from refdist._core.autograph.directives import AS_IS
from refdist._core.autograph.ranges import SymbolicRange
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.where import HERE
from refdist._core.variables.tensors import current_value

# Not converted: they do not branch on tensors, or do so in a way of their own.
_LIBRARIES = frozenset(
    {
        "refdist",
        "simulator",
        "conformance",
        "jax",
        "jaxlib",
        "numpy",
        "scipy",
        "ml_dtypes",
        "keras",
        "optree",
        "flax",
        "optax",
    }
    | {"chex", "orbax", "haiku", "equinox", "malt", "pytest", "_pytest", "hypothesis", "greenlet", "absl", "tensorflow"}
    | {"matplotlib", "pandas", "PIL", "IPython", "ipykernel"}
)
_STANDARD = sysconfig.get_paths()["stdlib"]


def converted_call(f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, scope: Any = None) -> Any:
    """Call what converted code calls, converted where it is the user's."""
    given = kwargs or {}
    if isinstance(f, functools.partial):
        return converted_call(f.func, (*f.args, *args), {**f.keywords, **given}, scope)
    if inspect.isbuiltin(f) or isinstance(f, type):
        special = _BUILTINS.get(f) if f.__hash__ is not None else None
        if special is not None:
            return special(f, args, given, scope)
        return f(*args, **given)
    return converted(f)(*args, **given)


def converted(f: Any) -> Callable[..., Any]:
    """A function in its converted form; the function itself, where there is nothing to convert."""
    if isinstance(f, functools.partial):
        return functools.partial(converted(f.func), *f.args, **f.keywords)
    if isinstance(f, MethodType):
        function: Any = f.__func__
        changed = converted(function) if isinstance(function, FunctionType) else function
        return f if changed is function else MethodType(changed, f.__self__)
    if isinstance(f, FunctionType):
        if not of_user(f):
            if _lacks_source(f):
                _tell(
                    f"{f.__qualname__} at {f.__code__.co_filename}:{f.__code__.co_firstlineno} was left as it is: its source is in "
                    f"no file, as with python -c, a pipe and the interactive interpreter. Write it in a file, or in a notebook."
                )
            return f
        try:
            return converted_function(f)
        except CannotConvert as reason:
            _tell(str(reason))
            return f
    call = inspect.getattr_static(type(f), "__call__", None)  # callable(f) would not say whose it is
    if isinstance(call, FunctionType) and not isinstance(f, type) and of_user(call):
        return functools.partial(converted(call), f)
    return f


def _tell(reason: str) -> None:
    """Keep why a function stays as it is, for the error of a program that could not be written."""
    draft = HERE.get().draft
    if draft is not None:
        draft.unconverted.append(reason)


def _lacks_source(f: FunctionType) -> bool:
    """Say whether a function of the program would be converted if it stood in a file."""
    main = f.__globals__.get("__name__") == "__main__" and not getattr(f, AS_IS, False)
    return main and f.__code__.co_filename.startswith("<")


def of_user(f: FunctionType) -> bool:
    """Say whether a function belongs to the program, not to a library, and is to be converted."""
    code: CodeType = f.__code__
    name = str(f.__globals__.get("__name__", ""))
    if getattr(f, AS_IS, False) or getattr(f, "autograph_info__", None) is not None:
        return False
    if name.partition(".")[0] in _LIBRARIES or code.co_filename.startswith("<"):
        return False
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return False
    return not code.co_filename.startswith(_STANDARD) or "-packages" in code.co_filename


def _range(f: Any, args: tuple[Any, ...], kwargs: Any, scope: Any) -> Any:
    values = [current_value(one) for one in args]
    if not any(map(is_tracer, values)):
        return range(*args)
    start, limit = (0, values[0]) if len(values) == 1 else values[:2]
    return SymbolicRange(start, limit, values[2] if len(values) > 2 else 1)


def _number(dtype: str) -> Callable[..., Any]:
    """Convert a tensor as int() and float() convert a number."""

    def convert(f: Any, args: tuple[Any, ...], kwargs: Any, scope: Any) -> Any:
        value: Any = current_value(args[0]) if args else 0
        return value.astype(dtype) if is_tracer(value) else f(*args, **kwargs)

    return convert


def _super(f: Any, args: tuple[Any, ...], kwargs: Any, scope: Any) -> Any:
    return py_builtins.super_in_original_context(f, args, scope)


def _called_later(f: Any, args: tuple[Any, ...], kwargs: Any, scope: Any) -> Any:
    """Call a built-in function that takes a function."""
    return f(converted(args[0]) if callable(args[0]) else args[0], *args[1:], **kwargs)


def _sorted(f: Any, args: tuple[Any, ...], kwargs: Any, scope: Any) -> Any:
    return f(*args, **{name: converted(one) if callable(one) else one for name, one in kwargs.items()})


_BUILTINS: dict[Any, Callable[..., Any]] = {
    builtins.range: _range,
    builtins.int: _number("int32"),
    builtins.float: _number("float32"),
    builtins.super: _super,
    builtins.map: _called_later,
    builtins.filter: _called_later,
    builtins.sorted: _sorted,
    builtins.eval: lambda f, args, kwargs, scope: py_builtins.eval_in_original_context(f, args, scope),
    builtins.globals: lambda f, args, kwargs, scope: py_builtins.globals_in_original_context(scope),
    builtins.locals: lambda f, args, kwargs, scope: py_builtins.locals_in_original_context(scope),
}
