"""The expectations of a check: each raises `CheckFailed` when what it got is not what it expected."""

import inspect
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn, cast

import numpy as np
import numpy.typing as npt


class CheckFailed(AssertionError):
    """An implementation does not keep a behavior: the check expected one thing and got another."""

    def __init__(self, expected: str, got: str, what: str = "") -> None:
        lines = [what] if what else []
        super().__init__("\n".join([*lines, f"expected: {expected}", f"got:      {got}"]))
        self.expected = expected
        self.got = got
        self.what = what


class Unsupported(Exception):
    """An implementation does not have what the check needs, so nothing can be said."""


class Raised:
    """Where `raises` puts the error that it caught."""

    error: BaseException


SameValues = Callable[[npt.NDArray[Any], npt.NDArray[Any]], bool]
"""Tells whether two arrays of one shape have the same values."""


class Expectations:
    """What a check says about values; all are methods of its world."""

    def array(self, value: Any) -> npt.NDArray[Any]:
        """Return a tensor, a variable or a number as a numpy array."""
        return _array(value)

    def equal(self, expected: Any, got: Any, what: str = "") -> None:
        """Expect the same shapes and exactly the same values; tuples and lists count as the same, and may be nested."""
        self._compare(expected, got, what, partial(np.array_equal, equal_nan=True))

    def close(self, expected: Any, got: Any, what: str = "", *, tolerance: float = 1e-5) -> None:
        """Expect the same shapes and values that differ by no more than the tolerance, relative and absolute."""

        def near(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
            return bool(np.allclose(_wide(one), _wide(other), rtol=tolerance, atol=tolerance, equal_nan=True))

        self._compare(expected, got, what, near)

    def same(self, expected: Any, got: Any, what: str = "") -> None:
        """Expect one and the same object."""
        if expected is not got:
            raise CheckFailed(f"the same object, {_show(expected)}", _show(got), what)

    def true(self, condition: Any, what: str) -> None:
        """Expect a condition to hold."""
        if not bool(condition):
            raise CheckFailed(what, "not so")

    @contextmanager
    def raises(self, *types: type[BaseException]) -> Generator[Raised]:
        """Expect the block to raise one of these types; without types, any exception."""
        allowed = types or (Exception,)
        names = " or ".join(kind.__name__ for kind in allowed)
        raised = Raised()
        try:
            yield raised
        except (CheckFailed, Unsupported):
            raise
        except allowed as error:
            raised.error = error
            return
        except Exception as error:
            raise CheckFailed(f"{names} raised", f"{type(error).__name__}: {error}") from error
        raise CheckFailed(f"{names} raised", "no error")

    def signature(self, function: Callable[..., Any], expected: Sequence[str | tuple[str, Any]]) -> None:
        """Expect exactly these parameters after self: a name if there is no default, otherwise name and default."""
        parameters = list(inspect.signature(function).parameters.values())
        if parameters and parameters[0].name == "self":
            parameters = parameters[1:]
        wanted = [(entry, inspect.Parameter.empty) if isinstance(entry, str) else entry for entry in expected]
        got = [(_spelling(parameter), parameter.default) for parameter in parameters]
        if wanted != got:
            name = getattr(function, "__qualname__", repr(function))
            raise CheckFailed(_parameters(wanted), _parameters(got), f"parameters of {name}")

    def unsupported(self, reason: str) -> NoReturn:
        """End the check without a verdict, because the implementation does not have what it needs."""
        raise Unsupported(reason)

    def _compare(self, expected: Any, got: Any, what: str, same_values: SameValues) -> None:
        difference = _difference(expected, got, same_values, "")
        if difference is not None:
            notes = [note for note in (what, difference) if note]
            raise CheckFailed(_show(expected), _show(got), "; ".join(notes))


def _difference(expected: Any, got: Any, same_values: SameValues, place: str) -> str | None:
    """Say where two nests first differ, or return None; an empty text means the whole value."""
    pairs: list[tuple[str, Any, Any]]
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        left, right = cast("Mapping[Any, Any]", expected), cast("Mapping[Any, Any]", got)
        if left.keys() != right.keys():
            return f"other keys{place and f' at {place}'}"
        pairs = [(f"[{key!r}]", left[key], right[key]) for key in left]
    elif isinstance(got, list | tuple) and isinstance(expected, list | tuple | np.ndarray):
        first, second = cast("Sequence[Any]", expected), cast("Sequence[Any]", got)
        if len(first) != len(second):
            return f"{len(first)} and {len(second)} parts{place and f' at {place}'}"
        pairs = [(f"[{index}]", *pair) for index, pair in enumerate(zip(first, second, strict=True))]
    else:
        return _leaf_difference(expected, got, same_values, place)
    for step, one, other in pairs:
        difference = _difference(one, other, same_values, place + step)
        if difference is not None:
            return difference
    return None


def _leaf_difference(expected: Any, got: Any, same_values: SameValues, place: str) -> str | None:
    """Say how two values that are not nests differ, or return None."""
    here = f"at {place}" if place else ""
    left, right = _array(expected), _array(got)
    if not all(side.dtype.kind in "biufcV" for side in (left, right)):
        # Texts, None, types and other objects have no numbers to compare.
        return None if bool(np.all(expected == got)) else here
    if left.shape != right.shape:
        return f"shapes {left.shape} and {right.shape} {here}".strip()
    if (left.dtype.kind == "b") != (right.dtype.kind == "b"):
        return f"only one is a truth value {here}".strip()
    return None if same_values(left, right) else here


def _wide(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Widen the types that numpy itself does not know, such as bfloat16."""
    return array.astype(np.float64) if array.dtype.kind == "V" else array


def _array(value: Any) -> npt.NDArray[Any]:
    try:
        has_numpy = hasattr(value, "numpy") and not isinstance(value, type)
        return np.asarray(value.numpy() if has_numpy else value)
    except (TypeError, ValueError):
        # A ragged list, or a value that refuses to be one array, can still be compared and shown.
        return np.asarray(None)


def _show(value: Any, limit: int = 500) -> str:
    """Print a value as plain numbers if it has them, up to a limit."""
    text = repr(_plain(value))
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in cast("Sequence[Any]", value)]
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "numpy"):
        return _array(value).tolist()
    return value


def _spelling(parameter: inspect.Parameter) -> str:
    """Return the name of a parameter as a documented signature spells it."""
    marks = {
        inspect.Parameter.VAR_POSITIONAL: "*{}",
        inspect.Parameter.VAR_KEYWORD: "**{}",
        inspect.Parameter.KEYWORD_ONLY: "{} (only by keyword)",
        inspect.Parameter.POSITIONAL_ONLY: "{} (only by position)",
    }
    return marks.get(parameter.kind, "{}").format(parameter.name)


def _parameters(pairs: Sequence[tuple[str, Any]]) -> str:
    texts = [name if default is inspect.Parameter.empty else f"{name}={default!r}" for name, default in pairs]
    return f"({', '.join(texts)})"
