"""How a case is measured: its sides take turns, so that what else the machine does slows all of them."""

import gc
import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from refdist_bench.benchmark_case import Case, Side, Timer
from refdist_bench.saved_run import Measured, Result

ROUND_SECONDS = 4e-3
"""How long a round of a side takes at least, so that the clock and the turn itself do not count."""
MOST_CALLS, MOST_ROUNDS = 5000, 300
TOLERANCE = 1e-2
"""By how much, relatively, numbers that sides return in their first call may differ."""


def _go_on() -> None:
    """Raise nothing."""


def measure(
    case: Case, seconds: float, *, more_sides: Sequence[Side] = (), obey: Callable[[], None] = _go_on
) -> Result:
    """Measure all sides of a case for about that many seconds, in turns; what goes wrong becomes the result's problem.

    Args:
        obey: is called between rounds, and raises where nobody wants to wait for the rest.
    """
    try:
        if case.together is not None:
            found = [Measured(one.who, one.name, None, tuple(rounds)) for one, rounds in case.together(seconds).items()]
            return Result.of(case, found)
        sides, parts = (*case.sides, *more_sides), case.makings
        makings = [_in_turns(sides if part % 2 == 0 else sides[::-1], seconds / parts, obey) for part in range(parts)]
    except Exception as error:  # one case that does not work must not take the others' figures along
        obey()  # what a process of its own has died of, too
        return Result.of(case, problem=f"{type(error).__name__}: {error}")
    found = [_joined([making[side] for making, _ in makings]) for side in sides]
    return Result.of(case, found, problem=next((problem for _, problem in makings if problem), None))


def _joined(same: Sequence[Measured]) -> Measured:
    rounds = itertools.chain.from_iterable(one.rounds for one in same)
    return Measured(same[0].who, same[0].name, same[0].first_seconds, tuple(rounds))


def _in_turns(
    sides: Sequence[Side], seconds: float, obey: Callable[[], None]
) -> tuple[dict[Side, Measured], str | None]:
    gc.collect()  # what other cases have left
    timers: list[Timer] = []
    try:
        firsts: list[tuple[float, Any]] = []
        for side in sides:
            timers.append(side.start())
            firsts.append(timers[-1].first())  # before the next one is made, which may need the memory
            obey()
        estimates = [_estimate(timer, first) for timer, (first, _) in zip(timers, firsts, strict=True)]
        calls = [1 if timer.cold else calls_of_a_round(one) for timer, one in zip(timers, estimates, strict=True)]
        rounds = rounds_within(seconds, sum(one * count for one, count in zip(estimates, calls, strict=True)))
        taken = _taken(timers, calls, rounds, [first for first, _ in firsts], obey)
    finally:
        for timer in timers:
            timer.close()
    found = {
        side: Measured(side.who, side.name, None if timer.cold else first, tuple(one))
        for side, timer, (first, _), one in zip(sides, timers, firsts, taken, strict=True)
    }
    return found, disagreement({side.name: value for side, (_, value) in zip(sides, firsts, strict=True)})


def _estimate(timer: Timer, first: float) -> float:
    """Return about how long a call takes once nothing is compiled any more; a second call may compile, too."""
    if timer.cold:
        return first
    once = timer.seconds(1)
    if once > 1.0:
        once = timer.seconds(1)
    if once > 1.0:
        return once
    timer.seconds(1)
    return timer.seconds(calls_of_a_round(once)) / calls_of_a_round(once)


def _taken(
    timers: Sequence[Timer], calls: Sequence[int], rounds: int, firsts: Sequence[float], obey: Callable[[], None]
) -> list[list[float]]:
    """Return the seconds of a call of each side, round by round."""
    taken: list[list[float]] = [[first] if timer.cold else [] for timer, first in zip(timers, firsts, strict=True)]
    order, drawn = list(range(len(timers))), random.Random(0)
    for turn in range(rounds):
        drawn.shuffle(
            order
        )  # who always came just after the same side would always find the caches as that leaves them
        for index in order:
            if not (timers[index].cold and turn == 0):  # its first call was such a round
                taken[index].append(timers[index].seconds(calls[index]) / calls[index])
        obey()
    return taken


def calls_of_a_round(seconds: float) -> int:
    """Return how many calls of that many seconds make a round.

    >>> calls_of_a_round(1e-3), calls_of_a_round(1.0), calls_of_a_round(0.0)
    (4, 1, 5000)
    """
    return max(1, min(MOST_CALLS, math.ceil(ROUND_SECONDS / max(seconds, 1e-9))))


def rounds_within(seconds: float, of_a_round: float) -> int:
    """Return how many rounds there are time for: at least 5, and fewer only where one takes many seconds.

    >>> rounds_within(1.0, 0.01), rounds_within(1.0, 0.5), rounds_within(1.0, 2.0), rounds_within(1.0, 20.0)
    (100, 5, 3, 1)
    """
    least = 5 if of_a_round < 1.0 else 3 if of_a_round < 4.0 else 2 if of_a_round < 12.0 else 1
    return max(least, min(MOST_ROUNDS, int(seconds / max(of_a_round, 1e-9))))


def disagreement(values: Mapping[str, Any]) -> str | None:
    """Say which sides return another number than the first one does; None where all are equal."""
    numbers = {name: float(value) for name, value in values.items() if isinstance(value, (int, float))}
    expected = next(iter(numbers.values()), 0.0)
    others = [name for name, value in numbers.items() if not math.isclose(value, expected, rel_tol=TOLERANCE)]
    if not others:
        return None
    found = ", ".join(f"{name} {value:.6g}" for name, value in numbers.items())
    return f"The sides compute different numbers in their first step ({found}), so their times are no comparison."
