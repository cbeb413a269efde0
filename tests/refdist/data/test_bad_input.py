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


def test_shapes_that_were_not_given_are_looked_up():
    rows = Dataset.from_generator(lambda: iter([np.arange(4), np.arange(2)]), output_types=tf.int32)
    distributed = two().experimental_distribute_dataset(rows)

    assert tf.TensorSpec((None,), tf.int32) == rows.element_spec
    assert tf.TensorSpec((None,), tf.int32) == distributed.element_spec.specs[0]
    assert "<MapDataset shapes: (), types: tf.int32>" == repr(rows.map(lambda row: row[0]))
    with pytest.raises(TypeError, match="expected one of the two"):
        Dataset.from_generator(lambda: iter([1]), output_types=tf.int32, output_signature=tf.TensorSpec((), tf.int32))


@pytest.mark.parametrize(("wrong", "place"), [([1.5, 2], 0), ([1, 2.5], 1), ([1, 2, "text"], 2)])
def test_a_broken_promise_names_its_element_and_those_before_are_delivered(wrong, place):
    iterator = Dataset.from_generator(lambda: iter(wrong), tf.int32, ()).as_numpy_iterator()
    assert wrong[:place] == [int(next(iterator)) for _ in range(place)]
    with pytest.raises(TypeError, match=f"Element {place} of the generator") as raised:
        next(iterator)

    assert [f"raised while element {place} of FlatMapDataset was made"] == raised.value.__notes__


@pytest.mark.parametrize("parallel", [None, 1, 2, 8])
def test_a_map_delivers_what_was_read_before_a_failure(parallel):
    def numbers():
        yield from range(3)
        raise KeyError("gone")

    iterator = Dataset.from_generator(numbers, tf.int32, ()).map(lambda x: x * 2, parallel).as_numpy_iterator()

    assert [0, 2, 4] == [int(next(iterator)) for _ in range(3)]
    with pytest.raises(KeyError) as raised:
        next(iterator)
    assert ["raised while element 3 of FlatMapDataset was made"] == raised.value.__notes__
