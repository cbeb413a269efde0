"""A small implementation and checks for it that end in every way in which a check can end."""

import os
import signal
import sys
import threading
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from conformance.checks import Check, CheckFunction
from conformance.faults import Fault, FaultFunction, Plant
from conformance.implementations import LOCAL_KINDS, Implementation
from conformance.world import World

_current = threading.local()


@dataclass(frozen=True)
class Strategy:
    """Runs a function once for each device name, one after another."""

    names: Any = ("GPU:0",)
    parameter_device: str = ""
    flavor: str = ""
    num_replicas_in_sync: int = field(init=False, default=1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "num_replicas_in_sync", 1 if isinstance(self.names, str) else len(self.names))

    def run(self, function: Any) -> Any:
        results: list[Any] = []
        for index in range(self.num_replicas_in_sync):
            _current.id = index
            results.append(function())
        return results[0] if len(results) == 1 else tuple(results)

    def experimental_local_results(self, value: Any) -> Any:
        return (value,) if isinstance(value, np.ndarray | int) else value


def _distribute(flavor: str) -> SimpleNamespace:
    def build(names: Any) -> Strategy:
        return Strategy(names, flavor=flavor)

    def central(compute_devices: Any, parameter_device: str) -> Strategy:
        return Strategy(compute_devices, parameter_device, flavor)

    return SimpleNamespace(
        OneDeviceStrategy=build,
        MirroredStrategy=build,
        experimental=SimpleNamespace(CentralStorageStrategy=central),
        get_strategy=Strategy,
        get_replica_context=lambda: SimpleNamespace(replica_id_in_sync_group=_current.id),
    )


namespace = SimpleNamespace(
    distribute=_distribute("v2"),
    compat=SimpleNamespace(v1=SimpleNamespace(distribute=_distribute("v1"))),
    constant=np.asarray,
)


def _open() -> Any:
    return namespace


def _machine(gpus: int, cpus: int, tpus: int) -> AbstractContextManager[Any]:
    return nullcontext((gpus, cpus, tpus))


fake = Implementation(
    name="fake",
    open=_open,
    kinds=LOCAL_KINDS,
    features=frozenset({"core"}),
    machine=_machine,
    divergences={"RUN-06": "it is declared", "RUN-07": "it is declared", "RUN-08@2": "it is declared"},
)
isolated = replace(fake, name="isolated", isolate=True)
other = Implementation(name="other", open=_open, kinds=frozenset({"Default"}), features=frozenset(), gpus=0, cpus=8)


def _broken_open() -> Any:
    raise RuntimeError("cannot be opened")


broken = Implementation(name="broken", open=_broken_open, kinds=LOCAL_KINDS, features=frozenset())


alone = replace(fake, parallel=False)
plain = replace(fake, divergences={})


def _passes(world: World) -> None:
    world.equal(world.replicas, world.strategy().num_replicas_in_sync)


def _fails(world: World) -> None:
    world.equal(7, world.strategy().num_replicas_in_sync)


def _raises(world: World) -> None:
    print("what a check prints is not part of the protocol")
    raise KeyError("not there")


def _exits(world: World) -> None:
    if world.replicas == 2:
        print("last words", file=sys.stderr)
        os._exit(7)


def _is_killed(world: World) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _hangs(world: World) -> None:
    if world.replicas == 2:
        threading.Event().wait()


def _has_not(world: World) -> None:
    world.unsupported("has no such thing")


def _fails_with_two(world: World) -> None:
    world.true(world.replicas != 2, "any count but two")


_cases_of_this_process: list[int] = []


def _is_the_first_of_its_process(world: World) -> None:
    _cases_of_this_process.append(world.replicas)
    world.equal([world.replicas], _cases_of_this_process)


def _check(id: str, function: CheckFunction, *needs: str) -> Check:
    return Check(id, (1, 2, 3), frozenset(needs), function)


def checks() -> Mapping[str, Check]:
    """Return the checks of the fake implementation."""
    found = [
        _check("RUN-01", _passes),
        _check("RUN-02", _fails),
        _check("RUN-03", _raises),
        _check("RUN-04", _exits),
        _check("RUN-05", _hangs),
        _check("RUN-06", _fails),
        _check("RUN-07", _passes),
        _check("RUN-08", _fails_with_two),
        _check("RUN-09", _has_not),
        _check("RUN-10", _passes, "data", "function"),
        _check("RUN-11", _is_killed),
        _check("RUN-14", _is_the_first_of_its_process),
    ]
    return {check.id: check for check in found}


def _has_not_with_two(world: World) -> None:
    if world.replicas == 2:
        world.unsupported("has no two of them")


def needing() -> Mapping[str, Check]:
    """Return checks that need each other: those after RUN-02 a broken one, those after RUN-08 one that fails with two."""
    found = [
        _check("RUN-01", _passes),
        replace(_check("RUN-02", _fails), after=("RUN-01",)),
        replace(_check("RUN-03", _passes), after=("RUN-01", "RUN-02")),
        replace(_check("RUN-04", _passes), after=("RUN-03",)),
        replace(_check("RUN-09", _fails_with_two), replicas=(1, 2)),
        replace(_check("RUN-10", _passes), after=("RUN-09",)),
        replace(_check("RUN-11", _exits), replicas=(2,)),
        replace(_check("RUN-12", _passes), after=("RUN-11",)),
        _check("RUN-14", _has_not_with_two),
    ]
    return {check.id: check for check in found}


def _counts_one_more(plant: Plant) -> None:
    plant.wrap(Strategy, "__post_init__", lambda original: lambda self: _one_more(original, self))


def _one_more(original: Any, strategy: Strategy) -> None:
    original(strategy)
    object.__setattr__(strategy, "num_replicas_in_sync", strategy.num_replicas_in_sync + 1)


def _cannot_be_built(plant: Plant) -> None:
    def refuse(strategy: Strategy) -> None:
        raise RuntimeError("broken too much")

    plant.replace(Strategy, "__post_init__", refuse)


def _cannot_be_planted(plant: Plant) -> None:
    plant.replace(Strategy, "no_such_method", None)


def _ends_the_process(plant: Plant) -> None:
    plant.replace(Strategy, "__post_init__", lambda self: os._exit(7))


def _never_ends(plant: Plant) -> None:
    plant.replace(Strategy, "__post_init__", lambda self: threading.Event().wait())


def _breaks_nothing(plant: Plant) -> None:
    plant.replace(namespace, "constant", namespace.constant)


def proving() -> Mapping[str, Check]:
    """Return checks that pass, for `faults`."""
    passing = {f"RUN-{number:02}": _check(f"RUN-{number:02}", _passes) for number in range(1, 7)}
    return passing | {"RUN-07": _check("RUN-07", _passes, "data"), "RUN-08": _check("RUN-08", _passes)}


def faults() -> Mapping[str, Fault]:
    """Return a fault for each way in which a proof can end."""
    functions: dict[str, FaultFunction] = {
        "RUN-01": _counts_one_more,
        "RUN-02": _breaks_nothing,
        "RUN-03": _cannot_be_built,
        "RUN-04": _ends_the_process,
        "RUN-05": _never_ends,
        "RUN-06": _cannot_be_planted,
        "RUN-07": _counts_one_more,
    }
    return {id: Fault(id, function) for id, function in functions.items()}
