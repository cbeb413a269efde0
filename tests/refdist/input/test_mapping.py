"""Stages that call a user's function: what it gets, in which order its results come, and what its errors say."""

import collections
import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf

Dataset = tf.data.Dataset
Pair = collections.namedtuple("Pair", "x y")


def plain(dataset):
    return [np.asarray(element).tolist() for element in dataset.as_numpy_iterator()]


def test_interleave_takes_some_elements_of_each_in_turn():
    dataset = Dataset.range(1, 4).interleave(
        lambda x: Dataset.from_tensors(x).repeat(4), cycle_length=2, block_length=2
    )

    assert [1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 3, 3] == plain(dataset)


def test_a_list_that_a_function_returns_is_a_tuple_as_in_tensorflow():
    (tensors,) = Dataset.range(1).map(lambda x: [x, x + 1]).as_numpy_iterator()
    (numbers,) = Dataset.range(1).map(lambda x: [5, 6]).as_numpy_iterator()
    (nests,) = Dataset.range(1).map(lambda x: [{"a": x}, [x, x]]).as_numpy_iterator()

    assert ((0, 1), (5, 6)) == (tensors, numbers)
    assert ({"a": 0}, [0, 0]) == (nests[0], nests[1].tolist())


def failing(x):
    return 1 // (int(x) - 2) < 5


@pytest.mark.parametrize(
    ("name", "dataset"),
    [
        ("map", Dataset.range(5).map(failing)),
        ("map", Dataset.range(5).map(failing, num_parallel_calls=3)),
        ("filter", Dataset.range(5).filter(failing)),
        ("flat_map", Dataset.range(5).flat_map(lambda x: Dataset.from_tensors(failing(x)))),
        ("interleave", Dataset.range(5).interleave(lambda x: Dataset.from_tensors(failing(x)), cycle_length=1)),
    ],
)
def test_an_error_in_the_pipeline_names_the_element_and_those_before_are_delivered(name, dataset):
    iterator = dataset.as_numpy_iterator()
    assert 2 == len(list(itertools.islice(iterator, 2)))
    with pytest.raises(ZeroDivisionError) as raised:
        next(iterator)

    assert [f"raised in {name}() at element 2 of this pass"] == raised.value.__notes__


@pytest.mark.parametrize(
    ("dataset", "shapes"),
    [
        (Dataset.range(7).batch(2).flat_map(lambda x: Dataset.from_tensors(x).repeat(2)), (None,)),
        (Dataset.range(7).batch(2).interleave(lambda x: Dataset.from_tensors((x * 2,)).map(lambda x: x)), (None,)),
        (Dataset.range(0).batch(2).flat_map(Dataset.from_tensors), (None,)),
        (Dataset.from_tensor_slices([[b"a"]]).batch(2).flat_map(Dataset.from_tensors), (None, 1)),
        (Dataset.from_tensor_slices(np.ones((3, 4))).rebatch(2), (2,)),
        (Dataset.from_tensor_slices(np.ones((3, 4))).rebatch(3), (None,)),
        (Dataset.from_tensor_slices(np.ones((3, 4, 5))).unbatch(), (5,)),
    ],
)
def test_the_spec_fits_every_element_and_is_that_of_tensorflow(dataset, shapes):
    (spec,) = tf.nest.flatten(dataset.element_spec)

    assert shapes == spec.shape
    assert all(spec.is_compatible_with(leaf) for element in dataset for leaf in tf.nest.flatten(element))


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


def test_a_parallel_map_sees_the_backend_and_the_scope_of_the_caller():
    with tf.using("host", gpus=3):
        counted = Dataset.range(2).map(lambda x: len(tf.config.list_logical_devices("GPU")), num_parallel_calls=2)
        assert [3, 3] == plain(counted)


def test_interleave_fills_an_empty_slot_when_its_turn_comes():
    dataset = Dataset.range(1, 6).interleave(
        lambda x: Dataset.from_tensors(x).repeat(6), cycle_length=2, block_length=4
    )

    assert "111122221122333344443344555555" == "".join(map(str, plain(dataset)))


def test_the_functions_of_a_dataset_with_elements_are_not_called_when_it_is_made():
    def refuse(*_):
        raise AssertionError

    made = Dataset.range(2).map(refuse).batch(2).unbatch().filter(refuse).flat_map(refuse).repeat().take(3)

    assert isinstance(made, Dataset)


def interleaved(lengths, cycle, block):
    """What interleave delivers: slots take turns, and one that has run out is refilled when its turn comes again."""
    coming = [[(number, place) for place in range(length)] for number, length in enumerate(lengths)]
    slots, out = [None] * cycle, []
    while coming or any(slot is not None for slot in slots):
        for turn in range(cycle):
            if slots[turn] is None and coming:
                slots[turn] = coming.pop(0)
            if slots[turn] is not None:
                taken, slots[turn] = slots[turn][:block], slots[turn][block:]
                out += taken
                if len(taken) < block:
                    slots[turn] = None
    return out


@given(
    lengths=generators.lists(generators.integers(0, 5), min_size=1, max_size=5),
    cycle=generators.integers(1, 4),
    block=generators.integers(1, 3),
)
@settings(max_examples=30)
def test_interleave_lets_slots_take_turns(lengths, cycle, block):
    dataset = Dataset.range(len(lengths)).interleave(
        lambda number: Dataset.range(lengths[int(number)]).map(lambda place: (number, place)), cycle, block
    )

    assert interleaved(lengths, cycle, block) == [(int(number), int(place)) for number, place in dataset]


def test_a_tuple_becomes_arguments_and_any_other_nest_is_one():
    seen = []

    def note(*arguments):
        seen.append(arguments)
        return 0

    for element in [(np.ones(2), 1), {"a": 1}, Pair(1, 2), 5]:
        list(Dataset.from_tensors(element).map(note).as_numpy_iterator())
    several, mapping, named, alone = seen

    assert (2, {"a"}, Pair, 1) == (len(several), set(mapping[0]), type(named[0]), len(alone))
    assert all(isinstance(leaf, tf.Tensor) for leaf in tf.nest.flatten(seen))


def test_a_function_cannot_change_the_data_through_its_argument():
    def change(x):
        x.numpy()[:] = 9
        return x

    dataset = Dataset.from_tensor_slices(np.zeros((2, 2)))
    plain(dataset.map(change))

    assert [[0, 0], [0, 0]] == plain(dataset)


@pytest.mark.parametrize("calls", [2, 3, 50])
def test_parallel_results_come_in_order_although_later_calls_end_first(calls):
    later = threading.Event()

    def slow_first(x):
        if x == 0:
            assert later.wait(60)
        if x == 1:
            later.set()
        return x

    assert list(range(8)) == plain(Dataset.range(8).map(slow_first, num_parallel_calls=calls))


def test_parallel_calls_read_no_further_ahead_than_there_are_calls():
    read = []

    def numbers():
        for number in range(100):
            read.append(number)
            yield number

    data = Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int64))
    iterator = data.map(lambda x: x, num_parallel_calls=4).as_numpy_iterator()
    first = [int(next(iterator)) for _ in range(3)]

    assert [0, 1, 2] == first
    assert len(read) <= 3 + 4


@pytest.mark.parametrize(
    ("function", "spec"),
    [
        (lambda x: np.zeros(int(x)), (None,)),  # another size for other numbers
        (lambda x: np.zeros(3), (3,)),
        (lambda x: np.zeros((2, int(x) + 1)), (2, None)),
        (lambda x: np.zeros(1 // (1 - int(x))), (1,)),  # cannot take a one, and need not
    ],
)
def test_a_size_that_depends_on_the_numbers_is_unknown(function, spec):
    assert spec == Dataset.range(0, 1).map(function).element_spec.shape


def test_the_spec_of_a_map_is_found_with_one_trial_of_its_function_and_kept():
    calls = []
    mapped = Dataset.range(3).map(lambda x: calls.append(int(x)) or x)
    specs = [mapped.element_spec for _ in range(3)]

    assert [tf.TensorSpec((), tf.int64)] * 3 == specs
    assert [0, 1] == calls, "once with zeros and once with ones"


@pytest.mark.parametrize(
    ("answer", "shown"), [(3, "3"), ([True, False], r"\[ True False\]"), (1.0, "1.0"), (None, "None")]
)
def test_a_predicate_that_gives_no_bool_is_shown_with_its_element(answer, shown):
    kept = Dataset.range(3).filter(lambda x: True if x < 2 else answer).as_numpy_iterator()

    assert [0, 1] == [int(next(kept)) for _ in range(2)]
    with pytest.raises(ValueError, match=f"returned {shown} for element 2; expected a single bool"):
        next(kept)


@pytest.mark.parametrize("method", ["flat_map", "interleave"])
def test_a_function_that_makes_no_dataset_is_named_with_what_it_made(method):
    with pytest.raises(TypeError, match=rf"given to {method}\(\) returned a Tensor for element 0; expected a Dataset"):
        plain(getattr(Dataset.range(3), method)(lambda x: x))


def test_a_window_is_given_to_a_function_as_a_dataset_of_which_the_spec_is_known_beforehand():
    counted = Dataset.range(5).window(2).map(lambda window: window.cardinality())

    assert tf.TensorSpec((), tf.int64) == counted.element_spec
    assert [2, 2, 1] == plain(counted)
