"""Replicas that have written different programs: in and outside of functions they do the same."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import refdist as tf
from tests.refdist import staged_programs
from tests.refdist.staged_programs import ctx

names = staged_programs.names  # a fixture
ARRAYS = np.float32([1, 2]), np.float32([3, 4])


def number():
    return ctx().replica_id_in_sync_group


def summed(x):
    return ctx().all_reduce("SUM", x)


def only_numbers_differ(x):
    return x * (number() + 1) + 0.5 * number()


def a_number_is_equal_on_some(x):
    return x * min(number(), 1)


def a_number_differs_on_the_last(x):
    return x * max(number(), 1) + 2.0


def only_arrays_differ(x):
    return x + np.arange(2, dtype=np.float32) * number()


def arrays_are_equal_on_some(x):
    return x + np.arange(2, dtype=np.float32) * (number() % 2)


def arrays_are_the_same_on_some(x):
    return x + ARRAYS[number() % 2]


def a_number_is_the_result(x):
    return tf.constant(1.0) * number(), x


def other_steps_without_meetings(x):
    return x * x + 1.0 if number() == 1 else x - 3.0


def other_steps_before_a_meeting(x):
    return summed(x * x if number() else x + 1.0)


def other_steps_after_a_meeting(x):
    total = summed(x)
    return total / 2.0 if number() else total * x


def other_steps_between_meetings(x):
    first = summed(x)
    between = first * x if number() == 0 else jnp.sin(first) if number() == 1 else -first
    return summed(between) + first


def what_one_replica_needs_later(x):
    kept = x * 7.0 if number() else x
    total = summed(x)
    return kept * total if number() else total


def results_in_another_order(x):
    pair = (x * 2.0, x * 3.0)
    return pair if number() else pair[::-1]


def an_argument_itself_or_something_else(x):
    return x if number() else x * 2.0


def a_constant_or_something_computed(x):
    return tf.constant([5.0, 6.0]) if number() else x * 2.0


def means_and_sums(x):
    mean = ctx().all_reduce("MEAN", x * (number() + 1))
    return mean if number() else summed_alone(mean)


def summed_alone(x):
    return x + 1.0


def a_meeting_in_a_helper_compiled_by_jax(x):
    def helper(y):
        return summed(y * 2.0) + 1.0

    scaled = x * (number() + 1) if number() else x - 1.0
    return jax.jit(helper)(scaled)


def rules_of_derivatives(x):
    return jax.nn.relu(x - number()) + jax.grad(lambda y: jnp.sum(jax.nn.softplus(y) * (number() + 1)))(x)


def a_loop_of_another_length(x):
    return lax.fori_loop(0, number() + 1, lambda _, y: y * 2.0, x)


def a_condition_on_data(x):
    mine = number()
    return lax.cond(x[0] > 1.5, lambda y: y * (mine + 2), lambda y: y - mine, x)


def what_is_equal_on_all_is_summed(x):
    return summed(tf.constant([1.0, 2.0])) + 0.0 * x


def gathered_after_other_steps(x):
    return ctx().all_gather(x + 1.0 if number() else x * 2.0, axis=0)


def nothing_but_a_meeting_of_one_number(x):
    return summed(tf.constant(1.0) * number()) + x


def nested_results(x):
    return {"a": [x * number() if number() else x + 1.0], "b": summed(x)}


BODIES = [
    only_numbers_differ,
    a_number_is_equal_on_some,
    a_number_differs_on_the_last,
    only_arrays_differ,
    arrays_are_equal_on_some,
    arrays_are_the_same_on_some,
    a_number_is_the_result,
    other_steps_without_meetings,
    other_steps_before_a_meeting,
    other_steps_after_a_meeting,
    results_in_another_order,
    an_argument_itself_or_something_else,
    a_constant_or_something_computed,
    means_and_sums,
    rules_of_derivatives,
    a_loop_of_another_length,
    a_condition_on_data,
    what_is_equal_on_all_is_summed,
    nothing_but_a_meeting_of_one_number,
]
MORE = [other_steps_between_meetings, what_one_replica_needs_later, gathered_after_other_steps]


def parts(strategy, value):
    return [[np.asarray(x) for x in strategy.experimental_local_results(leaf)] for leaf in tf.nest.flatten(value)]


@pytest.mark.parametrize("count", [3])
@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_a_program_of_replicas_that_differ_does_what_eager_replicas_do(names, body, count):
    strategy = tf.distribute.MirroredStrategy(names[:count])
    value = strategy.run(lambda: tf.constant([1.0, 2.0]) * (number() + 1))
    eager, staged = (strategy.run(one, args=(value,)) for one in (body, tf.function(body)))

    for mine, theirs in zip(parts(strategy, eager), parts(strategy, staged), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)
        assert [one.dtype for one in mine] == [one.dtype for one in theirs]


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("body", MORE, ids=lambda body: body.__name__)
def test_values_that_a_replica_alone_has_survive_the_meetings_in_between(names, body, count):
    strategy = tf.distribute.MirroredStrategy(names[:count])
    value = strategy.run(lambda: tf.constant([1.0, 2.0]) * (number() + 1))
    eager, staged = (strategy.run(one, args=(value,)) for one in (body, tf.function(body)))

    np.testing.assert_allclose(parts(strategy, eager), parts(strategy, staged), rtol=1e-5)


def test_nests_of_replicas_that_differ_are_nests(names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    result = strategy.run(tf.function(nested_results), args=(tf.constant([1.0, 2.0]),))

    assert [[2.0, 3.0], [1.0, 2.0]] == [np.asarray(x).tolist() for x in result["a"][0].values]
    assert [[2.0, 4.0]] * 2 == [np.asarray(x).tolist() for x in result["b"].values]


def test_a_meeting_in_a_helper_compiled_by_jax_is_found_among_other_steps(names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    value = strategy.run(lambda: tf.constant([1.0, 2.0]) * (number() + 1))
    result = strategy.run(tf.function(a_meeting_in_a_helper_compiled_by_jax), args=(value,))

    # (1 - 1) * 2 + (2 * 2) * 2 + 1, and (2 - 1) * 2 + (4 * 2) * 2 + 1.
    assert [[9.0, 19.0]] * 2 == [np.asarray(x).tolist() for x in result.values]


def test_meetings_inside_a_loop_of_jax_that_differ_are_refused(names):
    strategy = tf.distribute.MirroredStrategy(names[:2])

    def body(x):
        mine = number()

        def turn(carry, _):
            return summed(carry * 2.0 if mine else carry + 1.0), None

        return lax.scan(turn, x, None, length=2)[0]

    with pytest.raises(ValueError, match=r"lax\.scan\) in different ways; expected the same steps there"):
        strategy.run(tf.function(body), args=(tf.constant(1.0),))


def test_meetings_inside_a_loop_of_jax_that_are_the_same_are_fine(names):
    strategy = tf.distribute.MirroredStrategy(names[:3])

    def body(x):
        return lax.scan(lambda carry, _: (summed(carry) / 2.0, None), x, None, length=2)[0] * (number() + 1)

    result = strategy.run(tf.function(body), args=(tf.constant(4.0),))

    assert [9.0, 18.0, 27.0] == [float(x) for x in result.values]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (lambda x: summed(x) if number() else x, "returned"),
        (lambda x: ctx().all_reduce("MEAN" if number() else "SUM", x), "MEAN"),
        (lambda x: sum(summed(x) for _ in range(1 + number())), "returned"),
    ],
    ids=["some do not meet", "in another way", "less often"],
)
def test_replicas_that_do_not_meet_are_told_as_eager_ones_are(names, body, kind):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    for mode in (lambda one: one, tf.function):
        with pytest.raises(tf.errors.MeetingError, match=kind):
            strategy.run(mode(body), args=(tf.constant(1.0),))


@pytest.mark.parametrize("dtype", ["int32", "float16", "bfloat16", "bool"])
def test_numbers_of_any_dtype_may_differ(names, dtype):
    strategy = tf.distribute.MirroredStrategy(names[:3])

    def body():
        return tf.cast(tf.constant([1.0, 0.0]) * number(), getattr(tf, dtype)), np.array([number()]).astype("int8")

    eager, staged = strategy.run(body), strategy.run(tf.function(body))

    for mine, theirs in zip(parts(strategy, eager), parts(strategy, staged), strict=True):
        assert [(x.dtype, x.tolist()) for x in mine] == [(x.dtype, x.tolist()) for x in theirs]


def test_variables_are_written_where_steps_differ(names):
    strategy = tf.distribute.MirroredStrategy(names[:3])
    with strategy.scope():
        total = tf.Variable(1.0, aggregation=tf.VariableAggregation.SUM)
        own = tf.Variable(0.0, synchronization=tf.VariableSynchronization.ON_READ)

    @tf.function
    def step(x):
        total.assign_add(x * x if number() else x)
        if number() == 2:
            own.assign(x + total)

    strategy.run(step, args=(tf.constant(3.0),))

    assert [22.0] * 3 == [float(x.numpy()) for x in total.values]
    assert [0.0, 0.0, 25.0] == [float(x.numpy()) for x in own.values]
