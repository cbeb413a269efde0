import pytest

import refdist as tf


@pytest.mark.parametrize("cluster", [3, {"worker": "a:1"}, {"worker": [1]}])
def test_a_malformed_cluster_is_refused(cluster):
    with pytest.raises(TypeError, match="expected"):
        tf.train.ClusterSpec(cluster)
