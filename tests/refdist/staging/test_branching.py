"""Whether a function branches decides whether it is converted before it is called."""

import pytest

import refdist as tf
from refdist._core.staging.branching import branches, names


def straight(x):
    return x * 2 + 1


def has_if(x):
    return x if x else -x


def calls_one(x):
    return straight(x) + has_if(x)


class Steps:
    def step(self, x):
        return self.other(x)

    def other(self, x):
        while x > 3:
            x -= 1
        return x

    def plain(self, x):
        return x + 1


def has_for(x):
    for one in x:
        print(one)


def has_for_over_a_call(x):
    for one in reversed(zip(x)):
        print(one)


def has_for_beside_zip(x):
    for _ in zip(x, enumerate(x), strict=True):
        print(x)
    for one in x:
        print(one)


def has_if_in_zip(x):
    for one in zip(x, strict=True):
        if one:
            print(one)


def loops_in_python(x, y):
    for one, other in zip(x, list(y), strict=True):
        one.assign(other)
    for number, one in enumerate(x):
        one.assign(number)
    return [one + 1 for one in x]


def closing():
    inner = has_if
    return lambda x: inner(x)


YES = {
    "if": has_if,
    "for": has_for,
    "for over what a call returns": has_for_over_a_call,
    "for beside one over zip": has_for_beside_zip,
    "if in a loop over zip": has_if_in_zip,
    "if in a comprehension": lambda x: [one for one in x if one],
    "and": lambda x, y: x and y,
    "not": lambda x: not x,
    "a function that it names": calls_one,
    "a function that it closes over": closing(),
    "a method of its object": Steps().step,
    "a tf.function that it names": lambda x: STAGED(x),
}
STAGED = tf.function(has_if)


@pytest.mark.parametrize("name", YES)
def test_functions_that_branch(name):
    assert branches(YES[name])


@pytest.mark.parametrize(
    "function", [straight, loops_in_python, Steps().plain, lambda x: tf.reduce_sum(x), len, tf.Module]
)
def test_functions_that_do_not(function):
    assert not branches(function)


def test_a_function_that_is_not_seen_to_branch_is_traced_again_when_it_asks_for_a_value():
    traces, table = [], {"hidden": [lambda x: x if x > 0 else -x]}

    @tf.function
    def step(x):
        traces.append(1)
        return table["hidden"][0](x)

    assert [1, 1] == [int(step(tf.constant(x))) for x in (1, -1)]
    assert 2 == len(traces)


def test_a_function_that_branches_is_traced_once():
    traces = []

    @tf.function
    def step(x):
        traces.append(1)
        return x if x > 0 else -x

    assert [1, 1] == [int(step(tf.constant(x))) for x in (1, -1)]
    assert 1 == len(traces)


def test_autograph_is_not_loaded_for_functions_that_do_not_branch():
    import subprocess
    import sys

    code = "\n".join(
        [
            "import sys, refdist as tf",
            "assert 4.0 == float(tf.function(lambda x: x * 2)(tf.constant(2.0)))",
            "assert 'malt' not in sys.modules",
        ]
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_is_found_in_the_functions_that_a_function_names():
    def inner(x):
        return tf.gradients(x * x, x)

    def outer(x):
        gradient = inner(x)
        return gradient[0]

    assert names(outer, "gradients")
    assert not names(outer, "gradient")
    assert not names(tf.square, "gradients")
