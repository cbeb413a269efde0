import jax
import numpy as np
import pytest

import refdist as tf
from tests.markup import cells, heads, parsed

ctx = tf.distribute.get_replica_context


def mirrored(count, backend="simulator"):
    with tf.using(backend, gpus=count):
        return tf.distribute.MirroredStrategy()


def test_each_component_has_a_row_with_its_device():
    page = parsed(mirrored(2).run(lambda: tf.ones([2]) * ctx().replica_id_in_sync_group))

    assert "PerReplica of 2 components" == page.find("table/caption").text
    assert ["replica", "device", "kind", "value"] == heads(page)
    assert [["0", "GPU:0", "float32[2]", "[0., 0.]"], ["1", "GPU:1", "float32[2]", "[1., 1.]"]] == cells(page)


def test_a_mirrored_value_shows_its_components():
    strategy = mirrored(2)
    value = strategy.extended.reduce_to("sum", strategy.run(lambda: tf.ones([])), strategy.extended.worker_devices)

    assert [["0", "GPU:0", "float32[]", "2."], ["1", "GPU:1", "float32[]", "2."]] == cells(parsed(value))


def test_values_that_are_no_tensors_have_no_device():
    page = parsed(mirrored(2).run(lambda: f"<script>{ctx().replica_id_in_sync_group}</script>"))

    assert [["0", "str", "'<script>0</script>'"], ["1", "str", "'<script>1</script>'"]] == cells(page)


@pytest.mark.parametrize("shape", [[1000, 1000], [0, 3], [2] * 9, [1], []], ids=str)
def test_a_cell_is_short_whatever_the_shape(shape):
    for row in cells(parsed(mirrored(2).run(lambda: tf.zeros(shape)))):
        assert f"float32[{','.join(map(str, shape))}]" == row[2]
        assert len(row[3]) <= 400


def test_of_ten_thousand_components_the_first_and_the_last_are_shown():
    page = parsed(mirrored(10_000).run(lambda: tf.ones([4])))
    rows = cells(page)

    assert 10 == len(rows)
    assert ["... 9,991 more", "", "", ""] == rows[-2]
    assert "9999" == rows[-1][0]
    assert len(mirrored(10_000).run(lambda: tf.ones([4]))._repr_html_()) < 5_000


def test_arrays_and_keys_of_jax_are_shown_too():
    strategy = mirrored(2)
    arrays = strategy.run(lambda: tf.distribute.get_replica_context() and tf.constant(b"x"))
    keys = strategy.experimental_distribute_values_from_function(
        lambda one: jax.random.key(one.replica_id_in_sync_group)
    )
    plain = strategy.experimental_distribute_values_from_function(lambda _: jax.numpy.ones([2]))

    assert ["string[]", "b'x'"] == cells(parsed(arrays))[0][2:]
    assert "key<fry>" in cells(parsed(keys))[0][-1]
    assert "float32[2]" in cells(parsed(plain))[0]
    assert np.all(plain.values[0] == 1)
