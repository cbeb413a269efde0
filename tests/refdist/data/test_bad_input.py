"""What is wrong with the data is said clearly, where it is wrong, and nothing is delivered twice."""

import numpy as np
import pytest

import refdist as tf

Dataset = tf.data.Dataset
PAIR = (np.arange(2), np.arange(2))


def plain(dataset):
    return [np.asarray(element).tolist() for element in dataset.as_numpy_iterator()]


def two():
    with tf.using("simulator", gpus=2):
        return tf.distribute.MirroredStrategy()


@pytest.mark.parametrize("elements", [[PAIR, np.arange(2)], [np.arange(2), PAIR], [{"a": np.arange(2)}, PAIR]])
@pytest.mark.parametrize(
    "distribute",
    [
        lambda make: two().experimental_distribute_dataset(make),
        lambda make: two().distribute_datasets_from_function(lambda given: Dataset.from_generator(make)),
        lambda make: Dataset.from_generator(make),
    ],
)
def test_elements_of_unequal_structure_are_refused_and_counted(distribute, elements):
    with pytest.raises(ValueError, match=r"Element 1 of this pass .* expected the same nest"):
        list(distribute(lambda: iter(elements)))
