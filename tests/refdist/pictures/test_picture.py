"""What draw() leaves as it was, what it refuses, and files."""

import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import refdist as tf
from tests.interrupts import boundaries, interrupted
from tests.refdist.pictures.programs import Trained, mirrored
from tests.thorough import examples

ROOT = pathlib.Path(__file__).parents[3]
ctx = tf.distribute.get_replica_context


def test_variables_have_their_values_again_after_a_run_was_drawn():
    trained = Trained(mirrored(2))
    trained.strategy.run(trained.step, (trained.batch(),))
    before = [[copy.numpy().tolist() for copy in one.values] for one in (trained.weight, trained.total)]

    trained.draw()

    assert before == [[copy.numpy().tolist() for copy in one.values] for one in (trained.weight, trained.total)]
    trained.strategy.run(trained.step, (trained.batch(),))
    assert 24.0 == trained.total.numpy()


def test_a_run_that_was_drawn_has_drawn_no_random_numbers():
    strategy = mirrored(2)
    tf.random.set_seed(1)
    expected = [tf.random.normal([2]).numpy().tolist(), np.array(tf.random.uniform([2])).tolist()]
    tf.random.set_seed(1)

    first = tf.random.normal([2]).numpy().tolist()
    strategy.draw(lambda: tf.random.uniform([3]))

    assert expected == [first, np.array(tf.random.uniform([2])).tolist()]


def test_a_variable_made_in_a_run_that_was_drawn_keeps_its_first_value():
    strategy, made = mirrored(2), []

    def step():
        if not made:
            made.append(tf.Variable(tf.ones([3]), name="late", aggregation=tf.VariableAggregation.SUM))
        made[0].assign_add(tf.ones([3]))

    picture = strategy.draw(step)

    assert "makes 'late'" in str(picture)
    assert [1.0, 1.0, 1.0] == made[0].numpy().tolist()
    strategy.run(step)
    assert [3.0, 3.0, 3.0] == made[0].numpy().tolist()


@pytest.mark.parametrize("count", [1, 2])
def test_an_error_leaves_as_from_run_and_undoes_the_writes(count):
    trained = Trained(mirrored(count))

    def step():
        trained.weight.assign_add(tf.ones([2, 3]))
        raise ZeroDivisionError("halfway")

    with pytest.raises(ZeroDivisionError) as ran:
        trained.strategy.run(step)
    trained.weight.assign(tf.ones([2, 3]))
    with pytest.raises(ZeroDivisionError) as drawn:
        trained.strategy.draw(step)

    assert [1.0] * 6 == trained.weight.numpy().ravel().tolist()
    assert getattr(ran.value, "__notes__", []) == getattr(drawn.value, "__notes__", [])
    assert not tf.config.functions_run_eagerly()


def test_an_interrupt_leaves_everything_as_it_was():
    trained = Trained(mirrored(2))
    batch = trained.batch()

    def draw():
        trained.strategy.draw(trained.step, (batch,))

    draw()
    last = boundaries(draw)
    # Where the values are put aside, where they are put back, and some places between.
    for number in sorted({*range(68, 82), *range(82, last, examples(199, 7)), *range(last - 180, last - 120)}):
        interrupted(draw, number)

        assert 1.0 == trained.weight.numpy().min() == trained.weight.numpy().max(), number
        assert 0.0 == trained.total.numpy(), number
        assert not tf.config.functions_run_eagerly(), number


def test_drawing_in_a_replica_is_an_error():
    strategy = mirrored(2)

    with pytest.raises(RuntimeError, match=r"draw\(\) was called in replica 0"):
        strategy.run(strategy.draw)


def test_drawing_in_a_function_is_an_error():
    strategy = mirrored(2)

    with pytest.raises(RuntimeError, match="while a function or a graph is being written"):
        tf.function(lambda: strategy.draw() and None)()


def test_what_cannot_be_called_is_an_error():
    with pytest.raises(TypeError):
        mirrored(2).draw(3)


def test_functions_are_drawn_with_what_is_in_them_and_not_traced():
    strategy, traced = mirrored(2), []

    @tf.function
    def step(x):
        traced.append(tf.executing_eagerly())
        return ctx().all_reduce("mean", x)

    assert "all_reduce MEAN: float32[2], 8 B from each replica" in str(strategy.draw(step, (tf.ones([2]),)))
    assert [True, True] == traced


def test_a_program_that_calls_run_itself_is_drawn_from_outside():
    strategy = mirrored(2)

    def program():
        return strategy.reduce("sum", strategy.run(lambda: tf.ones([4])), axis=None)

    text = str(strategy.draw(program, in_replicas=False))

    assert "One run of program:" in text
    assert "reduce SUM: float32[4], 16 B from each replica" in text


def test_of_two_strategies_the_other_one_is_told():
    first, second = Trained(mirrored(2)), Trained(mirrored(3))

    def program():
        first.strategy.run(first.step, (first.batch(),))
        second.strategy.run(second.step, (second.batch(),))

    text = str(first.strategy.draw(program, in_replicas=False))

    assert 1 == text.count("all_reduce SUM")
    assert "What other strategies do is not drawn." in text
    assert 0.0 == second.total.numpy()


def test_a_journal_that_is_kept_meanwhile_is_not_told_of_what_is_undone():
    trained = Trained(mirrored(2))

    with tf.testing.journal() as journal:
        trained.draw()

    assert [] == list(journal)


@pytest.mark.parametrize("suffix", ["svg", "txt"])
def test_a_picture_is_saved_in_the_form_that_the_name_says(tmp_path, suffix):
    picture = Trained(mirrored(2)).draw()

    picture.save(tmp_path / f"picture.{suffix}")

    expected = picture.to_svg() if suffix == "svg" else f"{picture}\n"
    assert expected == (tmp_path / f"picture.{suffix}").read_text()


def test_the_picture_in_the_documentation_is_what_its_program_draws(tmp_path):
    program = [sys.executable, str(ROOT / "examples/data_parallelism.py"), str(tmp_path / "drawn.svg")]
    told = subprocess.run(program, capture_output=True, text=True, check=True).stdout

    assert (ROOT / "docs/data_parallelism.svg").read_text() == (tmp_path / "drawn.svg").read_text()
    assert told.startswith("MirroredStrategy: 4 replicas")


def test_a_name_that_says_no_form_is_an_error(tmp_path):
    with pytest.raises(ValueError, match=r"expected a name that ends with \.svg or \.txt"):
        mirrored(2).draw().save(tmp_path / "picture.png")


def test_ten_thousand_replicas_make_a_small_picture():
    trained = Trained(mirrored(10_000))
    batch = trained.batch()

    picture = trained.strategy.draw(trained.step, (batch,))
    text, svg = str(picture), picture.to_svg()

    assert "GPU:1 ... GPU:9999" in text
    assert len(svg) < 20_000
    assert len(text) < 5_000
    ElementTree.fromstring(svg)


@pytest.mark.parametrize(
    "strategy", [mirrored(1), mirrored(3), tf.distribute.get_strategy()], ids=["1", "3", "default"]
)
def test_a_strategy_shows_itself_in_notebooks(strategy):
    assert strategy._repr_svg_() == strategy.draw().to_svg()


def test_the_room_is_loaded_by_the_first_picture_only():
    program = """
import sys, refdist as tf
tf.distribute.get_strategy().run(lambda: 1)
print("refdist._core.pictures" in sys.modules)
tf.distribute.get_strategy().draw()
print("refdist._core.pictures" in sys.modules)
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert ["False", "True"] == told.split()
