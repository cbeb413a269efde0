import pytest

from refdist._core.clusters.slurm_expressions import nodes_of, task_counts_of


# Those with several brackets, or with text behind them, SLURM writes too, but TensorFlow does not read.
@pytest.mark.parametrize(
    ("expression", "nodes"),
    [
        ("n1", ["n1"]),
        ("n[1-2],m5,o[3-4,6,7-9]", ["n1", "n2", "m5", "o3", "o4", "o6", "o7", "o8", "o9"]),
        ("n[08-11]", ["n08", "n09", "n10", "n11"]),
        ("[1-2]", ["1", "2"]),
        ("n[9-10]", ["n9", "n10"]),
        ("n1,n2,", ["n1", "n2"]),
        ("a.b-c[1,3].d", ["a.b-c1.d", "a.b-c3.d"]),
        ("r[0-1]n[1-2],x", ["r0n1", "r0n2", "r1n1", "r1n2", "x"]),
    ],
)
def test_nodes_are_in_the_order_of_the_expression(expression, nodes):
    assert nodes == nodes_of(expression)


@pytest.mark.parametrize(
    "expression", ["", "n[1-2", "n1]", "n[1-2-3]", "n[a]", "n[]", "n[3-1]", "n1,,n2", ",n1", "n 1", "n[[1]]"]
)
def test_malformed_lists_of_nodes_are_refused(expression):
    with pytest.raises(ValueError, match="expected names"):
        nodes_of(expression)


def test_counts_come_as_often_as_is_said():
    assert [3, 3, 2, 1] == task_counts_of("3(x2),2,1")


@pytest.mark.parametrize("expression", ["", "x2", "1(x2", "1(2)", "1,,2", "-1", "1.5"])
def test_malformed_counts_are_refused(expression):
    with pytest.raises(ValueError, match="expected numbers"):
        task_counts_of(expression)
