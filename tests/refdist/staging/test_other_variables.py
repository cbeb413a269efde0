"""Variables as arguments: what was traced for one is for all that are like it."""

import pytest

import refdist as tf


def traced(make):
    """A function, and how often its body was called."""
    calls = []

    def body(*args):
        calls.append(1)
        return make(*args)

    return tf.function(body), calls


def test_another_variable_of_the_same_kind_needs_no_trace(any_backend):
    function, calls = traced(lambda v, x: v.assign_add(x * 2.0))
    v, w = tf.Variable(1.0), tf.Variable(10.0)

    assert [3.0, 12.0, 5.0] == [float(function(one, tf.constant(1.0))) for one in (v, w, v)]
    assert [5.0, 12.0] == [float(v), float(w)]
    assert (1, 1) == (len(calls), function.experimental_get_tracing_count())


def test_mirrored_variables_are_not_mixed_up(names):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    with strategy.scope():
        v, w = (tf.Variable(start, aggregation=tf.VariableAggregation.MEAN) for start in (1.0, 10.0))
    function, calls = traced(lambda v: strategy.run(lambda: v.assign_add(2.0)))

    for one in (v, w):
        function(one)

    assert [3.0, 12.0] == [float(v), float(w)]
    assert 1 == function.experimental_get_tracing_count()
    assert 1 == len(calls)


@pytest.mark.parametrize("different", [{"trainable": False}, {"initial_value": 2}, {"initial_value": [2.0]}])
def test_a_variable_of_another_kind_needs_one(any_backend, different):
    function, calls = traced(lambda v: v * 2)

    for one in (tf.Variable(2.0), tf.Variable(**{"initial_value": 2.0, **different})):
        function(one)

    assert (2, 2) == (len(calls), function.experimental_get_tracing_count())


def test_a_body_that_knows_its_argument_by_another_way_is_traced_again(any_backend):
    v, w = tf.Variable(1.0), tf.Variable(10.0)
    known = {"first": [v]}
    function, calls = traced(lambda one: one.assign_add(known["first"][0]))

    assert [2.0, 12.0] == [float(function(one)) for one in (v, w)]
    assert [2.0, 12.0] == [float(v), float(w)]
    assert (2, 1) == (len(calls), function.experimental_get_tracing_count())


def test_a_body_that_knows_the_other_variable_is_traced_again(any_backend):
    v, w = tf.Variable(1.0), tf.Variable(10.0)

    def both(one):
        one.assign(5.0)
        return w + 0.0

    function, _ = traced(both)

    assert [10.0, 5.0] == [float(function(one)) for one in (v, w)]


def test_one_variable_in_two_places_is_another_kind(any_backend):
    function, calls = traced(lambda a, b: (a.assign(3.0), b + 0.0)[1])
    v, w = tf.Variable(1.0), tf.Variable(10.0)

    assert [10.0, 3.0, 3.0] == [float(function(*pair)) for pair in ((v, w), (v, v), (w, w))]
    assert (2, 2) == (len(calls), function.experimental_get_tracing_count())


def test_another_sharded_variable_of_the_same_kind_needs_no_trace():
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": ["a:1"], "ps": ["b:1", "c:1"]})
    )
    partitioner = tf.distribute.experimental.partitioners.FixedShardsPartitioner(2)
    with tf.using("simulator"), tf.distribute.ParameterServerStrategy(resolver, partitioner).scope():
        v, w = tf.Variable([1.0, 2.0]), tf.Variable([3.0, 4.0])
    function = tf.function(lambda variable: variable.assign_add([10.0, 20.0]))
    for one in (v, w, v):
        function(one)

    assert ([21.0, 42.0], [13.0, 24.0]) == (v.numpy().tolist(), w.numpy().tolist())
    assert 1 == function.experimental_get_tracing_count()
