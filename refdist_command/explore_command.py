"""The options of `refdist explore`: a program in many orders of its replicas."""

import argparse
import contextlib
import inspect
import io
import os
import runpy
import shlex
import sys
import traceback
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

from refdist_command.named_object import NotFound, named_object
from refdist_command.refusal import Refused
from refdist_command.shadows import look_in

if TYPE_CHECKING:
    from refdist._core.testing.exploring import Exploration

DESCRIPTION = """\
Run a program on the simulator in many orders of its replicas. Between two
meetings replicas do not wait for each other, so none may depend on who goes
first. Here they go on in another order after each meeting, drawn from a seed,
virtual workers too. The first seed is told with which the program fails, or
computes something else than in the order of the replicas: a write to a
variable, a value combined over replicas, or a number that it returns. So is
the line that runs it once more.

The program is a file, which chooses its own backend or gets --replicas GPUs,
or module:function, a function that takes a strategy or nothing. Functions of
tf.function run in Python. Random numbers have the same seed in each run.

examples:
  refdist explore train.py
  refdist explore --replicas 2 --runs 1000 train.py --epochs 1
  refdist explore --errors-only my_module:program
  refdist explore --seed 17 my_module:program

Exit codes: 0 if all orders agree; 1 if one does not, or the program fails by
itself; 2 for a wrong command line, or a program without several replicas.
"""
_DRAWS = (
    "The replicas draw random numbers, one after the other from one source, so that their order decides who gets which. Draw them "
    "from the number of the replica (tf.random.stateless_normal), or look for errors alone with --errors-only."
)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `refdist explore` can be told."""
    parser.add_argument("program", metavar="PROGRAM", help="a Python file, or module:function")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...", help="what a file is called with")
    parser.add_argument("--replicas", type=_whole(2), default=4, metavar="N", help="virtual GPUs (default: 4)")
    parser.add_argument("--runs", type=_whole(1), default=100, metavar="N", help="how many orders (default: 100)")
    parser.add_argument("--from", dest="start", type=_whole(0), default=0, metavar="SEED", help="begin with this seed")
    parser.add_argument("--seed", type=_whole(0), metavar="SEED", help="only this order, with what the program prints")
    parser.add_argument("--errors-only", action="store_true", help="compare nothing; only what is raised counts")


def execute(options: argparse.Namespace) -> int:
    """Explore, say what was found, and return the exit code."""
    from refdist._core.testing.exploring import NothingToExplore, NotRepeatable, explore

    program = _program(options)
    seeds = range(options.start, options.start + options.runs) if options.seed is None else [options.seed]
    try:
        found = explore(program, seeds, errors_only=options.errors_only)
    except (NothingToExplore, NotRepeatable, NotFound) as error:
        raise Refused(str(error)) from error
    except Exception as error:
        traceback.print_exception(error)
        print(
            "refdist explore: the program fails in the order of its replicas, too. Correct that first.", file=sys.stderr
        )
        return 1
    return _told(options, found)


def _told(options: argparse.Namespace, exploration: "Exploration") -> int:
    found = exploration.found
    if found is None:
        orders = (
            f"{exploration.orders} orders of the replicas"
            if options.seed is None
            else f"The order of seed {options.seed}"
        )
        print(f"{orders}: no error{'' if options.errors_only else ', and no difference'}.")
        return 0
    if found.error is not None and options.seed is not None:
        traceback.print_exception(found.error)
        return 1
    print(f"Seed {found.seed} {'fails' if found.error is not None else 'makes a difference'}:")
    print(_indented(found.text if found.error is None else _short(found.error)))
    if found.draws:
        print(_DRAWS)
    if options.seed is None:
        print(f"Run it once more, with what the program prints:\n  {_replay(options, found.seed)}")
    return 1


def _program(options: argparse.Namespace) -> Callable[[], Any]:
    """Return what runs the program from its beginning, on devices of its own."""
    import refdist as tf
    from refdist._core.base.where import HERE
    from refdist._core.testing.exploring import DrawnTurns

    run = _function(options) if ":" in options.program else _file(options)

    def program() -> Any:
        tf.use("simulator", gpus=options.replicas)
        shown = options.seed is not None and isinstance(HERE.get().turns, DrawnTurns)
        with contextlib.nullcontext() if shown else contextlib.redirect_stdout(io.StringIO()):
            try:
                return run()
            except SystemExit as left:
                if left.code not in (None, 0):
                    raise LeftByExit(f"The program left by sys.exit({left.code!r}).") from left
                return None

    return program


class LeftByExit(Exception):
    """A program has ended by saying that it failed."""


def _function(options: argparse.Namespace) -> Callable[[], Any]:
    import refdist as tf

    if options.arguments:
        raise Refused(
            f"got {' '.join(options.arguments)} with a function; expected arguments of a file only. Leave them out; options of "
            f"refdist explore stand before the function."
        )
    try:
        found = named_object(
            options.program, what="which takes a strategy or nothing", example="refdist explore my_module:program"
        )
        takes = len(inspect.signature(found).parameters)
    except (NotFound, TypeError, ValueError) as error:
        raise Refused(str(error)) from error
    return (lambda: found(tf.distribute.MirroredStrategy())) if takes else found


def _file(options: argparse.Namespace) -> Callable[[], Any]:
    path = options.program
    if not os.path.isfile(path):
        raise Refused(
            f"there is no program {path} in {os.getcwd()}; expected a Python file, or module:function. Check the path."
        )

    def run() -> None:
        with _called_as([path, *options.arguments]):
            runpy.run_path(path, run_name="__main__")

    return run


@contextlib.contextmanager
def _called_as(words: list[str]) -> Generator[None]:
    """Let a program find its arguments, and the modules beside it, as if Python had been called with it."""
    before = sys.argv, sys.path[:]
    try:
        look_in(os.path.dirname(os.path.abspath(words[0])))
        sys.argv = words
        yield
    finally:
        sys.argv, sys.path[:] = before


def _short(error: BaseException) -> str:
    """An error with its notes, and the user's line from which it came."""
    from refdist._core.base.call_sites import of_user

    frames = [one for one in traceback.extract_tb(error.__traceback__) if of_user(one.filename)]
    place = f"\nat {os.path.relpath(frames[-1].filename)}:{frames[-1].lineno}, in {frames[-1].name}" if frames else ""
    return "".join(traceback.format_exception_only(error)).rstrip() + place


def _replay(options: argparse.Namespace, seed: int) -> str:
    words = ["refdist", "explore", "--replicas", str(options.replicas), "--seed", str(seed)]
    return shlex.join([*words, *["--errors-only"] * options.errors_only, options.program, *options.arguments])


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _whole(least: int) -> Callable[[str], int]:
    """Return a reader of whole numbers."""

    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(
                f"got {text!r}; expected a whole number of at least {least}. Write for example {max(least, 4)}."
            )
        return int(text)

    return read
