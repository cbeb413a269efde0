"""How the results of expressions differ from what TensorFlow has answered."""

import contextlib

import numpy as np

import refdist as tf
from tests.refdist.ops.answers import answer_of

TOLERANCE = {"bfloat16": 2e-2, "complex64": 1e-5, "float16": 2e-3, "float32": 2e-6, "float64": 1e-12}
NARROW = {
    "float64": "float32",
    "int64": "int32",
    "uint64": "uint32",
    "complex128": "complex64",
}  # JAX has no room for 64 bits


def parts(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def evaluated(expression, make):
    tf.random.set_seed(7)
    return parts(eval(expression, {"tf": tf, "t": make, "np": np}))


def staged(expression, known=()):
    """Evaluate in a function whose arguments are the tensors of the expression, so that it knows none of their values."""
    tensors = []

    def recorded(*args):
        tensors.append(tf.constant(*args))
        return tensors[-1]

    with contextlib.suppress(Exception):  # where it is refused, the tensors are known that lead to it
        evaluated(expression, recorded)
    if expression in known or any(tensor.dtype == object for tensor in tensors):
        return evaluated(expression, tf.constant)

    def body(*given):
        rest = iter(given)
        return evaluated(expression, lambda *_: next(rest))

    return tf.function(body)(*tensors)


def staged_together(expressions):
    """Evaluate many expressions in one function, whose arguments are their tensors; so it is compiled once."""
    made = []
    with tf.using("host"):  # which is quick
        for expression in expressions:
            evaluated(expression, lambda *args: made.append(args) or tf.constant(*args))
    tensors = [tf.constant(*args) for args in made]

    def body(*given):
        rest = iter(given)
        return [evaluated(expression, lambda *_: next(rest)) for expression in expressions]

    return dict(zip(expressions, tf.function(body)(*tensors), strict=True))


def unlike(expression, expected, results, narrow):
    """Say how the results of an expression differ from what TensorFlow has answered, or None."""
    if len(expected) != len(results):
        return f"{expression}: {len(results)} results for {len(expected)}"
    for wanted, result in zip(expected, results, strict=True):
        found = answer_of(np.asarray(result))
        dtype = NARROW.get(wanted["dtype"], wanted["dtype"]) if narrow else wanted["dtype"]
        if (wanted["shape"], dtype) != (found["shape"], found["dtype"]):
            return f"{expression}: {found} for {wanted}"
        if dtype not in TOLERANCE:
            same = wanted["values"] == found["values"]
        else:
            near = TOLERANCE[dtype]
            same = np.allclose(wanted["values"], found["values"], rtol=near, atol=near, equal_nan=True)
        if not same:
            return f"{expression}: {found} for {wanted}"
    return None


def differences(answers, evaluate, narrow):
    """Say where expressions differ from recorded answers."""
    for expression, expected in answers.items():
        try:
            results = evaluate(expression)
        except (IndexError, TypeError, ValueError, ZeroDivisionError) as error:
            if isinstance(expected, list):
                yield f"{expression}: {error!r}"
        else:
            yield (
                unlike(expression, expected, results, narrow)
                if isinstance(expected, list)
                else f"{expression}: {results} for {expected}"
            )
