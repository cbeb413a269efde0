import re

import pytest

import refdist as tf
from tests.refdist.pictures.programs import Trained, central, mirrored, parameter_servers

PICTURE = """\
MirroredStrategy: 2 replicas

                                     GPU:0                      GPU:1
                                   replica 0                  replica 1
weight                             [copy 0]                   [copy 1]
  float32[2,3], 24 B; mirrored: 2 equal copies, writes are averaged
total                                [own]                      [own]
  float32[], 4 B; ON_READ: each replica has its own, read as their sum

One run of step on each replica:
                                       |                          |
1                                    [in]                       [in]
  gets: float32[2,3], 24 B on each replica
                                       |                          |
2 programs.py:N                     [write]                    [write]
  assign_add 'total': float32[], 4 B, each replica its own copy
                                       |                          |
3 programs.py:N                        o==========================o
  all_reduce SUM: float32[2,3], 24 B from each replica
                                       |                          |
4 programs.py:N                        #==========================#
  assign_sub 'weight': float32[2,3], 24 B from each replica, averaged
                                       |                          |
5                                    [out]                      [out]
  returns: float32[], 4 B on each replica"""


def test_a_step_on_two_replicas_looks_like_this():
    lines = str(Trained(mirrored(2)).draw()).split("\n")
    numbered = [re.sub(r"programs.py:\d\d", "programs.py:N ", line) for line in lines]

    assert PICTURE == "\n".join(numbered)


STRATEGIES = [*map(mirrored, (1, 2, 3, 4, 5, 7, 1024)), central(2), central(7), parameter_servers()]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
def test_no_line_is_wider_than_a_terminal(strategy):
    trained = Trained(strategy, name="a_name_that_is_far_too_long_for_the_place_that_it_has_in_the_picture")

    text = str(trained.draw())

    assert all(len(line) <= 80 for line in text.split("\n"))
    assert text == repr(trained.draw())


def test_many_variables_and_acts_are_counted():
    strategy = mirrored(2)
    with strategy.scope():
        kept = [tf.Variable(0.0, name=f"v{n}") for n in range(20)]

    def step():
        for n in range(30):
            tf.distribute.get_replica_context().all_reduce("sum", tf.ones([n]))

    text = str(strategy.draw(step))

    assert "and 8 more variables" in text
    assert "and 6 more" in text.split("\n")
    del kept


def test_a_step_that_does_nothing_together_is_told():
    assert "The replicas do not meet, and write nothing." in str(mirrored(2).draw(lambda: None))


def test_what_is_not_drawn_is_told():
    assert "is not drawn: each goes at its own pace." in str(parameter_servers().draw())
