"""What programs say about conversion: which functions stay as they are, and how loops run."""

import enum
import functools
from typing import Any

from refdist._core.base.where import HERE

AS_IS = "_refdist_do_not_convert"


class Feature(enum.Enum):
    """Optional parts of a conversion; accepted, because there is nothing to choose."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


def do_not_convert(func: Any = None) -> Any:
    """Leave a function as it is, and what it calls: `if` and loops in it are Python's own.

    >>> import refdist as tf
    >>> @tf.autograph.experimental.do_not_convert
    ... def kind(x):
    ...     return "known" if x is not None else "unknown"
    >>> kind(1)
    'known'
    """
    if func is None:
        return do_not_convert

    @functools.wraps(func)
    def as_it_is(*args: Any, **kwargs: Any) -> Any:
        draft = HERE.get().draft
        if draft is None:
            return func(*args, **kwargs)
        before, draft.converting = draft.converting, False
        try:
            return func(*args, **kwargs)
        finally:
            draft.converting = before

    setattr(as_it_is, AS_IS, True)
    return as_it_is


def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Say, as the first statement of a loop in a function, how often it turns at most; elsewhere it does nothing.

    The other options are accepted: they change how TensorFlow runs a loop, not what it computes.
    """
