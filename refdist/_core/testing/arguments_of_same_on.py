"""What assert_same_on() takes, and what it says about anything else."""

import contextlib
import inspect
from collections.abc import Iterable
from typing import Any

DEVICES = {"simulator": "GPU", "host": "GPU", "jax": "CPU"}  # on which replicas run, by backend


def required_counts(
    program: Any, replicas: Any, rtol: Any, except_for: Any, strategy: Any, backend: Any, regroup: Any
) -> tuple[int, ...]:
    """Check the arguments, and return the numbers of replicas."""
    counts = tuple(replicas) if isinstance(replicas, (tuple, list, range)) else ()
    if len(counts) < 2 or len(set(counts)) < len(counts) or not all(type(one) is int and one > 0 for one in counts):
        raise ValueError(
            f"assert_same_on() got replicas={replicas!r}; expected two or more different numbers of replicas. Write "
            f"replicas=(1, 2, 4)."
        )
    if not callable(program):
        raise TypeError(
            f"assert_same_on() got {program!r}; expected a function that takes a strategy. Pass the function, and do not call it."
        )
    wanted = "program(strategy)" if regroup is None else "program(strategy, batch)"
    with contextlib.suppress(ValueError):  # a function written in C
        signature = inspect.signature(program)
        try:
            signature.bind(*[None] * (1 if regroup is None else 2))
        except TypeError as error:
            raise TypeError(
                f"assert_same_on() got a program with the parameters {signature}; expected to call it as {wanted}. Take the "
                f"strategy as the first parameter."
            ) from error
    if not callable(strategy):
        raise TypeError(
            f"assert_same_on() got strategy={strategy!r}; expected a function that makes one, given the names of devices. Pass the "
            f"class, such as tf.distribute.MirroredStrategy."
        )
    if (
        isinstance(except_for, str)
        or not isinstance(except_for, Iterable)
        or not all(isinstance(one, str) for one in except_for)
    ):
        raise TypeError(
            f"assert_same_on() got except_for={except_for!r}; expected a tuple of names or patterns. Write except_for=('name',)."
        )
    if rtol is not None and not (isinstance(rtol, (int, float)) and 0 <= rtol < 1):
        raise ValueError(
            f"assert_same_on() got rtol={rtol!r}; expected a number from 0 up to 1. Leave it out, or pass 1e-3."
        )
    if not isinstance(backend, str) or backend not in DEVICES:
        raise ValueError(
            f"assert_same_on() got backend={backend!r}; expected one of {', '.join(DEVICES)}. Use one of these."
        )
    return counts
