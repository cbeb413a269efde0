import jax
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import refdist as tf
from refdist._core.compilers.mesh_arrays import Assembly, parts_of


@pytest.fixture
def places():
    with tf.using("jax", cpus=8) as _:
        yield jax.devices("cpu")[:2]


def spread_over(places):
    return NamedSharding(Mesh(np.array(places, object), ("replica",)), PartitionSpec("replica"))


def parts_on(places, dtype, first):
    return [jax.device_put(np.arange(first, first + 3).astype(dtype), place) for place in places]


@pytest.mark.parametrize("dtype", ["float32", "int32", "bfloat16"])
def test_the_first_array_of_a_kind_and_all_others_are_those_that_jax_makes(places, dtype):
    assembly = Assembly(spread_over(places), 2)

    for first in range(3):
        parts = parts_on(places, dtype, first)
        expected = jax.make_array_from_single_device_arrays((6,), spread_over(places), parts)
        made = assembly(parts)

        assert np.asarray(expected).tolist() == np.asarray(made).tolist()
        assert (expected.aval, expected.sharding, expected.committed) == (made.aval, made.sharding, made.committed)


def test_random_keys_are_put_together_too(places):
    assembly = Assembly(spread_over(places), 2)

    for seed in range(2):
        parts = [jax.device_put(jax.random.split(jax.random.key(seed), 3), place) for place in places]

        expected = [np.asarray(jax.random.key_data(part)).tolist() for part in parts]
        assert [row for part in expected for row in part] == np.asarray(jax.random.key_data(assembly(parts))).tolist()


def test_an_array_that_was_deleted_is_said_to_be_deleted(places):
    assembly = Assembly(spread_over(places), 2)
    assembly(parts_on(places, "float32", 0))
    parts = parts_on(places, "float32", 0)
    parts[1].delete()

    with pytest.raises(RuntimeError, match="deleted"):
        assembly(parts)


def test_parts_are_those_that_were_put_together(places):
    parts = parts_on(places, "float32", 1)
    found = parts_of(Assembly(spread_over(places), 2)(parts), 2)

    assert [(part.tolist(), part.devices()) for part in parts] == [(part.tolist(), part.devices()) for part in found]
