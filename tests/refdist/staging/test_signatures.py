"""When a function is traced again and when not, and which arguments fit a signature."""

import functools

import numpy as np
import pytest

import refdist as tf
from tests.refdist import staged_programs
from tests.refdist.staged_programs import numbers

names, strategy = staged_programs.names, staged_programs.strategy  # fixtures


class Counting:
    """A function that counts how often its body is called."""

    def __init__(self, body=lambda *args, **kwargs: None, **options):
        self.calls = 0

        def counted(*args, **kwargs):
            self.calls += 1
            return body(*args, **kwargs)

        self.function = tf.function(counted, **options)

    def traces(self, *calls):
        """How often the body is called when the function is called with each of these arguments."""
        before = self.calls
        for call in calls:
            self.function(*call) if isinstance(call, tuple) else self.function(call)
        return self.calls - before


class TestTracedAgain:
    """Shapes, dtypes, structures and Python values tell programs apart; numbers in tensors do not."""

    def test_for_another_shape_or_dtype(self, names):
        first = tf.constant([1.0, 2.0])
        for other in (tf.constant([1.0]), tf.constant(1.0), tf.constant([[1.0, 2.0]]), tf.constant([1, 2])):
            assert 2 == Counting().traces(first, other, first, other)

    def test_not_for_other_numbers(self, names):
        assert 1 == Counting().traces(tf.constant([1.0, 2.0]), tf.constant([np.nan, -0.0]), np.float32([3, 4]))

    @pytest.mark.parametrize(
        "values", [(1, 2), (1, 1.0), (1, True), (0.0, -0.0), ("a", "b"), ("a", b"a"), (None, 0), (1j, 1.0)]
    )
    def test_for_another_python_value_or_type(self, names, values):
        assert 2 == Counting().traces(*values, *values)

    @pytest.mark.parametrize("value", [1, 1.5, True, "a", b"a", None, float("nan"), 1j, 10**20])
    def test_not_for_the_same_python_value(self, names, value):
        assert 1 == Counting().traces((value,), (value,), (value,))

    def test_for_another_structure(self, names):
        one = tf.constant(1.0)
        nests = [((one, one),), ([one, one],), ({"a": one, "b": one},), ({"a": one, "c": one},), (((one,), one),)]

        assert 5 == Counting().traces(*nests, *nests)

    def test_not_for_another_order_of_keys(self, names):
        one, two = tf.constant(1.0), tf.constant(2.0)

        assert 1 == Counting().traces(({"a": one, "b": two},), ({"b": one, "a": two},))

    def test_for_another_object_and_not_for_the_same(self, names):
        class Thing:
            pass

        thing, other = Thing(), Thing()

        assert 2 == Counting().traces((thing,), (thing,), (other,), (other,))

    def test_for_another_variable_and_not_for_another_value_of_it(self, names):
        variable, other = tf.Variable(1.0), tf.Variable(1.0)
        counting = Counting(lambda v: v + 1.0)
        assert 1 == counting.traces((variable,), (variable,))
        variable.assign(5.0)

        assert 6.0 == float(counting.function(variable))
        assert 1 == counting.traces((other,))

    def test_for_per_replica_values_of_another_shape_and_not_for_others(self, strategy):
        counting = Counting(lambda x: strategy.reduce("SUM", x, axis=None))
        one, same, longer = [strategy.run(lambda v=v: tf.constant(v)) for v in ([1.0], [2.0], [1.0, 2.0])]

        assert 0 < counting.traces(one)
        assert 0 == counting.traces(same, one)
        assert 0 < counting.traces(longer)
        assert 0 == counting.traces(longer, same)

    def test_for_a_tensor_in_place_of_a_number(self, names):
        assert 2 == Counting().traces((tf.constant(1.0),), (1.0,))

    def test_a_number_of_numpy_is_a_tensor(self, names):
        assert 1 == Counting().traces((np.float32(1),), (np.float32(2),), (tf.constant(3.0),))


def ones(strategy, times):
    """The number 1 for each replica, so many times: loops over data are Python's, so that each run is a program."""
    data = tf.data.Dataset.from_tensors(np.float32(1)).repeat(times * 2)
    return strategy.distribute_datasets_from_function(lambda _: data)


class TestInReplicas:
    """The function given to run is part of the kind: its code, and what it closes over."""

    def traced(self, strategy, make, times=3):
        calls = []

        @tf.function
        def step(dataset):
            return [strategy.run(make(index, calls), args=(x,)) for index, x in enumerate(dataset)]

        results = step(ones(strategy, times))
        return [numbers(strategy, result) for result in results], len(calls)

    def test_functions_that_close_over_other_numbers_are_others(self, strategy):
        def make(index, calls):
            return lambda x: (calls.append(1), x * index)[1]

        assert ([[0.0] * 2, [1.0] * 2, [2.0] * 2], 6) == self.traced(strategy, make)

    def test_the_same_function_made_anew_is_the_same(self, strategy):
        def make(index, calls):
            return lambda x: (calls.append(1), x * 2.0)[1]

        assert ([[2.0] * 2] * 3, 2) == self.traced(strategy, make)

    def test_partials_with_other_arguments_by_place_are_others(self, strategy):
        def scaled(factor, x):
            return x * factor

        assert [[0.0] * 2, [1.0] * 2, [2.0] * 2] == self.traced(strategy, lambda i, _: functools.partial(scaled, i))[0]

    def test_partials_with_other_arguments_by_name_are_others(self, strategy):
        def added(x, *, plus):
            return x + plus

        assert [[1.0] * 2, [2.0] * 2, [3.0] * 2] == self.traced(
            strategy, lambda i, _: functools.partial(added, plus=i)
        )[0]

    def test_methods_of_other_objects_are_others(self, strategy):
        class Scaling:
            def __init__(self, factor):
                self.factor = factor

            def scaled(self, x):
                return x * self.factor

        assert [[0.0] * 2, [1.0] * 2, [2.0] * 2] == self.traced(strategy, lambda i, calls: Scaling(i).scaled)[0]

    def test_defaults_are_part_of_a_function(self, strategy):
        def make(index, calls):
            return lambda x, factor=index: x * factor

        def make_by_name(index, calls):
            return lambda x, *, plus=index: x + plus

        assert [[0.0] * 2, [1.0] * 2, [2.0] * 2] == self.traced(strategy, make)[0]
        assert [[1.0] * 2, [2.0] * 2, [3.0] * 2] == self.traced(strategy, make_by_name)[0]

    def test_containers_that_a_function_refers_to_are_looked_into(self, strategy):
        state, found = {"k": 1.0}, []

        def eager(x):
            return x * state["k"]

        step = tf.function(lambda dataset: [strategy.run(eager, args=(x,)) for x in dataset])
        for k in (1.0, 2.0):
            state["k"] = k
            found += [numbers(strategy, result) for result in step(ones(strategy, 1))]

        assert [[1.0, 1.0], [2.0, 2.0]] == found


class TestArguments:
    """A call is told by what reaches the function, not by how it is written."""

    def test_keywords_defaults_and_places_are_one(self, names):
        calls = []

        @tf.function
        def step(a, b=2, *, c=3):
            calls.append((b, c))
            return a * b + c

        one = tf.constant(1.0)
        answers = [step(one), step(one, 2), step(one, b=2), step(a=one, b=2, c=3), step(c=3, a=one)]

        assert ([5.0] * 5, [(2, 3)]) == ([float(answer) for answer in answers], calls)
        assert 9.0 == float(step(one, c=7))

    def test_extra_arguments_by_place_and_by_name_arrive(self, names):
        step = tf.function(lambda a, *more, **named: a + sum(more) + named["x"])

        assert 10.0 == float(step(tf.constant(1.0), tf.constant(2.0), tf.constant(3.0), x=tf.constant(4.0)))

    def test_arguments_that_have_a_place_only_are_left_there(self, names):
        def step(a, /, b, *, c):
            return a + b * c

        assert 7.0 == float(tf.function(step)(tf.constant(1.0), c=2.0, b=tf.constant(3.0)))

    def test_a_function_that_does_not_tell_its_arguments_is_called_all_the_same(self, names):
        assert 3.0 == float(tf.function(max)(3.0, 2.0))


class TestInputSignature:
    """Specs that every argument has to fit."""

    def test_one_trace_for_all_shapes_that_fit(self, names):
        counting = Counting(lambda x: x, input_signature=[tf.TensorSpec([None, 2])])

        assert 1 == counting.traces(tf.ones([1, 2]), tf.zeros([1, 2]), tf.ones([3, 2]), tf.ones([1, 2]))
