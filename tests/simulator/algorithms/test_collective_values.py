"""Values come out as a schedule's own order and precision give them."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

from simulator.algorithms.collective_values import value_on
from simulator.algorithms.schedules import ALGORITHMS
from tests.thorough import examples

DTYPES = ["float32", "float64", "float16", "int32", "int64", "uint8", ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn]


def play_values(schedule, arrays, op="sum", accumulate=None):
    """What every device has at the end."""
    return [value_on(schedule, arrays, device=device, op=op, accumulate=accumulate) for device in range(len(arrays))]


ADD = {"sum": lambda a, b: a + b, "min": min, "max": max}


def scalar(schedule, rows, op):
    """The same in plain Python, one number and one message at a time, written from the meaning of a schedule."""
    count, size = len(rows), len(rows[0])
    width = max(-(-size // schedule.chunks), 1)
    state = [list(row) for row in rows]
    for one in schedule.rounds:
        for repetition in range(one.repeat):
            before = [list(row) for row in state]
            for source, target, chunk in zip(one.source, one.target, one.chunk, strict=True):
                for step in range(one.width):
                    first = int(chunk + one.shift * repetition + step) % schedule.chunks * width
                    for place in range(first, min(first + width, size)):
                        got = before[source][place]
                        state[target][place] = ADD[op](state[target][place], got) if one.adds else got
    assert count == len(state)
    return state


@given(
    algorithm=generators.sampled_from(sorted(ALGORITHMS)),
    devices=generators.integers(1, 9),
    host=generators.sampled_from([1, 2, 3, 4]),
    size=generators.integers(0, 20),
    dtype=generators.sampled_from(DTYPES),
    op=generators.sampled_from(sorted(ADD)),
    seed=generators.integers(0, 99),
)
@settings(max_examples=examples(80, 200))
def test_values_are_bit_equal_to_a_scalar_fold_in_the_same_order(algorithm, devices, host, size, dtype, op, seed):
    schedule = ALGORITHMS[algorithm](devices, host if devices % host == 0 else devices)
    numbers = np.random.default_rng(seed).normal(0, 9, (devices, size))
    rows = np.abs(numbers).astype(dtype) if dtype == "uint8" else numbers.astype(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        got = play_values(schedule, list(rows), op)
        expected = np.array(scalar(schedule, list(rows), op), dtype).reshape(devices, size)

    assert expected.tobytes() == np.array(got).tobytes()
    assert len({row.tobytes() for row in got}) == 1  # every device has the same bits


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
@pytest.mark.parametrize("devices", [1, 2, 3, 5, 6, 7, 8, 12, 16, 33])
@pytest.mark.parametrize("size", [1, 5, 64, 100])
def test_every_device_ends_with_the_whole_sum(algorithm, devices, size):
    for host in {1, devices} | ({4} if devices % 4 == 0 else set()) | ({3} if devices % 3 == 0 else set()):
        arrays = [np.arange(size) * 10 ** (device % 4) for device in range(devices)]
        for result in play_values(ALGORITHMS[algorithm](devices, host), arrays):
            assert np.sum(arrays, axis=0).tolist() == result.tolist()


def test_a_wider_accumulation_rounds_once():
    arrays = [np.array([256.0], ml_dtypes.bfloat16), *[np.array([1.0], ml_dtypes.bfloat16)] * 3]
    schedule = ALGORITHMS["ring"](4, 4)

    narrow, wide = play_values(schedule, arrays), play_values(schedule, arrays, accumulate=np.float32)

    assert 256.0 == float(narrow[0][0])  # 256 + 1 is 256 in bfloat16, three times
    assert 260.0 == float(wide[0][0])  # 259 rounds to 260


def test_shapes_are_kept_and_nothing_given_is_changed():
    arrays = [np.ones((2, 3)), np.ones((2, 3))]
    result = play_values(ALGORITHMS["halving_doubling"](2, 2), arrays)

    assert [(2, 3)] * 2 == [one.shape for one in result]
    assert 1.0 == arrays[0].max()


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="expected one of"):
        play_values(ALGORITHMS["ring"](2, 2), [np.ones(1)] * 2, "product")
    with pytest.raises(ValueError, match="3 arrays"):
        play_values(ALGORITHMS["ring"](2, 2), [np.ones(1)] * 3)


def test_many_devices_with_one_number_need_little():
    schedule, rows = ALGORITHMS["ring"](2000, 2000), [np.float32([i]) for i in range(2000)]

    for device in (0, 1000, 1999):
        assert sum(range(2000)) == value_on(schedule, rows, device=device)[0]


@pytest.mark.parametrize("device", [-1, 2])
def test_a_device_that_the_schedule_does_not_have_is_refused(device):
    with pytest.raises(ValueError, match="expected one of 0 to 1"):
        value_on(ALGORITHMS["ring"](2, 1), [np.ones(3), np.ones(3)], device=device)


@pytest.mark.parametrize("other", [np.ones(2), np.ones((3, 1)), np.ones(3, np.float32)])
def test_arrays_that_differ_are_refused(other):
    with pytest.raises(ValueError, match="expected one shape and dtype"):
        value_on(ALGORITHMS["ring"](2, 1), [np.ones(3), other])


def test_numbers_that_no_device_has_are_refused():
    with pytest.raises(TypeError, match="expected numbers"):
        value_on(ALGORITHMS["ring"](2, 1), [np.ones(3, np.longdouble)] * 2)
