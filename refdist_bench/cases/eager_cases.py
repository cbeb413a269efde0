"""What every eager step does many times, on virtual devices: run, meet, read, assign, reduce."""

from collections.abc import Callable
from typing import Any

from greenlet import getcurrent, greenlet

import refdist as tf
from refdist_bench.benchmark_case import Case, Goal, Side, Who
from refdist_bench.devices_at_hand import strategy_on
from refdist_bench.settings import Settings
from refdist_bench.timers import Step, side

COUNTS = (2, 8, 64, 1024, 10_000)
FEW_COUNTS = (2, 8, 64, 1024)
TIMES_THE_LIMIT = {"run, all_reduce": 1, "assign_add": 2}
"""Operations with a goal, and how many times as much it allows."""
MEETING_COUNTS = (2, 64, 1024, 10_000, 100_000)
TENSORFLOW_MOST = 8
"""Beyond so many replicas TensorFlow takes too long to be asked."""
ctx: Callable[[], Any] = tf.distribute.get_replica_context


def eager_cases(settings: Settings) -> list[Case]:
    """Return the cases per replica, beside two bare switches of a greenlet for each replica."""
    if "simulator" not in settings.backends:
        return []
    cases = [
        _case(name, count)
        for name in OPERATIONS
        for count in settings.virtual_counts(COUNTS if name in TIMES_THE_LIMIT else FEW_COUNTS)
    ]
    return cases + [_meeting(count) for count in settings.virtual_counts(MEETING_COUNTS)]


def _case(name: str, replicas: int) -> Case:
    return Case(
        name=f"{name}, {replicas:,} virtual",
        series=name,
        group="eager, per replica",
        replicas=replicas,
        backend="simulator",
        amount=replicas,
        sides=(side(Who.REFDIST, "refdist", OPERATIONS[name], replicas), *_limit(SWITCHES[name], replicas)),
        goal=_goal(name, replicas),
        headline=replicas in HEADLINES.get(name, ()),
        tensorflow={"eager": {"step": name, "replicas": replicas}} if replicas <= TENSORFLOW_MOST else {},
    )


def _goal(name: str, replicas: int) -> Goal | None:
    """All-reduce at most 6 times the limit from 64 replicas on, 10 times at 8; assign_add at most twice that."""
    times = TIMES_THE_LIMIT.get(name)
    if times is None or replicas < 8:
        return None
    return Goal("limit", times * (6 if replicas >= 64 else 10))


def _meeting(replicas: int) -> Case:
    return Case(
        name=f"rendezvous, {replicas:,} virtual",
        series="rendezvous",
        group="eager, per replica",
        replicas=replicas,
        backend="simulator",
        amount=replicas,
        sides=(side(Who.REFDIST, "refdist", rendezvous, replicas), *_limit(2, replicas)),
        headline=replicas == 100_000,
    )


def _limit(switches: int, replicas: int) -> tuple[Side, ...]:
    name = {1: "a bare switch", 2: "two bare switches"}.get(switches, "")
    return (side(Who.LIMIT, name, bare_switches, replicas, switches),) if switches else ()


def bare_switches(replicas: int, times: int = 2) -> Step:
    """Each replica is resumed to begin, and again after a meeting; nothing with greenlets can be quicker."""

    def life() -> None:
        parent: Any = getcurrent().parent
        while True:
            parent.switch()

    runners = [greenlet(life) for _ in range(replicas)]

    def step() -> None:
        for _ in range(times):
            for runner in runners:
                runner.switch()

    return step


def rendezvous(replicas: int) -> Step:
    strategy = strategy_on("simulator", replicas)
    met: Callable[[Any], None] = lambda strategy: None  # noqa: E731
    return lambda: strategy.run(lambda: ctx().merge_call(met))


def _run(replicas: int) -> Step:
    strategy, value = _with_ones(replicas)
    return lambda: strategy.run(lambda x: x, args=(value,))


def _all_reduce(replicas: int) -> Step:
    strategy, value = _with_ones(replicas)
    return lambda: strategy.run(lambda x: ctx().all_reduce("SUM", x), args=(value,))


def _reduce(replicas: int) -> Step:
    strategy, value = _with_ones(replicas)
    return lambda: strategy.reduce("SUM", value, axis=None)


def _read(replicas: int) -> Step:
    strategy, variable, _ = _with_variable(replicas)
    return lambda: strategy.run(variable.read_value)


def _assign(replicas: int) -> Step:
    strategy, variable, value = _with_variable(replicas)
    return lambda: strategy.run(variable.assign, args=(value,))


def _assign_add(replicas: int) -> Step:
    strategy, variable, value = _with_variable(replicas)
    return lambda: strategy.run(variable.assign_add, args=(value,))


def _with_ones(replicas: int) -> tuple[Any, Any]:
    strategy = strategy_on("simulator", replicas)
    return strategy, strategy.run(lambda: tf.constant(1.0))


def _with_variable(replicas: int) -> tuple[Any, Any, Any]:
    strategy, value = _with_ones(replicas)
    with strategy.scope():
        variable = tf.Variable(0.0, aggregation=tf.VariableAggregation.MEAN)
    return strategy, variable, value


OPERATIONS: dict[str, Callable[[int], Step]] = {
    "run": _run,
    "run, all_reduce": _all_reduce,
    "read": _read,
    "assign": _assign,
    "assign_add": _assign_add,
    "reduce": _reduce,
}
SWITCHES = {"run": 1, "run, all_reduce": 2, "read": 1, "assign": 2, "assign_add": 2, "reduce": 0}
"""How often a replica is resumed at least; a reduction from outside resumes none."""
HEADLINES = {
    "run": (8,),
    "run, all_reduce": (8, 64, 10_000),
    "read": (8,),
    "assign": (8,),
    "assign_add": (8, 1024),
    "reduce": (8,),
}
