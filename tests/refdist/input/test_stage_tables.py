import numpy as np

import refdist as tf
from tests.markup import cells, heads, parsed


def mirrored(count):
    with tf.using("simulator", gpus=count):
        return tf.distribute.MirroredStrategy()


def test_the_stages_of_a_dataset_follow_from_the_source_on():
    page = parsed(tf.data.Dataset.from_tensor_slices(np.ones([10, 3])).shuffle(10).batch(4).repeat())

    assert ["stage", "shapes", "types", "elements"] == heads(page)
    assert [
        ["TensorSliceDataset", "(3,)", "tf.float64", "10"],
        ["ShuffleDataset", "(3,)", "tf.float64", "10"],
        ["BatchDataset", "(None, 3)", "tf.float64", "3"],
        ["RepeatDataset", "(None, 3)", "tf.float64", "without end"],
    ] == cells(page)


def test_several_inputs_are_indented_and_names_are_escaped():
    data = tf.data.Dataset.zip(({"<script>": tf.data.Dataset.range(3)}, tf.data.Dataset.range(4)))
    page = parsed(data.filter(lambda *_: True))

    assert ["  RangeDataset", "  RangeDataset", "ZipDataset", "FilterDataset"] == [row[0] for row in cells(page)]
    assert "({<script>: ()}, ())" == cells(page)[2][1]
    assert "unknown" == cells(page)[3][3]


def test_a_long_chain_is_folded():
    data = tf.data.Dataset.range(3)
    for _ in range(30):
        data = data.skip(0)

    assert 10 == len(cells(parsed(data)))


def test_a_distributed_dataset_tells_what_a_replica_gets():
    data = tf.data.Dataset.from_tensor_slices(np.ones([10, 3])).batch(4)
    distributed = mirrored(2).experimental_distribute_dataset(data)
    page = parsed(distributed)

    assert "<DistributedDataset of BatchDataset: rebatch(2), prefetch(2)>" == repr(distributed)
    assert ["TensorSliceDataset", "BatchDataset"] == [row[0] for row in cells(page)]
    assert ["Distributed by rebatch(2), prefetch(2). Each of 2 replicas gets shapes (None, 3), types tf.float64."] == [
        one.text for one in page.iter("p")
    ]


def test_one_replica_gets_what_there_is():
    page = parsed(mirrored(1).distribute_datasets_from_function(lambda _: tf.data.Dataset.range(3)))

    assert "The replica gets shapes (), types tf.int64." in "".join(page.itertext())
