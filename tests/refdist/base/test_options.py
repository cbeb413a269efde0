import pytest

import refdist as tf

experimental = tf.distribute.experimental


def test_hints_on_communication_change_no_result():
    options = experimental.CommunicationOptions(bytes_per_pack=1024, timeout_seconds=60.0)
    with tf.using("host", cpus=2):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def replica():
        return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(2.0), options=options)

    assert [4.0, 4.0] == [float(part) for part in strategy.experimental_local_results(strategy.run(replica))]
    assert experimental.CommunicationImplementation.AUTO is options.implementation
    assert experimental.CollectiveCommunication is experimental.CommunicationImplementation


@pytest.mark.parametrize(
    ("given", "message"),
    [({"bytes_per_pack": -1}, "0 or more"), ({"implementation": "mpi"}, "one of AUTO, RING, NCCL")],
)
def test_hints_that_mean_nothing_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        experimental.CommunicationOptions(**given)
