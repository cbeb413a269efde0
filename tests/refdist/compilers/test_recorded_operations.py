"""A recording knows what depends on what, and differentiates it."""

import jax.numpy as jnp
import numpy as np
import pytest

from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.compilers.recorded_operations import Recording, as_array, fresh, stopped, total


def recorded(*steps):
    """A recording of a chain: each step is a function of the result before it; returns all results, the first one watched."""
    recording, values = Recording(), [jnp.float32(3)]
    recording.watch(values[0])
    for step in steps:
        result = step(values[-1])
        recording.note([values[-1]], [result], lambda value, step=step: [step(value)])
        values.append(result)
    return recording, values


def test_a_chain_has_the_product_of_its_derivatives():
    recording, values = recorded(lambda x: x * x, lambda x: 5 * x)

    assert {id(values[0]): 30.0} == recording.gradients([values[-1]], [None], [id(values[0])])


def test_what_a_target_does_not_depend_on_has_no_gradient():
    recording, values = recorded(lambda x: x * x)
    other = jnp.float32(1)
    recording.watch(other)

    assert {} == recording.gradients([values[-1]], [None], [id(other)])


def test_operations_on_what_nobody_watches_are_not_kept():
    recording = Recording()
    recording.note([jnp.float32(1)], [jnp.float32(2)], lambda x: [x])

    assert not recording.knows(jnp.float32(2))
    assert {} == recording.gradients([jnp.float32(2)], [None], [])


def test_an_operation_with_its_own_backward_is_not_differentiated():
    recording, (x,) = recorded()
    result = x * 1
    recording.note([x], [result], None, lambda gradients: [gradients[0] * 100])

    assert {id(x): 100.0} == recording.gradients([result], [None], [id(x)])


def test_slices_stay_slices_until_they_meet_something_else():
    recording, table = Recording(), jnp.ones((3, 2))
    recording.watch(table)
    rows = [jnp.ones((1, 2)), jnp.ones((1, 2))]
    for place, row in enumerate(rows):
        slices = IndexedSlices(jnp.full((1, 2), place + 1.0), jnp.array([place]), np.array([3, 2]))
        recording.note([table], [row], None, lambda gradients, slices=slices: [slices])

    (gradient,) = recording.gradients(rows, [None, None], [id(table)]).values()
    assert [0, 1] == sorted(np.asarray(gradient.indices).tolist())

    whole = table * 2
    recording.note([table], [whole], lambda value: [value * 2])
    (gradient,) = recording.gradients([*rows, whole], [None] * 3, [id(table)]).values()
    assert [[3.0, 3.0], [4.0, 4.0], [2.0, 2.0]] == gradient.tolist()


def test_the_jacobian_has_a_row_for_each_element():
    recording, values = recorded(lambda x: jnp.stack([x, x * x]))

    (rows,) = recording.jacobians(values[-1], [id(values[0])]).values()
    assert [1.0, 6.0] == rows.tolist()


def test_the_jacobian_goes_through_backward_functions_one_row_at_a_time():
    recording, (x,) = recorded()
    pair = jnp.stack([x, x])
    recording.note([x], [pair], None, lambda gradients: [gradients[0] @ jnp.array([2.0, 3.0])])

    (rows,) = recording.jacobians(pair, [id(x)]).values()
    assert [2.0, 3.0] == rows.tolist()


@pytest.mark.parametrize("value", [np.array("text"), np.array(1.5), np.array(2**40), np.array(1j)])
def test_numbers_that_jax_would_change_do_not_become_arrays(value):
    assert as_array(value) is None


def test_integers_that_fit_become_narrow():
    assert as_array(np.array([1, 2], np.int64)).dtype == np.int32


def test_a_fresh_array_is_another_one_with_the_same_numbers():
    array = jnp.float32(2)

    assert fresh(array) is not array
    assert stopped(array) is not array
    assert float(fresh(array)) == float(stopped(array)) == 2.0


def test_the_gradients_of_all_readings_are_added():
    assert float(total([jnp.float32(1), jnp.float32(2), jnp.float32(3)])) == 6.0
