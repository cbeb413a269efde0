# ruff: noqa: PT009, PT027, because this is unittest
"""`tf.test.TestCase`: what tests written for TensorFlow assert, over unittest and numpy."""

import contextlib
import tempfile
import unittest
from collections.abc import Callable, Generator, Sequence, Sized
from typing import Any, cast

import numpy as np

from refdist._core.base import nest
from refdist._core.variables.tensors import current_value

_LOOSE = {"float16": 1e-3, "bfloat16": 1e-2}


def _numbers(value: Any) -> Any:
    return np.asarray(current_value(value))


def _each(holds: Callable[[Any, Any], Any], what: str) -> Any:
    """An assertion that holds for each element, beside one limit."""

    def check(self: unittest.TestCase, a: Any, limit: Any) -> None:
        numbers = _numbers(a)
        self.assertTrue(np.all(holds(numbers, limit)), f"{numbers!r} was to be {what} {limit!r}, in each element.")

    check.__doc__ = f"Check that each element is {what} `limit`."
    return check


class TestCase(unittest.TestCase):
    """A test case whose assertions take tensors, variables, and nests of them."""

    __test__ = False  # of this class itself, which pytest would otherwise collect from where it is imported

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.__test__ = True

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:  # noqa: N802, TensorFlow's names
        """Check that shapes and all elements are equal."""
        np.testing.assert_array_equal(_numbers(a), _numbers(b), err_msg=msg or "")
        self.assertEqual(_numbers(a).shape, _numbers(b).shape, msg)

    def assertAllClose(  # noqa: N802
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Check that nests have the same structure and shapes, and elements that are close."""
        if isinstance(a, dict):
            self.assertEqual(set(a), set(b), msg)
            for key, value in cast("dict[Any, Any]", a).items():
                self.assertAllClose(value, b[key], rtol, atol, msg)
        elif isinstance(a, (list, tuple)) and any(isinstance(one, (dict, list, tuple)) or np.ndim(one) for one in [*a]):
            self.assertEqual(len(cast("Sized", a)), len(b), msg)
            for one, other in zip(cast("Sequence[Any]", a), b, strict=True):
                self.assertAllClose(one, other, rtol, atol, msg)
        else:
            first, second = _numbers(a), _numbers(b)
            self.assertEqual(first.shape, second.shape, msg)
            np.testing.assert_allclose(first, second, rtol=rtol, atol=atol, err_msg=msg or "")

    def assertAllCloseAccordingToType(  # noqa: N802
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None, **_: float
    ) -> None:
        """Check that elements are close, for what their dtypes can say."""
        loose = max(_LOOSE.get(_numbers(one).dtype.name, 0.0) for one in (a, b))
        self.assertAllClose(a, b, max(rtol, loose), max(atol, loose), msg)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:  # noqa: N802
        """Check that some element is not close."""
        with self.assertRaises(AssertionError, msg="The two values are close at all elements."):
            self.assertAllClose(a, b, **kwargs)

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:  # noqa: N802
        """Check that some element differs."""
        with self.assertRaises(AssertionError, msg=msg or "The two values are equal at all elements."):
            self.assertAllEqual(a, b)

    assertAllGreater = _each(np.greater, "greater than")  # noqa: N815
    assertAllGreaterEqual = _each(np.greater_equal, "at least")  # noqa: N815
    assertAllLess = _each(np.less, "less than")  # noqa: N815
    assertAllLessEqual = _each(np.less_equal, "at most")  # noqa: N815
    assertAllInSet = _each(lambda a, choices: np.isin(a, list(choices)), "one of")  # noqa: N815

    def assertAllInRange(self, target: Any, lower_bound: float, upper_bound: float) -> None:  # noqa: N802
        """Check that elements lie between two bounds, both included."""
        self.assertAllGreaterEqual(target, lower_bound)
        self.assertAllLessEqual(target, upper_bound)

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:  # noqa: N802
        """Check that two values have the same shape."""
        self.assertEqual(tuple(input_a.shape), tuple(input_b.shape), msg)

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:  # noqa: N802
        """Check the dtype of a value."""
        self.assertEqual(np.dtype(_numbers(target).dtype), np.dtype(expected_dtype))

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:  # noqa: N802
        """Check that two numbers are not further apart than an error."""
        self.assertLessEqual(abs(float(f1) - float(f2)), err, msg)

    def assertLen(self, container: Sized, expected_len: int, msg: str | None = None) -> None:  # noqa: N802
        """Check how many elements a container has."""
        self.assertEqual(len(container), expected_len, msg)

    def assertEmpty(self, container: Sized, msg: str | None = None) -> None:  # noqa: N802
        """Check that a container has no elements."""
        self.assertLen(container, 0, msg)

    def assertNotEmpty(self, container: Sized, msg: str | None = None) -> None:  # noqa: N802
        """Check that a container has elements."""
        self.assertGreater(len(container), 0, msg)

    def evaluate(self, tensors: Any) -> Any:
        """The numbers of a nest of tensors, as numpy has them."""
        return nest.map_structure(lambda leaf: _numbers(leaf)[()], tensors)

    def get_temp_dir(self) -> str:
        """A folder that is removed after the test; the same one for all calls of a test."""
        if not hasattr(self, "_folder"):
            folder = tempfile.TemporaryDirectory()
            self.addCleanup(folder.cleanup)
            self._folder = folder.name
        return self._folder

    @contextlib.contextmanager
    def session(self, *_: Any, **__: Any) -> Generator["TestCase"]:
        """A block in which tests for graphs ran; here everything is computed at once."""
        yield self

    cached_session = test_session = session


main = unittest.main
