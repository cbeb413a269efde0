"""The options of `refdist bench`; what measures is a package of its own, which is loaded when it is asked for."""

import argparse
import re

from refdist_command.refusal import Refused
from refdist_command.writable_file import writable_file

DESCRIPTION = """\
Measure how long refdist takes on the devices that JAX finds (a machine that
has only processors plays several), beside the same written by hand for JAX, by
TensorFlow where --peer names an interpreter that has it, and beside the limit
of the machine. All sides of a case take turns in one process. Times are
medians, results waited for; compilation is a number of its own.

A step of your own:

    refdist bench my_module:step --replicas 1,2,4

`step` is a function that takes a strategy and returns a function without
arguments which does one step; or a pair of that and the number of items (rows,
tokens) that a step handles:

    def step(strategy):
        with strategy.scope():
            weight = tf.Variable(tf.zeros([8, 1]))
        batches = strategy.experimental_distribute_dataset(dataset)
        batch = next(iter(batches))
        run = lambda: strategy.run(replica_step, args=(batch, weight))
        return tf.function(run), 256

It is measured for each number of replicas, on the devices and on the
simulator. Efficiency: "strong" where the items of a step stay the same, so
that n replicas should take 1/n of the time; "weak" where they grow with the
replicas, so that they should take the same time.

examples:
  refdist bench --quick
  refdist bench -k staged --peer tensorflow=venv/bin/python
  refdist bench --json run.json --html run.html
  refdist bench --compare run.json --fail-above 1.1

Exit codes: 0; 1 if a case became slower than --fail-above allows, or could not
be measured; 2 for a wrong command line; 130 after Ctrl-C, which shows and saves
what was measured before.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `refdist bench` can be told."""
    parser.add_argument("step", nargs="?", metavar="module:step", help="a step of your own, instead of the cases")
    parser.add_argument(
        "-k",
        dest="pattern",
        type=_pattern,
        metavar="TEXT",
        help="only cases whose name has this (a regular expression)",
    )
    parser.add_argument("--list", action="store_true", help="print the names of the cases, and measure nothing")
    parser.add_argument(
        "--quick", action="store_true", help="fewer cases and rounds: about two minutes, and less exact"
    )
    parser.add_argument("--devices", type=_count, metavar="N", help="use N devices at most; processors play so many")
    parser.add_argument("--replicas", type=_counts, metavar="N,N", help="the numbers of replicas (1,2,4 on devices)")
    parser.add_argument(
        "--backend", type=_backends, default=("jax", "simulator"), metavar="NAME,NAME", help="jax, simulator or both"
    )
    parser.add_argument("--peer", type=_peer, metavar="tensorflow=PYTHON", help="a Python that has TensorFlow")
    parser.add_argument("--json", type=writable_file, metavar="FILE", help="save the run, with all rounds of all sides")
    parser.add_argument(
        "--html", type=writable_file, metavar="FILE", help="draw the run on one page that needs nothing else"
    )
    parser.add_argument("--markdown", action="store_true", help="print the table of all cases for a document")
    parser.add_argument("--from", dest="saved", metavar="RUN.json", help="measure nothing: show a saved run")
    parser.add_argument(
        "--trend", nargs="+", default=[], metavar="RUN.json", help="earlier runs, or folders, for --html"
    )
    parser.add_argument("--compare", metavar="RUN.json", help="say what became slower since a saved run")
    parser.add_argument(
        "--fail-above", type=_factor, metavar="1.1", help="with --compare: exit 1 if a case is slower by this factor"
    )


def execute(options: argparse.Namespace) -> int:
    """Measure as the options say, and return the exit code."""
    from refdist._core.base.extras import MissingExtra, require
    from refdist_bench.command import CommandRefused, perform

    try:
        require("jax", "numba", by="refdist bench")
        return perform(options)
    except (CommandRefused, MissingExtra) as error:
        raise Refused(str(error)) from error


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a whole number of at least 1. Write for example 4.")
    return int(text)


def _counts(text: str) -> tuple[int, ...]:
    return tuple(sorted({_count(one.strip()) for one in text.split(",")}))


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(
            f"got {text!r} ({error}); expected a regular expression. Write a backslash before brackets that are meant as such."
        ) from error
    return text


def _backends(text: str) -> tuple[str, ...]:
    names = tuple(one.strip() for one in text.split(","))
    if not set(names) <= {"jax", "simulator"}:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected jax, simulator, or both. Write for example jax.")
    return names


def _peer(text: str) -> str:
    name, _, python = text.partition("=")
    if name != "tensorflow" or not python:
        raise argparse.ArgumentTypeError(
            f"got {text!r}; expected tensorflow= and an interpreter. Write for example tensorflow=venv/bin/python."
        )
    return python


def _factor(text: str) -> float:
    try:
        factor = float(text)
    except ValueError:
        factor = 0.0
    if not 1 <= factor < float("inf"):
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a factor of at least 1. Write for example 1.1.")
    return factor
