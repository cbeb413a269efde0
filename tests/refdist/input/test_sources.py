"""Where elements come from: arrays, ranges, functions and the loaders of other libraries; what they promise, and keep."""

import collections

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.input.sources import Range, element_of, slice_of
from refdist._core.input.stage import UNKNOWN_CARDINALITY, Iteration

Dataset = tf.data.Dataset
Pair = collections.namedtuple("Pair", "x y")


def plain(dataset):
    return [np.asarray(element).tolist() for element in dataset.as_numpy_iterator()]


def mirrored(count):
    with tf.using("simulator", gpus=count):
        return tf.distribute.MirroredStrategy()


def parts(strategy, element):
    return [np.asarray(part).tolist() for part in strategy.experimental_local_results(element)]


def test_nests_are_kept_and_lists_are_arrays():
    dataset = Dataset.from_tensor_slices({"a": [[1, 2], [3, 4]], "b": (np.ones(2), [5.0, 6.0])})
    element = next(dataset.as_numpy_iterator())

    assert ([1, 2], (1.0, 5.0)) == (element["a"].tolist(), element["b"])
    assert (
        "<TensorSliceDataset shapes: {a: (2,), b: ((), ())}, types: {a: tf.int32, b: (tf.float64, tf.float32)}>"
        == repr(dataset)
    )


def test_an_empty_list_of_a_generator_has_the_promised_dtype():
    rows = Dataset.from_generator(
        lambda: ([n] * n for n in range(3)), output_signature=tf.TensorSpec((None,), tf.int32)
    )

    assert [([], "int32"), ([1], "int32"), ([2, 2], "int32")] == [
        (row.tolist(), str(row.dtype)) for row in rows.as_numpy_iterator()
    ]


def test_the_source_cannot_be_changed_through_its_elements():
    array = np.zeros(4)
    dataset = Dataset.from_tensor_slices(array)
    array[:] = 1
    for element in dataset.batch(2).as_numpy_iterator():
        with pytest.raises(ValueError, match="read-only"):
            element[0] = 5
    mapped = dataset.map(lambda x: x.__iadd__(1))

    assert [0.0] * 4 == plain(dataset)
    assert [1.0] * 4 == plain(mapped)


def test_a_generator_is_called_again_for_every_loop_and_checked():
    dataset = Dataset.from_generator(lambda n: iter(range(n)), output_types=tf.int32, args=(3,))

    assert [0, 1, 2] == plain(dataset) == plain(dataset)
    assert [0, 1] == plain(Dataset.from_generator(lambda: iter(range(2)), output_types=tf.int32, args=None))
    wrong = Dataset.from_generator(lambda: iter([1.0, "a"]), output_signature=tf.TensorSpec((), tf.float32))
    with pytest.raises(TypeError, match="Element 1 of the generator"):
        plain(wrong)


def test_shapes_that_were_not_given_are_looked_up():
    rows = Dataset.from_generator(lambda: iter([np.arange(4), np.arange(2)]), output_types=tf.int32)
    distributed = mirrored(2).experimental_distribute_dataset(rows)

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


def test_a_list_of_arrays_of_a_loader_is_a_nest():
    class Loader:
        def __iter__(self):
            yield [np.arange(4), np.arange(4) * 100]

        def __call__(self):
            raise AssertionError

    (element,) = list(mirrored(2).experimental_distribute_dataset(Loader()))

    assert ([[0, 1], [2, 3]], [[0, 100], [200, 300]]) == (
        parts(mirrored(2), element[0]),
        parts(mirrored(2), element[1]),
    )


def test_asking_for_the_spec_of_a_loader_does_not_make_its_last_batch_wrong():
    distributed = mirrored(2).experimental_distribute_dataset([np.arange(4), np.arange(4), np.arange(2)])
    assert distributed.element_spec is not None

    assert 3 == len(list(distributed))


def test_an_iterator_that_is_used_up_is_noticed():
    iterator = iter([np.arange(2), np.arange(2)])
    distributed = mirrored(2).experimental_distribute_dataset(lambda: iterator)
    list(distributed)
    with pytest.raises(TypeError, match="same iterator again"):
        list(distributed)


@pytest.mark.parametrize(
    "loader", [[np.arange(4), np.arange(2)], (np.arange(4), np.arange(2)), lambda: iter([np.arange(4), np.arange(2)])]
)
def test_any_other_source_of_batches_is_distributed(loader):
    strategy = mirrored(2)
    dataset = strategy.experimental_distribute_dataset(loader)

    assert [[[0, 1], [2, 3]], [[0, 1], []]] == [parts(strategy, element) for element in dataset]
    assert 2 == len(list(dataset)), "a second loop starts again"


@pytest.mark.parametrize("loader", [iter([1]), 3, (x for x in [1])])
def test_what_cannot_be_iterated_over_again_is_refused(loader):
    with pytest.raises(TypeError, match="expected a"):
        mirrored(2).experimental_distribute_dataset(loader)


numbers = generators.integers(-9, 9)


@given(
    start=numbers,
    stop=numbers,
    step=numbers.filter(bool),
    rows=generators.lists(generators.integers(0, 20), max_size=5),
)
@settings(max_examples=50)
def test_a_range_delivers_the_numbers_of_pythons_in_any_order(start, stop, step, rows):
    counted = range(start, stop, step)
    stage = Range(counted, "int32")
    order = np.array([row for row in rows if row < len(counted)], np.int64)
    taken = stage.rows(Iteration()).take

    assert list(counted) == [int(number) for number in stage.elements(Iteration())]
    assert [counted[row] for row in order] == taken(order).tolist()
    assert list(counted[::2]) == taken(range(0, len(counted), 2)).tolist()
    assert ("int32", len(counted), not counted) == (taken(order).dtype, stage.cardinality(), stage.is_empty())


@given(length=generators.integers(0, 9), start=numbers, stop=numbers, step=generators.integers(1, 9))
@settings(max_examples=50)
def test_a_range_of_rows_is_taken_as_a_slice_and_so_without_a_copy(length, start, stop, step):
    block = range(length)[start:stop:step]
    array = np.arange(length) * 10

    assert [10 * row for row in block] == array[slice_of(block)].tolist()
    assert not len(block) or np.shares_memory(array, array[slice_of(block)])


def test_mappings_and_tuples_are_nests_and_named_tuples_stay_what_they_are():
    (element,) = Dataset.from_tensors(Pair([1, 2], {"a": (3.0,)})).as_numpy_iterator()
    made = element_of(Pair(collections.OrderedDict(b=[1], a="t"), (2,)))

    assert (Pair, [1, 2], (3.0,)) == (type(element), element.x.tolist(), element.y["a"])
    assert (Pair, [1], b"t", (2,)) == (type(made), made.x["b"].tolist(), made.x["a"].item(), made.y)


@pytest.mark.parametrize("value", [np.arange(3), [0, 1, 2], (np.arange(3),), {"a": np.arange(3)}])
def test_an_element_cannot_be_changed_by_whoever_gets_it_or_has_made_it(value):
    (made,) = tf.nest.flatten(element_of(value))
    (given,) = tf.nest.flatten(value) if not isinstance(value, list) else [None]

    assert not made.flags.writeable
    assert given is None or not np.shares_memory(made, given)


def test_an_array_that_nobody_can_change_is_not_copied():
    array = np.arange(3)
    array.setflags(write=False)

    assert element_of(array) is array


@pytest.mark.parametrize(
    ("loader", "length"),
    [
        ([np.ones(2)] * 3, 3),
        ((np.ones(2),) * 2, 2),
        (lambda: iter([np.ones(2)]), UNKNOWN_CARDINALITY),
    ],
)
def test_a_loader_is_as_long_as_it_says(loader, length):
    distributed = mirrored(2).experimental_distribute_dataset(loader)

    assert length == distributed._source.stage.cardinality()


@pytest.mark.parametrize("wrong", ["text", b"bytes", {"a": np.ones(2)}])
def test_text_and_mappings_are_no_lists_of_batches(wrong):
    with pytest.raises(TypeError, match=rf"The data are a {type(wrong).__name__}; expected a tf\.data\.Dataset"):
        mirrored(2).experimental_distribute_dataset(wrong)


def test_of_a_generator_without_elements_and_without_a_promise_nothing_is_known():
    empty = Dataset.from_generator(lambda: iter(()))

    assert [] == plain(empty)
    with pytest.raises(ValueError, match=r"expected at least one\. Give an output_signature"):
        empty.element_spec  # noqa: B018


@pytest.mark.parametrize(
    ("element", "spec"),
    [
        ((1, 2), tf.TensorSpec((), tf.int64)),
        ([1, 2, 3], tf.TensorSpec((2,), tf.int64)),
        ({"a": 1}, {"b": tf.TensorSpec((), tf.int64)}),
        (1.5, tf.TensorSpec((), tf.int64)),
        (2**40, tf.TensorSpec((), tf.int32)),
        ((1,), (tf.TensorSpec((), tf.int64), tf.TensorSpec((), tf.int64))),
    ],
)
def test_an_element_that_is_not_as_promised_is_shown_beside_the_promise(element, spec):
    dataset = Dataset.from_generator(lambda: iter([element]), output_signature=spec)
    with pytest.raises(TypeError, match=r"(?s)Element 0 of the generator is .*; expected .*, as promised\. Correct"):
        plain(dataset)


def test_numbers_become_what_was_promised_where_nothing_is_lost():
    spec = {"x": tf.TensorSpec((2,), tf.float64), "y": (tf.TensorSpec((), tf.int8), tf.TensorSpec((), tf.string))}
    (element,) = Dataset.from_generator(
        lambda: iter([{"x": [1, 2], "y": (3, "t")}]), output_signature=spec
    ).as_numpy_iterator()

    assert ("float64", "int8", b"t") == (element["x"].dtype, element["y"][0].dtype, element["y"][1])
