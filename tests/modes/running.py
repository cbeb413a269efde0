"""Programs run by refdist in one of its modes, and what is wrong with what they give."""

import contextlib
import functools
import warnings
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

import numpy as np

import refdist as tf
from refdist._core.base.where import entered
from tests.modes.differences import Mode, departures
from tests.modes.numbers import Raises, Undefined, Value
from tests.modes.oracle import Oracle
from tests.modes.program import Program, array, rendered


class Outcome(NamedTuple):
    """What a program gave: an error, or the results of its calls and what its variables hold afterwards."""

    error: BaseException | None
    calls: tuple[Any, ...] = ()
    copies: tuple[Any, ...] = ()


class Told(Exception):
    """An error that another process raised: the name of its type, and its text."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind, self.text = kind, text

    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"


# What should happen.


def expected(program: Program, mode: Mode, per_worker: int | None = None) -> Outcome | None:
    """What the oracle says; None where there is no one answer."""
    own = departures(mode)
    if mode.workers or any(given.uneven for given in program.inputs):
        own |= departures(mode._replace(how="eager"))  # Python runs what one compiled program cannot hold
    try:
        oracle = Oracle(program, own, per_worker)
        calls = tuple(oracle.call() for _ in range(program.calls))
    except Raises as error:
        return Outcome(error)
    except Undefined:
        return None
    return Outcome(None, calls, tuple(oracle.variables))


# What happens.


@functools.cache
def backend_of(name: str) -> Any:
    """One backend for all programs, with eight devices for replicas."""
    with tf.using(name, **({"cpus": 8} if name == "jax" else {"gpus": 8})) as backend:
        return backend


@functools.cache
def strategy_of(backend: str, kind: str, replicas: int) -> Any:
    """One strategy for all programs that need such a one, so that what is compiled for it is used again."""
    device = "CPU" if backend == "jax" else "GPU"
    names = [f"{device}:{index}" for index in range(replicas)]
    match kind:
        case "mirrored":
            return tf.distribute.MirroredStrategy(names)
        case "central":
            return tf.distribute.experimental.CentralStorageStrategy(names, "CPU:0")
        case "one":
            return tf.distribute.OneDeviceStrategy(names[-1])
        case _:
            return tf.distribute.get_strategy()


def outcomes(programs: Sequence[Program], mode: Mode) -> list[Outcome]:
    """Run programs of one strategy, staged ones as one function, because compiling is what takes time."""
    if mode.how == "eager" or len(programs) == 1:
        return [outcome(program, mode) for program in programs]
    try:
        with _using(mode.backend):
            return run_on(programs, strategy_of(mode.backend, programs[0].strategy, programs[0].replicas), mode.how)
    except Exception:  # of one of them, and nobody knows which
        return [outcome(program, mode) for program in programs]


def outcome(program: Program, mode: Mode) -> Outcome:
    """Run one program alone."""
    try:
        with _using(mode.backend):
            return run_on([program], strategy_of(mode.backend, program.strategy, program.replicas), mode.how)[0]
    except Exception as error:
        return Outcome(error)


def run_on(programs: Sequence[Program], strategy: Any, how: str) -> list[Outcome]:
    """Run programs side by side on one strategy; all of them are called as often as the first."""
    made = [_Made(program, strategy) for program in programs]

    def bodies(*given: Any) -> Any:
        return [one.body(*own) for one, own in zip(made, given, strict=True)]

    def afters(results: Any) -> Any:
        return results, [one.after(*own) for one, own in zip(made, results, strict=True)]

    body = tf.function(bodies) if how == "inside" else bodies

    def called(*given: Any) -> Any:
        return afters(strategy.run(body, args=given))

    run = tf.function(called) if how == "around" else called
    given = [one.inputs() for one in made]
    calls = []
    for _ in range(programs[0].calls):
        results, others = run(*given)
        calls.append([one.seen(*pair) for one, pair in zip(made, zip(results, others, strict=True), strict=True)])
    return [one.outcome([call[index] for call in calls]) for index, one in enumerate(made)]


class _Made:
    """A program whose text has been run, so that its variables are there."""

    def __init__(self, program: Program, strategy: Any) -> None:
        self._program, self._strategy = program, strategy
        names = {"tf": tf, "strategy": strategy, "array": array, "nan": float("nan"), "inf": float("inf")}
        exec(compile(rendered(program), "<program>", "exec"), names)
        self.body, self.after = names["body"], names["after"]
        self._variables = [names[f"v{index}"] for index in range(len(program.variables))]

    def inputs(self) -> list[Any]:
        return [
            self._strategy.experimental_distribute_values_from_function(
                lambda context, one=one: tf.constant(
                    array(one.parts[context.replica_id_in_sync_group], one.dtype, one.row)
                )
            )
            for one in self._program.inputs
        ]

    def seen(self, body: Any, after: Any) -> Any:
        return [self._leaf(leaf) for leaf in body], [self._leaf(leaf) for leaf in after]

    def _leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, tf.distribute.DistributedValues):
            return [np.asarray(part) for part in self._strategy.experimental_local_results(leaf)]
        return np.asarray(leaf)

    def outcome(self, calls: Sequence[Any]) -> Outcome:
        results = self._strategy.experimental_local_results
        copies = tuple([np.asarray(copy) for copy in results(variable)] for variable in self._variables)
        return Outcome(None, tuple(calls), copies)


@contextlib.contextmanager
def _using(backend: str) -> Generator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"), entered(backend=backend_of(backend)):
        warnings.simplefilter("ignore")  # of overflows, of which numpy warns and JAX does not
        yield


def outcomes_of_workers(program: Program, mode: Mode, count: int) -> list[Outcome]:
    """What each of several virtual workers gets, which share the replicas of a program."""
    share = program.replicas // count

    def worker(_: int) -> Outcome:
        return run_on([program], tf.distribute.MultiWorkerMirroredStrategy(), mode.how)[0]

    options = {"cpus": 8} if mode.backend == "jax" else {"gpus": share}
    try:
        with _using(mode.backend), tf.using(mode.backend, **options):
            return tf.cluster.run_workers(worker, count)
    except Exception as error:
        return [Outcome(error)] * count


# What is wrong.


def wrong(should: Outcome, did: Outcome, here: slice = slice(None)) -> str | None:
    """Say in what an outcome differs from the one that it should be; None where it does not.

    Args:
        here: the replicas of the worker whose outcome it is.
    """
    if should.error is not None or did.error is not None:
        if should.error is not None and did.error is not None:
            return None
        return (
            f"should raise ({should.error}), did not"
            if did.error is None
            else f"raised {type(did.error).__name__}: {did.error}"
        )
    for turn, (want, got) in enumerate(zip(should.calls, did.calls, strict=False)):
        for letter, wants, gots in zip("xy", want, got, strict=True):
            for index, (one, other) in enumerate(zip(wants, gots, strict=True)):
                difference = _difference(one, other, here)
                if difference:
                    return f"{letter}{index} of call {turn}: {difference}"
    for index, (one, other) in enumerate(zip(should.copies, did.copies, strict=True)):
        parts = one.copies[here]
        if not one.own and len({copy.tobytes() for copy in other if copy.dtype != object}) > 1:
            return f"the copies of v{index} are not equal: {other}"
        for number, copy in enumerate(other):
            difference = _apart(parts[number], copy, one.slack)
            if difference:
                return f"copy {number} of v{index}: {difference}"
    return None


def _difference(want: Value, got: Any, here: slice) -> str | None:
    parts = want.parts[here]
    bare = want.same or len(parts) == 1
    if bare != isinstance(got, np.ndarray):
        return f"should be {'bare' if bare else 'per-replica'}, is not"
    for number, (part, other) in enumerate(zip(parts, [got] if bare else got, strict=False)):
        apart = _apart(part, other, want.slack)
        if apart:
            return apart if bare else f"replica {number}: {apart}"
    return None


def _apart(want: np.ndarray, got: np.ndarray, slack: float) -> str | None:
    if want.shape != got.shape or want.dtype != got.dtype:
        return f"should be {want.dtype}{want.shape}, is {got.dtype}{got.shape}"
    if want.dtype.kind in "fVc":
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        one, other = want.astype(wide), got.astype(wide)
        with np.errstate(all="ignore"):
            close = (
                (one == other) | (np.isnan(one) & np.isnan(other)) | (np.isfinite(one) & (abs(one - other) <= slack))
            )
    else:
        close = want == got
    return None if np.all(close) else f"should be {want.tolist()} within {slack:.1e}, is {got.tolist()}"
