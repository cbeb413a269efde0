"""A dataset keeps the variables of its functions as they were when it got them."""

import functools

import numpy as np
import pytest

import refdist as tf
from refdist._core.input.capture import captured

Dataset = tf.data.Dataset


def plain(dataset):
    return [np.asarray(one).tolist() for one in dataset.as_numpy_iterator()]


def test_each_map_of_a_loop_has_the_variable_of_its_turn():
    dataset = Dataset.range(3)
    for k in (1, 10, 100):
        dataset = dataset.map(lambda x: x + k)  # noqa: B023

    assert [111, 112, 113] == plain(dataset)


def test_each_map_of_a_loop_at_the_top_of_a_program_has_the_variable_of_its_turn():
    program = """
def shifted(x):
    return x + k
class Shift:
    def by(self, x):
        return shifted(x)
dataset = Dataset.range(3)
for k in (1, 10, 100):
    dataset = dataset.map(lambda x: x + k).map(shifted).map(lambda x: shifted(x)).map(partial(Shift().by))
"""
    names = {"Dataset": Dataset, "partial": functools.partial, "__name__": "program"}
    exec(program, names)

    assert [444, 445, 446] == plain(names["dataset"])


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (lambda dataset, k: dataset.filter(lambda x: x % k() != 0), [1]),
        (lambda dataset, k: dataset.flat_map(lambda x: Dataset.range(x, x + k())), [0, 1, 2, 1, 2, 3, 2, 3, 4]),
        (lambda dataset, k: dataset.interleave(lambda x: Dataset.from_tensors(x * k()), 2), [0, 3, 6]),
    ],
)
def test_every_stage_with_a_function_keeps_its_variables(stage, expected):
    turn = 3 if expected != [1] else 2
    dataset = stage(Dataset.range(3), lambda: turn)
    turn = 7

    assert expected == plain(dataset)


def test_a_variable_that_the_function_writes_is_the_one_outside():
    count = 0

    def counted(x):
        nonlocal count
        count += 1
        return x

    def twice(x):
        counted(x)
        return counted(x) + 0 * count

    assert [0, 1] == plain(Dataset.range(2).map(twice))
    assert 4 <= count


def test_a_global_variable_that_the_function_writes_is_the_one_outside():
    names = {"Dataset": Dataset}
    exec(
        "count = 0\ndef counted(x):\n  global count\n  count += 1\n  return x + count\nd = Dataset.range(2).map(counted)",
        names,
    )
    names["count"] = 5

    assert [6, 8] == plain(names["d"])
    assert 7 == names["count"]


def test_what_a_variable_refers_to_is_not_copied():
    seen, shift = [], tf.Variable(1)

    def note(x):
        seen.append(int(x))
        return int(x) + int(shift)

    dataset = Dataset.range(2).map(note)
    shift.assign(10)

    assert [10, 11] == plain(dataset)
    assert [0, 1] == seen


def test_functions_that_call_themselves_or_are_defined_later_work():
    def factorial(x):
        return 1 if x == 0 else x * factorial(x - 1)

    def later(x):
        return unknown(x)

    dataset = Dataset.range(4).map(lambda x: factorial(int(x))).map(later)

    def unknown(x):
        return -x

    assert [-1, -1, -2, -6] == plain(dataset)


def test_what_a_function_notes_about_itself_is_seen_outside():
    def counted(x, *, step=1):
        counted.calls = getattr(counted, "calls", 0) + step
        return x

    plain(Dataset.range(3).map(counted))

    assert 3 == counted.calls
    assert captured(counted).__kwdefaults__ == {"step": 1}
    assert captured(counted).__qualname__ == counted.__qualname__


def test_what_is_no_python_function_stays_as_it_is():
    assert abs is captured(abs)
    assert np.add is captured(np.add)


def test_names_that_are_built_in_or_come_later_are_found():
    names = {"Dataset": Dataset}
    exec("d = Dataset.range(3).map(lambda x: max(int(x), least))\nleast = 1", names)

    assert [1, 1, 2] == plain(names["d"])
    with pytest.raises(NameError, match="nothing_of_that_name"):
        plain(Dataset.range(1).map(lambda x: nothing_of_that_name))  # noqa: F821


def test_a_generator_sees_what_is_there_when_it_runs():
    start = 1
    dataset = Dataset.from_generator(lambda: iter([start]), output_signature=tf.TensorSpec((), tf.int64))
    start = 5

    assert [5] == plain(dataset)
