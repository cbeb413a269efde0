"""A training step of three models, eager and staged, beside the same step by hand, by Keras and by TensorFlow."""

from collections.abc import Callable
from typing import Any

import jax

import refdist as tf
from refdist_bench.benchmark_case import Case, Goal, Who
from refdist_bench.cases import by_hand
from refdist_bench.cases.losses import LOSSES
from refdist_bench.devices_at_hand import number, strategy_on, waited
from refdist_bench.peers.problems import MODELS, RATE, batch, start
from refdist_bench.settings import Settings
from refdist_bench.timers import Step, side

NAMES = {"mlp": "MLP", "convnet": "convnet", "transformer": "transformer"}
STAGED_GOAL = Goal("raw", 1.02)


def training_cases(settings: Settings) -> list[Case]:
    """Return the steps on real devices, and that of the perceptron on virtual ones."""
    models = ["mlp"] if settings.quick else list(MODELS)
    counts = settings.device_counts()
    cases = [_staged_case(model, count, makings=1 if settings.quick else 6) for model in models for count in counts]
    # Each device compiles each operation, so that eager steps take long to begin.
    cases += [_eager_case(model, count) for model in models for count in counts if settings.replicas or count == 2]
    cases += [_virtual_case(count) for count in settings.replicas or (2, 4)]
    return [case for case in cases if case.backend in settings.backends]


def _staged_case(model: str, replicas: int, *, makings: int) -> Case:
    hand = side(Who.RAW, "jit(shard_map)", by_hand.sharded_step, model, replicas)
    single = side(Who.RAW, "jit on one device", by_hand.single_step, model, replicas)
    raw = (single, hand) if replicas == 1 else (hand, single)
    if model == "mlp" or replicas == 2:  # they compile for long, and say the same about the other numbers
        raw = (
            *raw,
            side(Who.RAW, "pmap", by_hand.mapped_step, model, replicas),
            side(Who.RAW, "Keras DataParallel", by_hand.keras_step, model, replicas),
        )
    return Case(
        name=f"{NAMES[model]}, staged, {_devices(replicas)}",
        series=f"{NAMES[model]}, staged",
        group="training step",
        replicas=replicas,
        backend="jax",
        sides=(
            side(Who.REFDIST, "refdist", trained_step, model, "jax", replicas, True),
            *raw,
        ),
        goal=STAGED_GOAL,
        patience=6.0,
        makings=makings,
        headline=model == "mlp" or replicas == 2,
        tensorflow={"tf.function": {"step": "train", "model": model, "replicas": replicas, "staged": True}},
    )


def _eager_case(model: str, replicas: int) -> Case:
    return Case(
        name=f"{NAMES[model]}, eager, {_devices(replicas)}",
        series=f"{NAMES[model]}, eager",
        group="training step",
        replicas=replicas,
        backend="jax",
        sides=(
            side(Who.REFDIST, "refdist", trained_step, model, "jax", replicas, False),
            side(Who.RAW, "eager by hand", by_hand.eager_step, model, replicas),
        ),
        headline=replicas == 2 and model != "convnet",
        tensorflow={"eager": {"step": "train", "model": model, "replicas": replicas, "staged": False}},
    )


def _virtual_case(replicas: int) -> Case:
    return Case(
        name=f"MLP, staged, {replicas} virtual",
        series="MLP, staged, virtual",
        group="training step",
        replicas=replicas,
        backend="simulator",
        sides=(
            side(Who.REFDIST, "refdist", trained_step, "mlp", "simulator", replicas, True),
            side(Who.RAW, "jit on one device", by_hand.single_step, "mlp", replicas),
        ),
        headline=False,
    )


def _devices(count: int) -> str:
    return f"{count} device{'s' if count > 1 else ''}"


def trained_step(model: str, backend: str, replicas: int, staged: bool) -> Step:
    """Return one step of a strategy."""
    strategy = strategy_on(backend, replicas)
    step, variables, x, y = written_step(model, strategy)
    called = tf.function(step) if staged else step

    def timed() -> float:
        value = number(called(x, y))
        if not staged:  # a staged step is one program, done when its result is
            waited([strategy.experimental_local_results(variable.read_value()) for variable in variables])
        return value

    return timed


def written_step(model: str, strategy: Any) -> tuple[Callable[[Any, Any], Any], list[Any], Any, Any]:
    """Return a step, written as users write it who compute with JAX, its variables, and a batch for it."""
    with strategy.scope():
        variables = [tf.Variable(array) for array in start(model)]

    ctx: Callable[[], Any] = tf.distribute.get_replica_context

    def replica(x: Any, y: Any) -> Any:
        value, gradients = jax.value_and_grad(LOSSES[model])([variable.read_value() for variable in variables], x, y)
        gradients = ctx().all_reduce("MEAN", gradients)
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign_sub(RATE * gradient)
        return value

    def step(x: Any, y: Any) -> Any:
        return strategy.reduce("MEAN", strategy.run(replica, args=(x, y)), axis=None)

    whole = batch(model, strategy.num_replicas_in_sync)
    x, y = next(iter(strategy.experimental_distribute_dataset(tf.data.Dataset.from_tensors(whole))))
    return step, variables, x, y
