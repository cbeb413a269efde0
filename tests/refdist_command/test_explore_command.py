import sys

import pytest

from refdist_command.subcommands import main

PROGRAM = """
import sys
import refdist as tf

strategy = tf.distribute.MirroredStrategy()
seen = []


def step():
    seen.append(tf.distribute.get_replica_context().replica_id_in_sync_group)
    return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))


strategy.run(step)
print("replicas came as", seen, *sys.argv[1:])
if "strict" in sys.argv and seen[0] == strategy.num_replicas_in_sync - 1:
    raise SystemExit("the last came first")
"""
MODULE = """
import refdist as tf


def first(strategy):
    came = []
    strategy.run(lambda: came.append(tf.distribute.get_replica_context().replica_id_in_sync_group))
    return came[0]


def raising():
    strategy = tf.distribute.MirroredStrategy()
    came = []

    def step():
        came.append(tf.distribute.get_replica_context().replica_id_in_sync_group)
        assert came[0] == 0, "another came first"

    strategy.run(step)


def wrong(strategy):
    strategy.run(lambda: 1 / 0)


def drawing(strategy):
    return strategy.experimental_local_results(strategy.run(lambda: tf.random.normal([])))


def alone():
    return 1.0


number = 1
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / f"explored_{tmp_path.name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


def explored(*words):
    return main(["explore", "--runs", "20", *words])


def test_a_program_that_does_not_depend_on_the_order_passes_quietly(folder, capsys):
    assert 0 == explored("program.py")
    assert "20 orders of the replicas: no error, and no difference.\n" == capsys.readouterr().out


def test_the_line_of_a_failure_repeats_it_and_shows_what_the_program_prints(folder, capsys):
    assert 1 == explored("--replicas", "3", "program.py", "strict")
    said = capsys.readouterr().out
    line = said.splitlines()[-1].split()
    assert "the last came first" in said
    assert "replicas came as" not in said
    assert ["refdist", "explore", "--replicas", "3", "--seed"] == line[:5]
    assert ["program.py", "strict"] == line[6:]

    assert 1 == main(line[1:])
    said = capsys.readouterr()
    assert "replicas came as [2, " in said.out
    assert "the last came first" in said.err


def test_a_difference_and_an_error_are_told_with_their_seed(folder, capsys):
    module = f"explored_{folder.name}"
    assert 1 == explored(f"{module}:first")
    assert "makes a difference:\n  the returned value\n    in the order of the replicas: 0\n" in capsys.readouterr().out
    assert 0 == explored("--errors-only", f"{module}:first")
    capsys.readouterr()

    assert 1 == explored(f"{module}:raising")
    said = capsys.readouterr().out
    assert "AssertionError: another came first\n  raised in replica" in said
    assert f"at {module}.py:" in said
    assert 1 == main(said.splitlines()[-1].split()[1:])
    assert "Traceback" in capsys.readouterr().err


def test_an_order_that_is_right_says_so_when_it_is_repeated(folder, capsys):
    assert 0 == explored("--seed", "3", "program.py")
    shown, verdict = capsys.readouterr().out.splitlines()

    assert shown.startswith("replicas came as [")
    assert "The order of seed 3: no error, and no difference." == verdict


def test_draws_of_replicas_come_with_what_to_do(folder, capsys):
    assert 1 == explored(f"explored_{folder.name}:drawing")
    assert "tf.random.stateless_normal" in capsys.readouterr().out


def test_a_program_that_fails_by_itself_is_told_so(folder, capsys):
    assert 1 == explored(f"explored_{folder.name}:wrong")
    said = capsys.readouterr().err
    assert "ZeroDivisionError" in said
    assert "Correct that first." in said


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["nothing.py"], ["there is no program nothing.py", "module:function"]),
        (["MODULE:nothing"], ["was not found"]),
        (["MODULE:number"], ["1 is not a callable"]),
        (["MODULE:first", "x"], ["got x with a function", "Leave them out", "options of refdist explore stand before"]),
        (["MODULE:alone"], ["strategy of at least two"]),
        (["--replicas", "1", "program.py"], ["got '1'", "at least 2", "Write for example 4"]),
    ],
)
def test_what_cannot_be_explored_is_refused(folder, capsys, words, parts):
    try:
        code = explored(*[word.replace("MODULE", f"explored_{folder.name}") for word in words])
    except SystemExit as left:  # as argparse refuses
        code = left.code

    assert 2 == code
    said = capsys.readouterr().err
    assert all(part in said for part in parts), said
