"""A user's own step: how long it takes on more and more replicas, and how well it scales."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from refdist_bench.bench_table import shown
from refdist_bench.benchmark_case import Case, Unit, Who
from refdist_bench.goals import paired_ratio
from refdist_bench.saved_run import Measured, Result
from refdist_bench.timers import Step, side
from refdist_command.named_object import NotFound, named_object

OWN_STEP = "own step"  # the group of these cases


class UnusableStep(Exception):
    """What a user named is no step."""


def found_step(name: str) -> Any:
    """Return what `module:object` names; modules of the working folder are found, too."""
    what, example = "whose function takes a strategy and returns a step", "refdist bench my_module:step"
    try:
        return named_object(name, what=what, example=example)
    except NotFound as error:
        raise UnusableStep(str(error)) from error


def made_step(found: Any, strategy: Any) -> tuple[Step, float | None]:
    """Return a step for a strategy, and how many items it handles where that was said.

    What was found is a function of a strategy, or a pair of it and the items of a step. It returns the step, which is a function
    without arguments, or a pair of that and the items; one that returns a value is the step itself.
    """
    make, items = found if isinstance(found, tuple) else (found, None)
    if not callable(make):
        raise UnusableStep(
            f"got {make!r}; expected a function that takes a strategy and returns a step. Name such a function."
        )
    with strategy.scope():
        made = make(strategy)
    if isinstance(made, tuple) and len(made) == 2 and callable(made[0]):
        made, items = made
    if made is None:
        raise UnusableStep(
            f"{getattr(make, '__name__', make)}(strategy) returned None; expected a function that does a whole step. Return it; "
            f"or, where this function is the step itself, what it computes, so that it can be waited for."
        )
    if not callable(made):
        return (lambda: make(strategy)), items
    if inspect.signature(made).parameters and _needs_arguments(made):
        raise UnusableStep(
            f"{getattr(make, '__name__', make)}(strategy) returned a function that needs arguments; expected one without, "
            f"which does a whole step. Close over what it needs, such as a batch."
        )
    return made, items


def _needs_arguments(made: Callable[..., Any]) -> bool:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    given = inspect.signature(made).parameters.values()
    return any(one.default is inspect.Parameter.empty and one.kind not in kinds for one in given)


def own_case(name: str, backend: str, counts: Sequence[int], items: dict[int, float | None]) -> Case:
    """Return a case whose sides are the numbers of replicas, so that they take turns; `items` is filled when they start."""
    found = found_step(name)

    def make(replicas: int) -> Step:
        from refdist_bench.devices_at_hand import strategy_on, waited

        step, items[replicas] = made_step(found, strategy_on(backend, replicas))

        def timed() -> None:
            waited(step())

        return timed

    return Case(
        name=f"{name} on {backend}",
        series=f"{name} on {backend}",
        group=OWN_STEP,
        backend=backend,
        sides=tuple(side(Who.REFDIST, str(count), make, count) for count in counts),
    )


def lines(result: Result, items: dict[int, float | None]) -> list[str]:
    """Say time, items in a second, and how well it scales.

    Where the items of a step stay the same, scaling is strong (n replicas should take 1/n of the time); where they grow with the
    replicas it is weak (they should take the same time). Where nobody said, both are shown.
    """
    if not result.sides:
        return [f"{result.name}: {result.problem}"]
    by_count = {int(one.name): one for one in result.sides}
    first, *_ = by_count
    heads = ["replicas", "step", "middle half", "first call", "items/s", *_scalings(by_count, items)]
    rows = [heads]
    for count, one in by_count.items():
        low, high = one.quartiles
        known = items.get(count)
        spread = f"{shown(low, Unit.TIME, 1)}-{shown(high, Unit.TIME, 1)}"
        rate = shown(one.median, Unit.ITEM_RATE, known) if known else ""
        times = paired_ratio(by_count[first], one)  # how many times as quick as the fewest replicas
        efficiency = {"strong": times * first / count, "weak": times}
        scalings = [f"{efficiency[kind] * 100:.0f}%" for kind in _scalings(by_count, items)]
        compiled = shown(one.first_seconds or 0, Unit.TIME, 1)
        rows.append([str(count), shown(one.median, Unit.TIME, 1), spread, compiled, rate, *scalings])
    widths = [max(len(row[index]) for row in rows) + 2 for index in range(len(heads))]
    table = ["".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
    return [result.name, *table]


def _scalings(by_count: dict[int, Measured], items: dict[int, float | None]) -> list[str]:
    """Return which efficiencies mean something."""
    known = {count: items.get(count) for count in by_count}
    first = next(iter(known))
    base = known[first]
    if len(known) < 2:
        return []
    if base and all(value == base for value in known.values()):
        return ["strong"]
    if base and all(value == base * count / first for count, value in known.items()):
        return ["weak"]
    return ["strong", "weak"]
