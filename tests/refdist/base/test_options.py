import copy
import dataclasses
import pickle

import numpy as np
import pytest

import refdist as tf

experimental = tf.distribute.experimental
Options = experimental.CommunicationOptions
AUTO, RING, NCCL = experimental.CommunicationImplementation


def test_hints_on_communication_change_no_result():
    options = Options(bytes_per_pack=1024, timeout_seconds=60.0)
    with tf.using("host", cpus=2):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def replica():
        return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(2.0), options=options)

    assert [4.0, 4.0] == [float(part) for part in strategy.experimental_local_results(strategy.run(replica))]
    assert AUTO is options.implementation
    assert experimental.CollectiveCommunication is experimental.CommunicationImplementation


# The types of the errors are those of TensorFlow; it takes any timeout, though, and fails later.
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"bytes_per_pack": -1}, ValueError, "0 or more"),
        ({"bytes_per_pack": float("nan")}, ValueError, "0 or more"),
        ({"bytes_per_pack": "1"}, TypeError, "expected a number"),
        ({"bytes_per_pack": None}, TypeError, "expected a number"),
        ({"timeout_seconds": -1}, ValueError, "0 or more"),
        ({"timeout_seconds": "soon"}, TypeError, "expected a number"),
        ({"implementation": "mpi"}, ValueError, "one of AUTO, RING, NCCL"),
        ({"implementation": 3}, ValueError, "one of AUTO, RING, NCCL"),
        ({"implementation": None}, ValueError, "one of AUTO, RING, NCCL"),
    ],
)
def test_hints_that_mean_nothing_are_refused(given, error, message):
    with pytest.raises(error, match=message):
        Options(**given)


# As TensorFlow merges them.
@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (None, (1, 2.0, RING)),
        (Options(), (1, 2.0, RING)),
        (Options(5), (5, 2.0, RING)),
        (Options(timeout_seconds=0), (1, 0, RING)),
        (Options(implementation="nccl"), (1, 2.0, NCCL)),
        (Options(7, 8.0, "nccl"), (7, 8.0, NCCL)),
    ],
)
def test_the_options_of_a_call_win_where_they_say_something(other, expected):
    merged = Options(1, 2.0, "ring").merge(other)

    assert expected == (merged.bytes_per_pack, merged.timeout_seconds, merged.implementation)


def test_the_older_name_warns_and_makes_the_same():
    with pytest.warns(DeprecationWarning, match="use tf.distribute.experimental.CommunicationOptions"):
        hints = experimental.CollectiveHints(50, 2.0)

    assert Options(50, 2.0) == hints
    with pytest.warns(DeprecationWarning, match="deprecated"), pytest.raises(ValueError, match="0 or more"):
        experimental.CollectiveHints(bytes_per_pack=-1)


@pytest.mark.parametrize(
    "call",
    [
        lambda s, v: s.run(lambda: tf.distribute.get_replica_context().all_reduce("sum", tf.ones([1]), options=3)),
        lambda s, v: s.run(lambda: tf.distribute.get_replica_context().all_gather(tf.ones([1]), 0, options=3)),
        lambda s, v: s.extended.reduce_to("sum", v, v, options=3),
        lambda s, v: s.extended.batch_reduce_to("sum", [(v, v)], options=3),
        lambda s, v: tf.distribute.NcclAllReduce().reduce("sum", v, v, options=3),
        lambda s, v: tf.distribute.NcclAllReduce().batch_reduce("sum", [(v, v)], options=3),
    ],
)
@pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
def test_options_of_another_kind_are_refused_everywhere(mode, call):
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
    value = strategy.run(lambda: tf.ones([1]))
    with strategy.scope(), pytest.raises(TypeError, match=r"options=3, a int; expected .*CommunicationOptions"):
        mode(lambda: call(strategy, value))()


KINDS = [
    tf.distribute.InputOptions,
    tf.distribute.RunOptions,
    tf.distribute.experimental.CommunicationOptions,
    tf.distribute.InputContext,
    tf.distribute.experimental.ValueContext,
]


@pytest.mark.parametrize("kind", KINDS)
def test_an_attribute_that_there_is_not_is_refused_with_those_there_are(kind):
    field = dataclasses.fields(kind)[0].name
    made = kind()

    for name in ("no_such_setting", field):
        with pytest.raises(AttributeError, match=rf"{kind.__name__}\.{name} was set to 1; .* which takes {field}"):
            setattr(made, name, 1)
    assert made == kind() == copy.deepcopy(made) == pickle.loads(pickle.dumps(made))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: tf.distribute.InputOptions("junk"),
            "experimental_fetch_to_device='junk', a str; expected True or False",
        ),
        (
            lambda: tf.distribute.InputOptions(True, "PER_REPLICA"),
            "'PER_REPLICA', a str; expected an InputReplicationMode",
        ),
        (lambda: tf.distribute.InputOptions(experimental_per_replica_buffer_size=[1]), "expected a number"),
        (lambda: tf.distribute.RunOptions([1]), "expected True or False"),
        (lambda: tf.distribute.InputContext("1"), "expected a number"),
        (lambda: tf.distribute.InputContext(1, None), "input_pipeline_id=None"),
    ],
)
def test_options_of_another_type_are_refused(make, said):
    with pytest.raises(TypeError, match=said):
        make()


@pytest.mark.parametrize("number", [np.int64(4), np.array(4), tf.constant(4), 4.0])
def test_numbers_of_every_kind_are_taken(number):
    context = tf.distribute.InputContext(num_replicas_in_sync=number)

    assert (
        2
        == context.get_per_replica_batch_size(8)
        == tf.distribute.InputContext(1, 0, 4).get_per_replica_batch_size(number * 2)
    )


@pytest.mark.parametrize("size", [None, "8", [8]])
def test_a_batch_size_that_is_no_number_is_refused(size):
    with pytest.raises(TypeError, match=r"get_per_replica_batch_size\(\) got global_batch_size=.*; expected a number"):
        tf.distribute.InputContext(1, 0, 2).get_per_replica_batch_size(size)
