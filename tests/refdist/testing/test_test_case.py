# ruff: noqa: PT009, these are the assertions under test
import os
import unittest

import numpy as np
import pytest

import refdist as tf


def outcome(check):
    """What a test case says of a check: passed, or failed."""

    class Case(tf.test.TestCase):
        def test(self):
            check(self)

    result = unittest.TestResult()
    Case("test").run(result)
    assert not result.errors, result.errors[0][1]
    return "failed" if result.failures else "passed"


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (
            lambda t: t.assertAllClose([1.0, 2.0], tf.constant([1.0, 2.000001])),
            lambda t: t.assertAllClose([1.0], [1.1]),
        ),
        (
            lambda t: t.assertAllClose({"a": [1.0]}, {"a": tf.constant([1.0])}),
            lambda t: t.assertAllClose({"a": 1}, {"b": 1}),
        ),
        (lambda t: t.assertAllClose([tf.ones(2), [3]], [np.ones(2), [3]]), lambda t: t.assertAllClose([1.0], 1.0)),
        (lambda t: t.assertAllEqual([1, 2], tf.Variable([1, 2])), lambda t: t.assertAllEqual([1, 1], 1)),
        (lambda t: t.assertNotAllClose([1.0], [2.0]), lambda t: t.assertNotAllClose([1.0], [1.0])),
        (lambda t: t.assertNotAllEqual([1], [2]), lambda t: t.assertNotAllEqual([1], [1])),
        (lambda t: t.assertAllInRange(tf.constant([0.0, 1.0]), 0, 1), lambda t: t.assertAllInRange([2.0], 0, 1)),
        (lambda t: t.assertAllInSet([1, 2], {1, 2, 3}), lambda t: t.assertAllInSet([4], {1, 2})),
        (lambda t: t.assertAllGreater([1], 0), lambda t: t.assertAllGreater([1, 0], 0)),
        (lambda t: t.assertAllLess([1], 2), lambda t: t.assertAllLess([1, 2], 2)),
        (lambda t: t.assertShapeEqual(np.ones(2), tf.ones(2)), lambda t: t.assertShapeEqual(np.ones(2), tf.ones(1))),
        (lambda t: t.assertDTypeEqual(tf.ones(1), "float32"), lambda t: t.assertDTypeEqual(tf.ones(1), "int32")),
        (lambda t: t.assertNear(1.0, 1.01, 0.1), lambda t: t.assertNear(1.0, 1.2, 0.1)),
        (lambda t: t.assertLen([1], 1), lambda t: t.assertEmpty([1])),
        (
            lambda t: t.assertAllCloseAccordingToType(tf.constant([1.0], tf.float16), [1.0005]),
            lambda t: t.assertAllCloseAccordingToType(tf.constant([1.0]), [1.0005]),
        ),
    ],
)
def test_an_assertion_passes_what_is_right_and_fails_what_is_wrong(right, wrong):
    assert outcome(right) == "passed"
    assert outcome(wrong) == "failed"


def test_a_test_case_has_numbers_of_nests_and_a_folder_of_its_own():
    folders = []

    def check(case):
        with case.cached_session():
            case.assertEqual({"a": 3}, case.evaluate({"a": tf.constant(3)}))
        folders.extend([case.get_temp_dir(), case.get_temp_dir()])
        case.assertTrue(os.path.isdir(folders[0]))

    assert outcome(check) == "passed"
    assert folders[0] == folders[1]
    assert not os.path.exists(folders[0])
