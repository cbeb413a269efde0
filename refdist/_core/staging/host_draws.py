"""Tells of random numbers of Python and numpy in a trace that stands for all replicas: each gets the same ones."""

import dis
import pickle
import random
import warnings
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from refdist._core.base.call_sites import frames_to_program, line_text
from refdist._core.strategies.rebinding import Reached, reached, with_inner

_DEEP = 3  # how many functions that call each other are looked into
_GLOBAL: Any = getattr(random.random, "__self__")  # noqa: B009  # the generator behind the functions of the module


class HostDraws:
    """The states of the two global generators when a trace began."""

    def __init__(self) -> None:
        self._python, self._numpy = random.getstate(), _numpy_state()

    def tell(self, fn: Callable[..., Any], count: int) -> None:
        """Warn if a function has drawn from one of them, now that it was traced once for so many replicas."""
        # Keras draws the seeds of layers from Python's generator, and nothing from that of numpy.
        for name, drawn in {
            "numpy.random": self._numpy != _numpy_state(),
            "Python's random": self._python != random.getstate() and _names_random(fn),
        }.items():
            if drawn:
                code = getattr(_plain(fn), "__code__", None)
                at = "" if code is None else f" ({line_text(code.co_filename, code.co_firstlineno)})"
                warnings.warn(
                    f"{getattr(fn, '__qualname__', fn)}{at} drew numbers from {name} while it was traced once for all {count} "
                    f"replicas; expected none, because each replica gets the same ones, in every run of the program. Draw them "
                    f"with tf.random, or pass them as an argument that has a component for each replica.",
                    RuntimeWarning,
                    stacklevel=frames_to_program(),
                )


def _numpy_state() -> bytes:
    return pickle.dumps(np.random.get_state(legacy=False))  # with arrays inside, which do not compare


def _plain(fn: Any) -> Any:
    """The function behind a partial one, or behind a `function`."""
    while inner := getattr(fn, "python_function", None) or getattr(fn, "func", None):
        fn = inner
    return fn


def _names_random(fn: Callable[..., Any]) -> bool:
    """Say whether a function, or one that it calls, has a name for Python's global generator."""
    return any(_names_it(one, code) for one in reached(_plain(fn), _DEEP) for code in with_inner(one.code))


def _names_it(function: Reached, code: CodeType) -> bool:
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME" and step.argval == "random":
            return True
        if step.opname == "LOAD_GLOBAL" and _is_it(function.space.get(step.argval)):
            return True
        if step.opname == "LOAD_DEREF" and _is_it(_contents(function, step.argval)):
            return True
    return False


def _contents(function: Reached, name: str) -> Any:
    try:
        return function.cells[name].cell_contents
    except (KeyError, ValueError):  # a cell of the call, or one that is not bound yet
        return None


def _is_it(value: Any) -> bool:
    return value is random or getattr(value, "__self__", None) is _GLOBAL
