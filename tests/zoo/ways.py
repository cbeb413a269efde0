"""The two ways in which a program of the zoo runs: in Python, and as a compiled program."""

from collections.abc import Callable
from typing import Any

import pytest

import refdist as tf

both_ways = pytest.mark.parametrize("way", ["eager", "staged"])


def runner(strategy: Any, way: str) -> Callable[..., Any]:
    """What calls a function in the replicas of a strategy, as strategy.run does."""
    if way == "eager":
        return strategy.run

    def run(step: Any, args: Any = ()) -> Any:
        return tf.function(lambda *given: strategy.run(step, given))(*args)

    return run


def mirrored(replicas: int) -> Any:
    """A strategy on so many virtual devices."""
    tf.use("simulator", gpus=replicas)
    return tf.distribute.MirroredStrategy()


def replica() -> Any:
    """The replica that the code is in."""
    return tf.distribute.get_replica_context()


def number() -> Any:
    """Its number, as a tensor of 32 bits."""
    return tf.cast(replica().replica_id_in_sync_group, tf.float32)
