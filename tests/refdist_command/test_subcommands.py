import argparse
import os
import subprocess
import sys

import pytest

import refdist
from refdist_command.subcommands import COMMANDS, main, parser
from tests.packages import ROOT

HEAVY = ("numpy", "refdist", "simulator", "conformance", "refdist_bench", "jax", "numba", "rich")


def parsers(top):
    """A parser and all those below it."""
    yield top
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from parsers(below)


def left(*words):
    """The exit code with which argparse leaves."""
    with pytest.raises(SystemExit) as exit:
        main(words)
    return exit.value.code


def test_all_help_fits_into_a_terminal_of_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    every = list(parsers(parser()))

    assert len(every) > 20
    for one in every:
        assert max(map(len, one.format_help().splitlines())) <= 80, one.prog


def test_each_command_has_examples_that_its_own_parser_takes():
    top = parser()
    for name in COMMANDS:
        (group,) = [action for action in top._actions if isinstance(action, argparse._SubParsersAction)]
        examples = group.choices[name].description.partition("examples:\n")[2].partition("\n\n")[0]
        lines = examples.replace("\n" + " " * 20, " ").splitlines()

        assert lines, name
        for line in lines:
            words = line.split()
            assert ["refdist", name] == words[:2]
            if "my_" not in line:
                top.parse_args(words[1:])


@pytest.mark.parametrize(
    "words", [["--version"], ["--help"], ["predict", "--help"], ["explore", "--help"], ["launch", "--help"]]
)
def test_asking_about_the_command_loads_nothing_of_what_it_does(words):
    program = (
        f"import sys\nfrom refdist_command.subcommands import main\ntry:\n    main({words!r})\nexcept SystemExit as left:\n"
        f"    assert not left.code\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.splitlines()[-1]


def test_a_module_is_the_same_as_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "refdist", "--version"], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert f"refdist {refdist.__version__}\n" == done.stdout


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        (["predct"], "Write refdist predict."),
        (["nosuch"], "`refdist --help` says what each of them does."),
        (["wrong"], "`refdist --help` says"),
        ([], "Write for example: refdist predict --help"),
    ],
)
def test_a_wrong_word_is_refused_with_what_to_write(capsys, words, remedy):
    assert 2 == left(*words)
    said = capsys.readouterr().err
    assert "expected one of conformance, launch, bench, explore, predict, validate" in said
    assert remedy in said


def test_help_names_all_commands(capsys):
    assert 0 == left("--help")
    shown = capsys.readouterr().out
    assert all(f"\n    {name} " in shown for name in COMMANDS)


def test_conformance_passes_everything_on(capsys, tmp_path):
    assert 0 == main(["conformance", "list", "--area", "LOCAL"])
    assert "LOCAL-10" in capsys.readouterr().out
    assert 2 == main(["conformance", "run", "--impl", "nothing"])
    assert "expected one of host, simulator" in capsys.readouterr().err


def test_validate_is_that_of_the_simulator(capsys, tmp_path):
    assert 2 == main(["validate", "--folder", str(tmp_path)])
    assert "There are no measurements" in capsys.readouterr().err


def test_bash_completes_commands_and_options(capsys):
    pytest.importorskip("shtab")
    assert 0 == main(["--print-completion", "bash"])
    script = capsys.readouterr().out
    ask = 'COMP_WORDS=(refdist predict all_reduce --gpus); COMP_CWORD=3; _shtab_refdist; echo "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)

    assert "--gpus-per-process" == done.stdout.strip()


RUN = [sys.executable, "-c", "import sys; from refdist_command.subcommands import main; sys.exit(main())"]


@pytest.mark.parametrize(
    "words",
    [["--help"], ["validate"], ["predict", "all_reduce", "--cluster", "dgx_h100", "--hosts", "8", "--size", "1MiB"]],
    ids=lambda words: words[0],
)
def test_output_that_nobody_reads_any_further_ends_a_command_in_silence(words):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*RUN, *words], stdout=writer, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    os.close(writer)

    assert (141 if words[0] != "--help" else 0, "") == (done.returncode, done.stderr)


def test_a_broken_pipe_of_something_else_is_an_error(monkeypatch):
    def execute(options):
        raise BrokenPipeError("a socket")

    monkeypatch.setattr("simulator.validate.perform", execute)
    with pytest.raises(BrokenPipeError, match="a socket"):
        main(["validate"])


def test_a_command_that_is_cancelled_says_so_in_one_line(monkeypatch, capsys):
    def execute(options):
        raise KeyboardInterrupt

    monkeypatch.setattr("simulator.validate.perform", execute)

    assert 130 == main(["validate"])
    assert "refdist validate: cancelled.\n" == capsys.readouterr().err
