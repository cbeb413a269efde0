"""What converted code calls: the user's functions are converted in turn, libraries are not."""

import functools
import json

import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
from refdist._core.autograph.calls import converted, of_user


def branching(x):
    return x * 2 if x > 0 else -x


def applied(function, x):
    return function(x)


class Base:
    def step(self, x):
        return x + 1


class Derived(Base):
    def step(self, x):
        y = super().step(x)
        if y > 3:
            return y
        return y * 10

    def __call__(self, x):
        if x > 0:
            return self.step(x)
        return x

    @staticmethod
    def static(x):
        return branching(x)

    @classmethod
    def of_class(cls, x):
        return cls().step(x)


# What each makes of 1 and of 5.
CALLED = {
    "a function": (lambda x: branching(x), [2, 10]),
    "a method that calls that of its base": (Derived().step, [20, 6]),
    "an object": (Derived(), [20, 6]),
    "a static method": (Derived.static, [2, 10]),
    "a method of a class": (Derived.of_class, [20, 6]),
    "a partial function": (functools.partial(lambda a, x: branching(a * x), 2), [4, 20]),
    "map": (lambda x: sum(map(branching, [x, -x])), [3, 15]),
    "sorted": (lambda x: sorted(["b", "a"], key=lambda name: name if name else "")[0] == "a" and branching(x), [2, 10]),
    "a function given to a function": (lambda x: applied(branching, x), [2, 10]),
}


@pytest.mark.parametrize("name", CALLED)
def test_the_users_functions_are_converted_however_they_are_called(name):
    function, answers = CALLED[name]

    assert answers == [int(tf.function(function)(tf.constant(x))) for x in (1, 5)]


@pytest.mark.parametrize("function", [json.dumps, jnp.where, np.sum, tf.reduce_sum, pytest.approx, functools.wraps])
def test_functions_of_libraries_are_not_converted(function):
    assert function is converted(function)


def test_generators_are_not_converted():
    def numbers():
        yield 1

    assert not of_user(numbers)
    assert 1 == int(tf.function(lambda: tf.constant(next(numbers())))())


def test_a_function_may_be_left_as_it_is_with_all_that_it_calls():
    @tf.autograph.experimental.do_not_convert
    def as_it_is(x):
        return branching(x)

    assert 2 == int(as_it_is(tf.constant(1)))
    with pytest.raises(Exception, match="boolean"):
        tf.function(as_it_is)(tf.constant(1))
    with pytest.raises(Exception, match="boolean"):
        tf.function(lambda x: as_it_is(x) if x > 0 else x)(tf.constant(1))


def test_autograph_can_be_switched_off_and_the_error_says_so():
    with pytest.raises(Exception, match="boolean") as caught:
        tf.function(branching, autograph=False)(tf.constant(1))

    (note,) = caught.value.__notes__
    assert "which are converted unless autograph=False" in note


def test_functions_inside_of_others_decide_for_themselves():
    converted_itself = tf.function(branching)
    assert [2, 3] == [int(tf.function(lambda x: converted_itself(x), autograph=False)(tf.constant(x))) for x in (1, -3)]

    inner = tf.function(branching, autograph=False)

    with pytest.raises(Exception, match="boolean"):
        tf.function(lambda x: inner(x) if x > 0 else x)(tf.constant(1))


def test_the_functions_of_replicas_and_of_merge_call_are_converted():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()

        def merged(strategy, value):
            total = strategy.reduce("sum", value, axis=None)
            return total if total > 0 else -total

        def step(x):
            return tf.distribute.get_replica_context().merge_call(merged, args=(branching(x),))

        result = tf.function(lambda x: strategy.run(step, args=(x,)))(tf.constant(-3))

        assert [6] == [int(one) for one in strategy.experimental_local_results(result)]


def test_a_range_that_a_tensor_ends_is_looped_over_in_the_program_and_used_otherwise_in_python():
    counts = tf.function(lambda n: tf.range(n) + 1 if n > 0 else n)
    lengths = tf.function(lambda n: len(tf.range(n)) if n > 0 else n)

    assert [[1, 2, 3], [1]] == [counts(tf.constant(n)).numpy().tolist() for n in (3, 1)]
    assert [3, -1] == [int(lengths(tf.constant(n))) for n in (3, -1)]


def test_a_range_that_a_tensor_ends_is_not_gone_through_in_code_that_is_not_converted():
    with pytest.raises(ValueError, match=r"expected `for i in tf\.range"):
        tf.function(lambda n: [one + 1 for one in tf.range(n)], autograph=False)(tf.constant(3))
