"""What TensorFlow answers to expressions; run by it once, this records the answers: python -m tests.refdist.ops.answers NAME ...

The answers are in tests/fixtures/, under the names of the modules that have the expressions, so that no test needs TensorFlow.
"""

import importlib
import json
import pathlib
import sys

import numpy as np

FIXTURES = pathlib.Path(__file__).parent.parent.parent / "fixtures"


def expressions_of(name):
    """The expressions of a module."""
    return importlib.import_module(f"tests.refdist.ops.{name}").EXPRESSIONS


def answers_of(name):
    """What TensorFlow has answered to them."""
    return dict(json.loads((FIXTURES / f"{name}.json").read_text()))


def answer_of(array):
    """An array as data."""
    if array.dtype.kind in "OS":
        texts = [text.decode() for text in (array.ravel().tolist() if array.shape else [array.item()])]
        return {"dtype": "string", "shape": list(array.shape), "values": texts}
    wide = array.astype("float32") if array.dtype.name == "bfloat16" else array
    wide = np.stack([wide.real, wide.imag]) if wide.dtype.kind == "c" else wide
    return {"dtype": array.dtype.name, "shape": list(array.shape), "values": wide.ravel().tolist()}


def record(name):
    """Write what TensorFlow answers."""
    import tensorflow as tf

    def one(expression):
        tf.random.set_seed(7)
        try:
            result = eval(expression, {"tf": tf, "t": tf.constant, "np": np})
        except Exception as error:
            return {"error": type(error).__name__}
        parts = result if isinstance(result, (list, tuple)) else [result]
        return [answer_of(np.asarray(part.numpy() if tf.is_tensor(part) else part)) for part in parts]

    answers = [json.dumps([expression, one(expression)]) for expression in expressions_of(name)]
    (FIXTURES / f"{name}.json").write_text("[\n" + ",\n".join(answers) + "\n]\n")


if __name__ == "__main__":
    for given in sys.argv[1:]:
        record(given)
