"""The small cluster on which most tests of time run."""

import refdist as tf
import simulator

ctx = tf.distribute.get_replica_context
STAR = simulator.Cluster.star(4, 12.5e9, 500e-9, simulator.DeviceKind("A100", 80e9, 1e12, 1e12))


def taken(function):
    """The virtual seconds of a function, on a cluster whose devices were all at rest before."""
    before = simulator.now()
    function()
    return simulator.now() - before
