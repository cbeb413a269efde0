import pytest

import refdist as tf
from tests.markup import cells, heads, parsed
from tests.refdist.pictures.programs import Trained, central, mirrored, parameter_servers


def title(page):
    return page.find("table/caption").text


def test_each_copy_has_a_row():
    trained = Trained(mirrored(2), name="<script>")
    weight, total = parsed(trained.weight), parsed(trained.total)

    assert "MirroredVariable '<script>:0', float32[2,3], aggregation MEAN" == title(weight)
    assert [["0", "GPU:0", "float32[2,3]", "[[1., 1., 1.], [1., 1., 1.]]"]] == cells(weight)[:1]
    assert "SyncOnReadVariable 'total:0', float32[], synchronization ON_READ, aggregation SUM" == title(total)
    assert [["0", "GPU:0", "float32[]", "0."], ["1", "GPU:1", "float32[]", "0."]] == cells(total)


def test_one_copy_is_one_row():
    assert [["0", "CPU:0", "float32[]", "0."]] == cells(parsed(Trained(central(2)).total))
    assert [["0", "CPU:0", "int32[]", "3"]] == cells(parsed(tf.Variable(3)))


def test_each_shard_has_a_row():
    strategy = parameter_servers()
    with strategy.scope():
        table = tf.Variable(tf.ones([7, 1]), name="table")
    page = parsed(table)

    assert ["shard", "device", "kind", "value"] == heads(page)
    assert [["0", "CPU:0", "float32[3,1]"], ["1", "CPU:0", "float32[2,1]"], ["2", "CPU:0", "float32[2,1]"]] == [
        row[:3] for row in cells(page)
    ]


def test_before_a_program_runs_its_variables_have_no_value():
    variable, shown = tf.Variable(1.0, name="v"), []

    @tf.function
    def program():
        shown.append(parsed(variable))
        return variable + 1

    program()

    assert ["Variable 'v:0', float32[]"] == [one.text for one in shown[0].iter("p")]


@pytest.mark.parametrize("shape", [[0], [3000, 3000]])
def test_a_variable_of_any_size_is_shown_in_few_letters(shape):
    assert len(tf.Variable(tf.zeros(shape))._repr_html_()) < 2_500
