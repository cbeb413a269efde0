"""Many programs in many modes: which of them are wrong, and the smallest program that still is."""

import dataclasses
import functools
import random as randomness
from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple

from tests.modes.differences import Mode
from tests.modes.generating import COUNTS, program
from tests.modes.program import Program, Step, is_name, printed
from tests.modes.running import Outcome, expected, outcome, outcomes, outcomes_of_workers, wrong

BUNDLE = 24  # programs in one function: more do not save time, and one that raises costs the time of all
FIRST = {  # by backend, and whether there are workers; made_first() has chosen them
    ("simulator", False): (171, 52, 206, 41, 127, 181, 228, 222, 81, 166, 50, 156, 172, 177, 71, 220),
    ("simulator", True): (13, 231, 202, 131, 141, 232, 1, 87, 18, 166, 62, 78, 172, 26, 29, 84, 96),
    ("jax", False): (171, 52, 206, 41, 127, 228, 222, 151, 90, 138, 120, 156, 199, 9, 75, 220),
    ("jax", True): (39, 202, 144, 87, 186, 206, 58, 141, 232, 23, 56, 29, 75, 2, 20, 26, 45),
}
_KINDS = ("mirrored",) * 5 + ("central", "central", "one", "default")


class Disagreement(NamedTuple):
    mode: Mode
    program: Program
    what: str

    def __str__(self) -> str:
        return f"{self.mode}: {self.what}\n{printed(self.program)}"


@functools.lru_cache(5000)
def program_of(seed: int) -> Program:
    """The program of a seed."""
    random = randomness.Random(seed)
    kind = random.choice(_KINDS)
    return program(random, kind, 1 if kind in ("one", "default") else random.choice(COUNTS))


@functools.lru_cache(1000)
def program_of_workers(seed: int, largest_share: int = 2) -> tuple[Program, int]:
    """The program of a seed for several virtual workers, and how many these are."""
    random = randomness.Random(seed)
    count, share = random.choice((1, 2, 3)), random.randint(1, largest_share)
    return program(random, "workers", count * share, share), count


def _program_of_workers_in(mode: Mode, seed: int) -> tuple[Program, int]:
    return program_of_workers(seed, 1 if mode.backend == "jax" else 2)  # a worker on JAX has one host device


def said(seed: int, mode: Mode) -> frozenset[Any]:
    """The verbs, the dtypes and the kinds of variables of a program; nothing if it raises, or has no one answer."""
    one, count = _program_of_workers_in(mode, seed) if mode.workers else (program_of(seed), 1)
    should = expected(one, mode, one.replicas // count if mode.workers else None)
    if should is None or should.error is not None:
        return frozenset()
    verbs = [step.verb for step in (*one.body, *one.after)]
    kinds = [(variable.synchronization, variable.aggregation) for variable in one.variables]
    return frozenset([*verbs, *kinds, *[f"a {given.dtype}" for given in one.inputs]])


def seeds_of(mode: Mode) -> list[int]:
    """All seeds, and first those of the few programs that say everything."""
    first = FIRST["jax" if mode.backend == "jax" else "simulator", mode.workers]
    return [*first, *[seed for seed in range(2400) if seed not in first]]


def made_first(mode: Mode) -> tuple[int, ...]:
    """Choose the first seeds of a staged mode, which answers least, anew: each says most of what was not said before."""
    news = {seed: said(seed, mode) for seed in range(240)}
    first, known = list[int](), frozenset[Any]()
    while known != frozenset[Any]().union(*news.values()):
        first.append(max(news, key=lambda seed: len(news[seed] - known)))
        known |= news[first[-1]]
    return tuple(first)


def fallen(seeds: Iterable[int], mode: Mode) -> Generator[Disagreement]:
    """What is wrong with the programs of some seeds in a mode."""
    if mode.workers:
        return disagreements_of_workers((_program_of_workers_in(mode, seed) for seed in seeds), mode)
    return disagreements(map(program_of, seeds), mode)


def disagreements(programs: Iterable[Program], mode: Mode) -> Generator[Disagreement]:
    """The programs that do not do in a mode what they should."""
    for bundle in _bundles(programs, mode):
        for (one, should), did in zip(bundle, outcomes([one for one, _ in bundle], mode), strict=True):
            what = wrong(should, did)
            if what is not None and len(bundle) > 1:
                what = wrong(should, outcome(one, mode)) or f"beside others, but not alone: {what}"
            if what is not None:
                yield Disagreement(mode, one, what)


def disagreements_of_workers(programs: Iterable[tuple[Program, int]], mode: Mode) -> Generator[Disagreement]:
    """The programs that do not do on several virtual workers what they should."""
    for one, count in programs:
        share = one.replicas // count
        should = expected(one, mode, share)
        if should is None:
            continue
        for worker, did in enumerate(outcomes_of_workers(one, mode, count)):
            what = wrong(should, did, slice(worker * share, (worker + 1) * share))
            if what is not None:
                yield Disagreement(mode, one, f"worker {worker} of {count}: {what}")
                break


def _bundles(programs: Iterable[Program], mode: Mode) -> Generator[list[tuple[Program, Outcome]]]:
    """Programs that can be one function, with what they should do: those that raise, or are uneven, stay alone."""
    waiting: dict[Any, list[tuple[Program, Outcome]]] = {}
    for one in programs:
        should = expected(one, mode)
        if should is None:
            continue
        if not mode.staged or should.error is not None or any(given.uneven for given in one.inputs):
            yield [(one, should)]
            continue
        key = (one.strategy, one.replicas, one.calls)
        bundle = waiting.setdefault(key, [])
        bundle.append((one, should))
        if len(bundle) == BUNDLE:
            yield waiting.pop(key)
    yield from waiting.values()


def smallest(found: Disagreement) -> Disagreement:
    """The same disagreement with as few steps, values and replicas as still show one."""

    def told(smaller: Program) -> str | None:
        should = expected(smaller, found.mode)
        return None if should is None else wrong(should, outcome(smaller, found.mode))

    current = found
    while True:
        for smaller in _smaller(current.program):
            what = _attempted(told, smaller)
            if what is not None and what.split(":")[0].startswith("raised") == current.what.startswith("raised"):
                current = Disagreement(found.mode, smaller, what)
                break
        else:
            return current


def _attempted(told: Callable[[Program], str | None], smaller: Program) -> str | None:
    try:
        return told(smaller)
    except (KeyError, IndexError, AttributeError):  # it uses what is no longer there
        return None


def _smaller(one: Program) -> Generator[Program]:
    if one.calls > 1:
        yield dataclasses.replace(one, calls=1)
    for count in (1, 2, 3):
        if count < one.replicas:
            fewer = tuple(dataclasses.replace(given, parts=given.parts[:count]) for given in one.inputs)
            yield dataclasses.replace(one, replicas=count, inputs=fewer)
    for place in reversed(range(len(one.after))):
        yield dataclasses.replace(one, after=one.after[:place] + one.after[place + 1 :])
    for place in reversed(range(len(one.body))):
        first = len(one.inputs) + sum(step.results for step in one.body[:place])
        moved = _renaming(first, one.body[place].results, "x")
        body = (*one.body[:place], *[_renamed(step, moved) for step in one.body[place + 1 :]])
        yield dataclasses.replace(one, body=body, after=tuple(_renamed(step, moved) for step in one.after))
    for place in range(len(one.variables)):
        moved = _renaming(place, 1, "v")
        yield dataclasses.replace(
            one,
            variables=one.variables[:place] + one.variables[place + 1 :],
            body=tuple(_renamed(step, moved) for step in one.body),
            after=tuple(_renamed(step, moved) for step in one.after),
        )
    for place in range(len(one.inputs)):
        moved = _renaming(place, 1, "x")
        yield dataclasses.replace(
            one,
            inputs=one.inputs[:place] + one.inputs[place + 1 :],
            body=tuple(_renamed(step, moved) for step in one.body),
            after=tuple(_renamed(step, moved) for step in one.after),
        )


def _renaming(first: int, gone: int, letter: str) -> Callable[[str], str]:
    """How names change where some are taken away; those themselves become what no program has."""

    def renamed(name: str) -> str:
        number = int(name[1:])
        if name[0] != letter or number < first:
            return name
        return f"{letter}{number - gone}" if number >= first + gone else f"{letter}999"

    return renamed


def _renamed(step: Step, moved: Callable[[str], str]) -> Step:
    def one(operand: Any) -> Any:
        if is_name(operand):
            return moved(operand)
        if isinstance(operand, dict):
            return {key: one(value) for key, value in operand.items()}
        if isinstance(operand, (list, tuple)):
            return type(operand)(one(value) for value in operand)
        return operand

    return step._replace(operands=tuple(one(operand) for operand in step.operands))
