"""Whether a program computes the same in whatever order its replicas go on, and if not, in which order it does not."""

import dataclasses
import itertools
import random
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from refdist._core.base.entropy import drawn
from refdist._core.base.where import entered
from refdist._core.testing.facts import Fact, facts_of, returned_facts
from refdist._core.testing.recorded_journal import journal, users_place
from refdist._core.testing.same_on import all_seeded


class DrawnTurns:
    """An order for the replicas after each meeting, drawn anew each time from a seed.

    >>> turns = DrawnTurns(7)
    >>> list(turns(4)), list(turns(4))
    ([0, 2, 1, 3], [3, 1, 2, 0])
    """

    def __init__(self, seed: int) -> None:
        self._numbers = np.random.default_rng(seed)

    def __call__(self, count: int) -> Sequence[int]:
        return self._numbers.permutation(count).tolist()


@dataclasses.dataclass(frozen=True, eq=False)
class Difference:
    """A seed in whose order a program raises an error, or computes something else than in the replicas' own order."""

    seed: int
    text: str  # what differs; empty where there is an error
    error: Exception | None = None
    draws: bool = False  # whether the program draws random numbers, all from one source


@dataclasses.dataclass(frozen=True, eq=False)
class Exploration:
    """What was found out about a program."""

    orders: int  # how many were tried
    found: Difference | None


def explore(program: Callable[[], Any], seeds: Sequence[int], *, errors_only: bool = False) -> Exploration:
    """Run a program once in the order of its replicas, and once for each seed in another one, up to the first that differs.

    Every write to a variable, every value combined over replicas and every number returned is compared, bit by bit. What a program
    raises in the order of the replicas themselves is left to the caller.

    Args:
        errors_only: compare nothing; only what the program raises counts.

    >>> import refdist as tf
    >>> def program():
    ...     arrived = []
    ...     with tf.using("simulator", gpus=4):
    ...         strategy = tf.distribute.MirroredStrategy()
    ...         strategy.run(lambda: arrived.append(tf.distribute.get_replica_context().replica_id_in_sync_group))
    ...     return arrived
    >>> print(explore(program, range(10)).found.text)
    the returned value[0]
      in the order of the replicas: 0
      in the order of seed 0: 2
    """
    own = _OwnTurns()
    first = _run(program, own)
    if not own.several:
        raise NothingToExplore(
            "The program ran nothing on several replicas or workers; expected strategy.run() on a strategy of at least two. Let it "
            "make its strategy from the devices that it is given."
        )
    again = None if errors_only else _differing(first.facts, _run(program, own).facts)
    if again is not None:
        raise NotRepeatable(
            f"The program is not repeatable: two runs in the order of the replicas differ, first in {again[0]}. Expected equal "
            f"runs. Make its data and its state inside of it, and take random numbers from tf.random, numpy.random or random, "
            f"which are seeded for it."
        )
    for orders, seed in enumerate(seeds, 1):
        try:
            run = _run(program, DrawnTurns(seed))
        except Exception as error:
            return Exploration(orders, Difference(seed, "", error))
        differing = None if errors_only else _differing(first.facts, run.facts)
        if differing is not None:
            what, one, other = differing
            text = f"{what}\n  in the order of the replicas: {one}\n  in the order of seed {seed}: {other}"
            return Exploration(orders, Difference(seed, text, draws=first.draws))
    return Exploration(len(seeds), None)


class NotRepeatable(Exception):
    """A program computes something else each time that it runs."""


class NothingToExplore(Exception):
    """A program has no replicas that could go on in another order."""


class _OwnTurns:
    """The order of the replicas themselves; remembers whether there were several."""

    several = False

    def __call__(self, count: int) -> Sequence[int]:
        self.several |= count > 1
        return range(count)


@dataclasses.dataclass(frozen=True, eq=False)
class _Run:
    """What a program did."""

    facts: dict[Hashable, Fact]
    draws: bool


def _run(program: Callable[[], Any], turns: Callable[[int], Sequence[int]]) -> _Run:
    with all_seeded(0), journal() as book, entered(turns=turns):
        before = _sources()
        returned = program()
        facts = {fact.key: fact for fact in (*facts_of(book), *returned_facts(returned, 0))}
        return _Run(facts, before != _sources())


def _sources() -> Hashable:
    """What is equal as long as nobody draws a random number."""
    _, words, place, *_ = np.random.get_state(legacy=True)
    return drawn(), random.getstate(), np.asarray(words).tobytes(), place


def _differing(ones: dict[Hashable, Fact], others: dict[Hashable, Fact]) -> tuple[str, str, str] | None:
    """What differs first, and its value on both sides; None if nothing does."""
    for key, one in ones.items():
        other = others.get(key)
        if other is None or not _same(one, other):
            return _what(one), _shown(one), "nothing" if other is None else _shown(other)
    for key, other in others.items():
        if key not in ones:
            return _what(other), "nothing", _shown(other)
    return None


def _same(one: Fact, other: Fact) -> bool:
    pairs = itertools.zip_longest((one.value, *one.parts), (other.value, *other.parts))
    return all(a is not None and b is not None and _equal(a, b) for a, b in pairs)


def _equal(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    return a.dtype == b.dtype and a.shape == b.shape and (a.tobytes() == b.tobytes() or np.array_equal(a, b))


def _what(fact: Fact) -> str:
    place = users_place(fact.site) if fact.site else None
    named = f"the update of {fact.what!r} by {fact.verb}" if fact.kind == "write" else fact.what
    return f"{named}{f' at {place}' if place is not None else ''}"


def _shown(fact: Fact) -> str:
    values = fact.parts or fact.brought if fact.kind != "write" else ()
    if values:
        return ", ".join(np.array2string(one, precision=6, threshold=6, separator=", ") for one in values[:8])
    return np.array2string(fact.value, precision=9, threshold=6, separator=", ")
