import gc

import pytest

import refdist as tf
from refdist._core.pictures.drawn_devices import columns_of, spots_of
from refdist._core.pictures.drawn_variables import size_text, variables_of
from tests.refdist.pictures.programs import Trained, central, mirrored, parameter_servers


def cells(strategy, most=4):
    shown = columns_of(spots_of(strategy), most)
    return {one.name: [one.cell(column) for column in shown] for one in variables_of(strategy)}


def test_each_replica_has_a_copy_or_a_value_of_its_own():
    trained = Trained(mirrored(3))

    assert {"weight": ["copy 0", "copy 1", "copy 2"], "total": ["own"] * 3} == cells(trained.strategy)


def test_folded_replicas_have_their_copies_together():
    trained = Trained(mirrored(9))

    assert {"weight": ["copy 0", "copies 1 ... 8"], "total": ["own", "own, each"]} == cells(trained.strategy)


def test_central_storage_has_one_copy():
    trained = Trained(central(2))

    assert {"weight": ["", "", "the copy"], "total": ["", "", "the copy"]} == cells(trained.strategy)


def test_shards_are_where_their_rows_are():
    strategy = parameter_servers()
    with strategy.scope():
        table = tf.Variable(tf.ones([7, 4]), name="table")
        bias = tf.Variable(0.0, name="bias")
    (sharded, _) = variables_of(strategy)

    assert {"table": ["", "", "2 shards", "rows 3-4"], "bias": ["", "", "", "the copy"]} == cells(strategy)
    assert ("float32[7,4], 112 B", "cut into 3 shards") == (sharded.spec, sharded.about)
    del table, bias


def test_variables_of_other_strategies_and_those_that_are_gone_are_not_drawn():
    trained, other = Trained(mirrored(2)), Trained(mirrored(2))
    outside = tf.Variable(1.0)

    assert ["weight", "total"] == [one.name for one in variables_of(other.strategy)]
    del trained.total, outside
    gc.collect()
    assert ["weight"] == [one.name for one in variables_of(trained.strategy)]


@pytest.mark.parametrize(
    ("aggregation", "about"),
    [
        ("NONE", "mirrored: 2 equal copies"),
        ("SUM", "mirrored: 2 equal copies, writes are summed"),
        ("MEAN", "mirrored: 2 equal copies, writes are averaged"),
        ("ONLY_FIRST_REPLICA", "mirrored: 2 equal copies, replica 0 writes"),
    ],
)
def test_what_becomes_of_writes_is_said(aggregation, about):
    strategy = mirrored(2)
    with strategy.scope():
        variable = tf.Variable(1.0, aggregation=tf.VariableAggregation[aggregation])

    assert [about] == [one.about for one in variables_of(strategy)]
    del variable


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (123_456, "123 kB"), (2000, "2.00 kB"), (12_345_678, "12.3 MB"), (4e12, "4.00 TB")],
)
def test_sizes_have_the_unit_that_suits_them(size, text):
    assert text == size_text(size)
