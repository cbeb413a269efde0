"""Whether a program computes the same on any number of replicas, and if not, where it begins to differ and what that means."""

import contextlib
import dataclasses
import fnmatch
import importlib
import random
import sys
from collections.abc import Callable, Generator, Hashable, Sequence
from typing import Any

import numpy as np

from refdist._core.backends.choosing import using
from refdist._core.base import nest
from refdist._core.base.call_sites import Place, Site
from refdist._core.base.entropy import drawn, seeded
from refdist._core.base.jax_facts import loaded
from refdist._core.strategies.mirrored import MirroredStrategy
from refdist._core.testing.arguments_of_same_on import DEVICES, required_counts
from refdist._core.testing.factors import Factor, Limits, agree, factor_of
from refdist._core.testing.facts import Fact, facts_of, returned_facts
from refdist._core.testing.meanings import STATISTICS, cancels, meaning
from refdist._core.testing.recorded_journal import journal, users_place

__tracebackhide__ = True  # pytest shows the test that asked, and not these frames


class ReplicasDiffer(AssertionError):
    """A program computes something else on another number of replicas."""

    __module__ = f"{__name__.partition('.')[0]}.testing"  # under which users know it, and reports print it

    def __init__(self, text: str, first: "Difference", others: "Sequence[Difference]") -> None:
        super().__init__(text)
        self.first, self.others = first, tuple(others)  # where it begins, and what else differs, in order
        self.kind, self.what, self.place = first.kind, first.what, first.place
        self.factor, self.meaning = first.factor, first.meaning


@dataclasses.dataclass(frozen=True, eq=False, slots=True)
class Difference:
    """A write, a value combined over the replicas, or a returned value that depends on how many replicas there are."""

    kind: str  # write, meeting or return
    what: str  # the variable, the operation, or the part of what was returned
    values: dict[str, Any]  # by what was run, such as '4 replicas'; of a write, what it has added
    factor: Factor  # from the first of them to the last
    factors: dict[str, Factor]
    meaning: str
    site: Site

    @property
    def place(self) -> Place | None:
        """The user's line."""
        return users_place(self.site)

    @property
    def of_one_shape(self) -> bool:
        """Whether the values have one shape on every number of replicas."""
        return len({np.shape(value) for value in self.values.values()}) == 1


@dataclasses.dataclass(frozen=True, eq=False)
class _Run:
    """What a program did on some number of replicas."""

    count: int
    title: str
    facts: dict[Hashable, Fact]
    drawn: Hashable
    returned: Any

    @property
    def draws_with_keras(self) -> bool:
        """Whether layers such as dropout draw: these keep track of it in variables."""
        return any("seed_generator_state" in fact.what for fact in self.facts.values())


def assert_same_on(
    program: Callable[..., Any],
    replicas: Sequence[int] = (1, 2, 4),
    *,
    rtol: float | None = None,
    except_for: Sequence[str] = (),
    strategy: Callable[[list[str]], Any] = MirroredStrategy,
    backend: str = "simulator",
    seed: int = 0,
    staged: bool = False,
    regroup: Any = None,
) -> None:
    """Run a program on several numbers of replicas, and raise unless it computes the same on all of them.

    `program(strategy)` is called for each number, with a new strategy and the same seeds. It reads the same global batches, makes
    its variables, trains and returns what should not depend on the replicas. Every write to a variable and everything returned is
    compared. The error names the first write or reduction that differs, its line, the factor, and what that usually means.

    What is returned by each replica apart (the result of `run`, or a tuple of local results) agrees if the parts, joined in order,
    are what one replica has; numbers also if their sum or mean is. Functions run in Python meanwhile, so that each write has its
    line.

    It cannot see what is wrong on every number of replicas alike, such as a loss that is never divided by anything.

    Args:
        replicas: how many; the others are compared with the first.
        rtol: how closely to agree, relative to the largest element; else it follows from the dtype.
        except_for: names or patterns of variables and of returned values that may depend on the number.
        strategy: makes a strategy, given the names of its devices.
        backend: "simulator", "host" or "jax".
        staged: run it also with functions compiled, and compare what it returns and leaves in its variables.
        regroup: a global batch, a nest of arrays; the program is then called as `program(strategy, batch)`, and a further time
            with the rows in another order, so that each replica gets others.

    >>> import refdist as tf
    >>> def program(strategy):
    ...     with strategy.scope():
    ...         w = tf.Variable(1.0, name="w", aggregation=tf.VariableAggregation.SUM)
    ...     batch = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 3.0, 4.0]).batch(4)
    ...     for x in strategy.experimental_distribute_dataset(batch):
    ...         strategy.run(lambda x: w.assign_add(tf.reduce_sum(x) / 4), args=(x,))
    >>> tf.testing.assert_same_on(program)
    """
    counts = required_counts(program, replicas, rtol, except_for, strategy, backend, regroup)

    def run(count: int, **changes: Any) -> _Run:
        # JAX cannot change the number of its devices, so it has the most from the beginning.
        devices = max(counts) if backend == "jax" else count
        return _run(program, count, strategy, backend, seed, devices=devices, regroup=regroup, **changes)

    modules = len(sys.modules)
    first = run(counts[0])
    _require_useful(first)
    title = f"{_replicas(counts[0])}, once more"
    runs = [first, run(counts[0], title=title)]
    limits = Limits(rtol, runs[0].facts)
    repeated = _differences(runs[:1], runs[1:], limits, ())
    if (
        repeated and len(sys.modules) > modules
    ):  # one that was loaded, such as Keras, may have drawn numbers at its import
        first = dataclasses.replace(runs[1], title=first.title)
        runs = [first, run(counts[0], title=title)]
        limits = Limits(rtol, first.facts)
        repeated = _differences(runs[:1], runs[1:], limits, ())
    if repeated:
        raise AssertionError(
            f"The program is not repeatable: two runs on {_replicas(counts[0])} with the same seeds differ, first in "
            f"{_described(repeated[0])}. Expected equal runs. Make its data and its state inside of the program, and take random "
            f"numbers from tf.random, numpy.random or random, which are seeded for it."
        )
    runs = [first, *(run(count, like=first.returned) for count in counts[1:])]
    _raise_where_different(runs, limits, except_for, f"on {_replicas(counts[0])}")
    _require_matched(runs, except_for)
    if regroup is not None:
        again = run(counts[-1], reordered=True, title=f"{_replicas(counts[-1])}, rows in another order")
        _raise_where_different([runs[-1], again], limits, except_for, "with the rows in order")
    if staged:
        compiled = run(counts[-1], in_python=False, title=f"{_replicas(counts[-1])}, compiled")
        _raise_where_different([_final(runs[-1]), _final(compiled)], limits, except_for, "in Python")


def _run(
    program: Callable[..., Any],
    count: int,
    strategy: Callable[[list[str]], Any],
    backend: str,
    seed: int,
    *,
    devices: int,
    regroup: Any,
    reordered: bool = False,
    in_python: bool = True,
    title: str = "",
    like: Any = None,
) -> _Run:
    kind = DEVICES[backend]
    on_host = _computed_with_numpy() if in_python and backend != "jax" else contextlib.nullcontext()
    counts: dict[str, Any] = {f"{kind.lower()}s": devices}
    with (
        using(backend, **counts),
        all_seeded(seed),
        journal(in_python=in_python) as book,
        on_host,
    ):
        made = strategy([f"{kind}:{number}" for number in range(count)])
        if made.num_replicas_in_sync != count:
            raise ValueError(
                f"assert_same_on() got a function that makes a strategy of {made.num_replicas_in_sync} replicas from the names of "
                f"{count} devices; expected one on each. Pass a class such as tf.distribute.MirroredStrategy, or a function that "
                f"gives it these names."
            )
        given = [] if regroup is None else [_reordered(regroup) if reordered else regroup]
        try:
            returned = program(made, *given)
        except Exception as error:
            error.add_note(f"raised while assert_same_on() ran the program on {title or _replicas(count)}")
            raise
        others = [one for one in book.strategies if one is not made and one.num_replicas_in_sync != count]
        if in_python and (others or not any(one is made for one in book.strategies)):
            what = f"ran on {others[0]!r} instead" if others else "ran nothing on it"
            raise ValueError(
                f"The program was given {made!r}, and {what}; expected it to use the strategy that it is given, because "
                f"assert_same_on() changes the number of its replicas. Take the strategy as a parameter, and make none."
            )
        facts = [*facts_of(book), *returned_facts(returned, count, like=like)]
        return _Run(count, title or _replicas(count), {fact.key: fact for fact in facts}, drawn(), returned)


def _computed_with_numpy() -> contextlib.AbstractContextManager[None]:
    """Keep JAX from compiling a program for each operation of each shape, which takes ten times as long as everything else."""
    if not loaded():
        return contextlib.nullcontext()
    return importlib.import_module("refdist._core.compilers.observing").computed_with_numpy()


@contextlib.contextmanager
def all_seeded(seed: int) -> Generator[None]:
    """Seed the random numbers of refdist, of Python, of numpy and of Keras for a block of code."""
    states = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed)
    keras: Any = sys.modules.get("keras.src.backend.common.global_state")
    if keras is not None:  # what it draws from by default goes on from run to run
        keras.set_global_attribute("global_seed_generator", None)
    try:
        with seeded(seed):
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])


def _reordered(batch: Any) -> Any:
    arrays = nest.flatten(batch)
    order = np.random.default_rng(0).permutation(len(arrays[0]))
    return nest.map_structure(lambda array: np.asarray(array)[order], batch)


def _final(run: _Run) -> _Run:
    """What a program leaves in its variables and returns, whatever happened on the way."""
    last: dict[Hashable, Fact] = {}
    for fact in run.facts.values():
        if fact.kind == "write":
            _, name, _ = fact.key  # pyright: ignore[reportGeneralTypeIssues]
            last["final", name] = dataclasses.replace(fact, key=("final", name), before=None, verb="")
        elif fact.kind == "return":
            last[fact.key] = fact
    return dataclasses.replace(run, facts=last)


def _differences(
    ones: Sequence[_Run], others: Sequence[_Run], limits: Limits, except_for: Sequence[str]
) -> list[Difference]:
    one = ones[0]
    differences: list[Difference] = []
    for key, fact in one.facts.items():
        if _excepted(fact, except_for):
            continue
        found = [(run, run.facts[key]) for run in others if key in run.facts]
        rtol = limits(fact)
        if all(agree(fact, other, rtol, limits.noise(fact)) and not _rounded_away(fact, other) for _, other in found):
            continue
        factors = {run.title: factor_of(fact, other, run.count / one.count, rtol) for run, other in found}
        most = factors[found[-1][0].title]
        pairs = [(one, fact), *found]
        draws = any(run.drawn != one.drawn for run in others) or one.draws_with_keras
        differences.append(
            Difference(
                fact.kind,
                _title(fact),
                {run.title: _change(each) for run, each in pairs},
                most,
                factors,
                meaning([(run.count, each) for run, each in pairs], most, rtol, draws=draws),
                fact.site,
            )
        )
    return [*differences, *_unmatched(one, others, except_for)]


def _rounded_away(fact: Fact, other: Fact) -> bool:
    """Say whether a sum is what rounding has left of large terms, and hence another one."""
    return (cancels(fact) or cancels(other)) and not np.array_equal(fact.value, other.value)


def _unmatched(one: _Run, others: Sequence[_Run], except_for: Sequence[str]) -> list[Difference]:
    """Writes and returned values that only some of the runs have."""
    found: list[Difference] = []
    for run in others:
        for here, there in ((one, run), (run, one)):
            for key, fact in here.facts.items():
                if key in there.facts or fact.kind == "meeting" or _excepted(fact, except_for):
                    continue
                values = {here.title: _change(fact), there.title: "nothing"}
                text = (
                    f"it happens on {here.title} only: the number of steps, or of values, depends on the number of replicas. Give "
                    f"each number of replicas the same global batches"
                )
                none = Factor("other", None)
                found.append(Difference(fact.kind, _title(fact), values, none, {}, text, fact.site))
    return found


def _raise_where_different(runs: Sequence[_Run], limits: Limits, except_for: Sequence[str], reference: str) -> None:
    differences = _differences(runs[:1], runs[1:], limits, except_for)
    wrong = [one for one in differences if one.kind != "meeting"]
    if not wrong:
        return  # what is only combined on the way may depend on the number: that of the replicas, for example
    first = wrong[0]
    # A gather of one number from each replica has as many as there are replicas, so that it says nothing of the program.
    on_the_way = [one for one in differences[: differences.index(first)] if one.of_one_shape]
    alike = [one for one in on_the_way if one.factor.name == first.factor.name]
    begins = (alike or (on_the_way if first.factor.name in ("other", "constant") else []) or [first])[0]
    if begins.factor.name == "other" and any("moving_variance" in one.what for one in wrong):
        begins = dataclasses.replace(begins, meaning=STATISTICS)
    differing = " and ".join(run.title for run in runs[1:])
    lines = [
        f"The program does not compute the same on {differing} as {reference}. It begins with {_described(begins)}:",
        *(f"  {title}: {_short(value)}{_suffix(begins, title)}" for title, value in begins.values.items()),
        f"Usually this means: {begins.meaning}.",
    ]
    rest = [one for one in wrong if one.what != begins.what]
    if rest:
        names = list(dict.fromkeys(one.what for one in rest))
        lines.append(f"It reaches {', '.join(names[:6])}{f' and {len(names) - 6} more' if len(names) > 6 else ''}.")
    if begins.site:
        lines.append("A value that may depend on the number of replicas is left out with except_for=(name,).")
    raise ReplicasDiffer("\n".join(lines), begins, rest)


def _suffix(difference: Difference, title: str) -> str:
    return f"   ({difference.factors[title]})" if title in difference.factors else ""


def _described(difference: Difference) -> str:
    place = difference.place
    return f"{difference.what}{f' at {place}' if place is not None else ''}"


def _title(fact: Fact) -> str:
    if fact.kind != "write":
        return fact.what
    return f"the update of {fact.what!r}{f' by {fact.verb}' if fact.verb else ''}"


def _change(fact: Fact) -> Any:
    return list(fact.parts) if fact.parts and fact.kind == "return" else fact.change


def _short(value: Any) -> str:
    if isinstance(value, (str, list)):
        return value if isinstance(value, str) else f"{', '.join(map(_short, value[:4]))}{', ...' * (len(value) > 4)}"
    if value.dtype.kind in "fc" and value.size > 6:
        first = ", ".join(f"{one:.6g}" for one in value.ravel()[:4])
        return f"[{first}, ...] of shape {value.shape}, norm {np.linalg.norm(value.ravel()):.6g}"
    return np.array2string(value, precision=6, threshold=6, separator=", ")


def _replicas(count: int) -> str:
    return f"{count} replica{'s' * (count != 1)}"


def _excepted(fact: Fact, patterns: Sequence[str]) -> bool:
    names = [fact.what, fact.what.removesuffix(":0"), fact.what.removeprefix("the returned value"), fact.verb]
    keys = [part.strip("'\"") for part in fact.what.replace("]", "").split("[")[1:]] if fact.kind == "return" else []
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns for name in [*names, *keys] if name)


def _require_useful(run: _Run) -> None:
    if not any(fact.kind != "meeting" for fact in run.facts.values()):
        raise ValueError(
            "The program neither wrote a variable nor returned a number; expected something to compare. Return its losses or its "
            "final weights, or make its variables inside of it."
        )


def _require_matched(runs: Sequence[_Run], patterns: Sequence[str]) -> None:
    facts = [fact for run in runs for fact in run.facts.values() if fact.kind != "meeting"]
    for pattern in patterns:
        if not any(_excepted(fact, (pattern,)) for fact in facts):
            names = ", ".join(dict.fromkeys(repr(fact.what) for fact in facts))
            raise ValueError(
                f"assert_same_on() got except_for={pattern!r}, which nothing is called; expected the name of a variable or of a "
                f"returned value, or a pattern. The program has {names}."
            )
