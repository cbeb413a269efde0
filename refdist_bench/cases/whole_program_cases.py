"""What users wait for: the import, the first call, the conformance run, a prediction; and memory."""

import sys

from refdist_bench.benchmark_case import Case, Goal, Unit, Who
from refdist_bench.settings import Settings
from refdist_bench.timers import Step, fresh, side

EVENT_DEVICES = 512
MEMORY_DEVICES = 20_000
IMPORT_GOAL = Goal("over_seconds", 0.15)
FIRST_CALL_GOAL = Goal("raw", 1.2)


def whole_program_cases(settings: Settings) -> list[Case]:
    """Return the cases that are made of whole processes, and the simulator's own speed."""
    cases = [_import()]
    if "jax" in settings.backends and 2 in settings.device_counts():
        cases.append(_first_call())
    if "simulator" in settings.backends:
        cases += [_events(), _memory()] + ([] if settings.quick else [_conformance()])
    return cases


# The import alone loads no more than a list of names.
_FIRST_NAMES = "import refdist as tf; tf.distribute.MirroredStrategy, tf.Variable, tf.function, tf.data.Dataset"


def _import() -> Case:
    return Case(
        name="import refdist (raw: numpy)",
        series="import",
        group="whole programs",
        sides=(
            fresh(Who.REFDIST, "import refdist", [sys.executable, "-c", _FIRST_NAMES], warmed=True),
            fresh(Who.RAW, "import numpy", [sys.executable, "-c", "import numpy"], warmed=True),
            fresh(Who.LIMIT, "python alone", [sys.executable, "-c", "pass"], warmed=True),
        ),
        goal=IMPORT_GOAL,
    )


def _first_call() -> Case:
    program = [sys.executable, "-m", "refdist_bench.cases.first_call"]
    return Case(
        name="first call of the MLP, 2 devices",
        series="first call",
        group="whole programs",
        replicas=2,
        backend="jax",
        sides=(
            fresh(Who.REFDIST, "refdist", [*program, "staged", "2"], printed=True),
            fresh(Who.RAW, "jit(shard_map)", [*program, "by_hand", "2"], printed=True),
        ),
        goal=FIRST_CALL_GOAL,
    )


def _conformance() -> Case:
    command = [sys.executable, "-m", "conformance", "run", "--impl", "simulator", "--mode", "quick"]
    return Case(
        name="conformance run, quick",
        series="conformance",
        group="whole programs",
        backend="simulator",
        sides=(fresh(Who.REFDIST, "refdist", command),),
    )


def _events() -> Case:
    return Case(
        name="simulated messages",
        series="simulated messages",
        group="simulator",
        replicas=EVENT_DEVICES,
        backend="simulator",
        unit=Unit.ITEM_RATE,
        amount=2 * (EVENT_DEVICES - 1) * EVENT_DEVICES,
        sides=(side(Who.REFDIST, "refdist", ring_step, EVENT_DEVICES),),
    )


def ring_step(devices: int) -> Step:
    """Play every message of a ring on the clock."""
    import simulator
    from simulator.algorithms.schedules import ring
    from simulator.predictions.prediction import by_message

    star = simulator.Cluster.star(devices, 12.5e9, 500e-9)
    schedule = ring(devices)
    return lambda: by_message(star, schedule, 1 << 20, 0)


def _memory() -> Case:
    program = [sys.executable, "-m", "refdist_bench.cases.memory_of_devices"]
    return Case(
        name="memory of a virtual device",
        series="memory",
        group="simulator",
        replicas=MEMORY_DEVICES,
        backend="simulator",
        unit=Unit.BYTES,
        amount=MEMORY_DEVICES,
        sides=(
            fresh(Who.REFDIST, "refdist", [*program, "strategy", str(MEMORY_DEVICES)], printed=True),
            fresh(Who.LIMIT, "a greenlet", [*program, "greenlets", str(MEMORY_DEVICES)], printed=True),
        ),
    )
