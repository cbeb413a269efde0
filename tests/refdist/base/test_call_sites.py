"""Where a meeting is: by the text of the call, whatever Python makes of it, and never below C++ code."""

import subprocess
import sys
from types import ModuleType

import jax
import nbclient
import nbformat
import numpy as np
import optree
import pytest

import refdist as tf
from refdist._core.base.call_sites import Place, line_text, where

RUNS = 40  # Python specialises a call after a few


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=2):
        yield tf.distribute.MirroredStrategy()


def summed(x):
    return tf.distribute.get_replica_context().all_reduce("SUM", x)


def numbers(result):
    return [[float(value) for value in one.values] for one in result]


def by_map():
    return tuple(map(summed, [tf.constant(1.0), tf.constant(2.0)]))


def by_sorting():
    return sorted([tf.constant(2.0), tf.constant(1.0)], key=lambda x: float(summed(x)))


def by_text():
    places = {"summed": summed, "tf": tf}
    exec("a = summed(tf.constant(1.0))\nb = summed(tf.constant(2.0))", places)
    return places["a"], places["b"]


def by_comprehension():
    return [summed(tf.constant(float(number))) for number in (1, 2)]


@pytest.mark.parametrize("step", [by_map, by_sorting, by_text, by_comprehension], ids=lambda step: step.__name__)
def test_a_call_stays_the_same_call_however_often_it_runs(strategy, step):
    expected = [[1.0, 1.0], [2.0, 2.0]] if step is by_sorting else [[2.0, 2.0], [4.0, 4.0]]
    for _ in range(RUNS):
        assert expected == numbers(strategy.run(step))


def test_two_calls_in_one_line_are_two_places(strategy):
    def step():
        first = tf.distribute.get_replica_context().replica_id_in_sync_group == 0
        return summed(tf.constant(1.0)) if first else summed(tf.constant(2.0))

    with pytest.raises(tf.errors.MeetingError, match="do not meet"):
        strategy.run(step)


def test_one_line_is_another_place_when_another_function_calls_it(strategy):
    """Though the call itself was looked up just before, for the first replica."""

    def deep(times):
        return summed(tf.constant(1.0)) if times == 0 else deep(times - 1)

    depths = strategy.experimental_distribute_values_from_function(lambda context: context.replica_id_in_sync_group)
    for _ in range(2):
        assert [2.0, 2.0] == [float(one) for one in strategy.run(deep, args=(0,)).values]

    with pytest.raises(tf.errors.MeetingError, match="do not meet"):
        strategy.run(deep, args=(depths,))


def test_a_write_through_a_helper_is_at_the_lines_of_both(strategy):
    with strategy.scope():
        variable = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    def add(number):
        variable.assign_add(tf.constant(number))

    def step():
        if tf.distribute.get_replica_context().replica_id_in_sync_group == 0:
            return add(1.0)
        return add(1.0)

    with pytest.raises(tf.errors.MeetingError, match=r"in add, called from .*in step"):
        strategy.run(step)


@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("tree_map", [tf.nest.map_structure, jax.tree.map], ids=["refdist", "jax"])
def test_replicas_meet_in_a_function_that_is_mapped_over_a_nest(count, tree_map):
    with tf.using("simulator", gpus=count):
        one = tf.constant(1.0)
        result = tf.distribute.MirroredStrategy().run(lambda: tree_map(summed, {"a": one, "b": [one, (one,)]}))

    assert [float(count)] * 3 == [float(tf.nest.flatten(leaf)[0]) for leaf in first_components(result)]


def first_components(result):
    return [leaf.values[0] if hasattr(leaf, "values") else leaf for leaf in tf.nest.flatten(result)]


def below_optree(x):
    return optree.tree_map(summed, {"a": x})


def below_a_callback(x):
    return jax.pure_callback(lambda y: np.asarray(summed(tf.constant(y))), jax.ShapeDtypeStruct((), np.float32), x)


@pytest.mark.parametrize("step", [below_optree, below_a_callback], ids=lambda step: step.__name__)
def test_a_replica_that_would_pause_below_foreign_code_is_told_so(strategy, step):
    with pytest.raises(Exception, match=r"below C\+\+ code.*test_call_sites\.py"):
        strategy.run(step, args=(np.float32(1.0),))

    assert [[2.0, 2.0]] == numbers([strategy.run(summed, args=(tf.constant(1.0),))])


def test_variables_are_made_below_foreign_code_because_nobody_pauses_there(strategy):
    with strategy.scope():
        made = strategy.run(lambda: optree.tree_map(lambda x: tf.Variable(x), {"a": 1.0, "b": 2.0}))

    assert [1.0, 2.0] == [float(variable) for variable in made.values()]


def test_a_long_site_is_printed_with_the_lines_of_the_program_itself():
    library = tuple(Place("/lib/site-packages/keras/layer.py", "save", line, 0) for line in range(8))
    program = Place("/home/train.py", "main", 12, 0)

    assert "/home/train.py:12, in main" in where((*library, program))
    assert 6 == where(tuple(program._replace(line=line) for line in range(9))).count("train.py")
    assert str(program) == where((program, program))  # of a converted function, whose call is in two frames


CELLS = [
    """
import refdist as tf
tf.use("simulator", gpus=2)
strategy = tf.distribute.MirroredStrategy()
""",
    """
def step():
    if tf.distribute.get_replica_context().replica_id_in_sync_group == 0:
        tf.distribute.get_replica_context().all_reduce("sum", tf.ones([2]))
try:
    strategy.run(step)
except RuntimeError as error:
    print(error)
""",
    """
with tf.testing.journal() as journal:
    strategy.run(tf.distribute.get_strategy)
print(journal.events[0].site[0])
""",
    """
with tf.simulator.trace() as recording:
    strategy.run(tf.distribute.get_strategy)
print(recording.trace().to_json())
""",
]


def test_in_a_notebook_a_line_is_named_by_its_cell():
    cells = [nbformat.v4.new_code_cell(text.strip()) for text in CELLS]
    nbclient.NotebookClient(nbformat.v4.new_notebook(cells=cells), timeout=60).execute()

    _, meeting, journal, recording = ["".join(one["text"] for one in cell.outputs) for cell in cells]
    assert "waiting in all_reduce(SUM) of float32[2] at cell In[2], line 3, in step" in meeting
    assert "cell In[3], line 2, in <module>\n" == journal
    assert "cell In[4], line 2, in <module>" in recording
    assert not any("ipykernel" in text for text in (meeting, journal, recording))


def test_a_line_is_named_while_another_thread_still_imports_ipython(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))

    assert "/home/me/train.py:12" == line_text("/home/me/train.py", 12)


def test_cells_cost_nothing_where_there_are_none():
    program = """
import sys, refdist as tf
from refdist._core.base.call_sites import line_text
print(line_text("/tmp/ipykernel_1/2.py", 3), "IPython" in sys.modules)
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert "/tmp/ipykernel_1/2.py:3 False\n" == told
