"""A world builds what a check asks for, and its expectations fail when they should."""

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from conformance.catalogue import load
from conformance.expectations import CheckFailed, Unsupported
from conformance.implementations import Implementation, find
from conformance.world import World
from tests.conformance.fake import fake, namespace, other


def make(implementation: Implementation = fake, replicas: int = 2, id: str = "ATTR-03") -> World:
    return World(implementation, namespace, load()[id], replicas)


def holds(expectation: Callable[..., None], *arguments: Any, **options: Any) -> bool:
    try:
        expectation(*arguments, **options)
    except CheckFailed:
        return False
    return True


class Tensor:
    """Has nothing of an array but the method."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def numpy(self) -> Any:
        return np.asarray(self.value)


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        (3, np.float32(3)),
        ([1, 2], np.asarray([1, 2])),
        (np.asarray([1, 2]), [np.asarray(1), Tensor(2)]),
        ([1, (2, [3.5])], (1, [2, (3.5,)])),
        ({"a": [1], "b": "text"}, {"b": "text", "a": [1]}),
        (float("nan"), np.asarray(np.nan)),
        ("GPU:0", "GPU:0"),
        (None, None),
        (True, np.asarray(True)),
        ((), []),
        (np.zeros((0, 2)), Tensor(np.zeros((0, 2)))),
        (int, int),
    ],
)
def test_equal_accepts_equal_values(expected: Any, got: Any) -> None:
    assert holds(make().equal, expected, got)


@pytest.mark.parametrize(
    ("expected", "got", "note"),
    [
        (3, 4, ""),
        (3, np.asarray([3]), "shapes () and (1,)"),
        ([1, 2], [1, 2, 3], "2 and 3 parts"),
        ([1, [2, 3]], [1, [2, 4]], "at [1][1]"),
        ([[1], [2, 3]], [[1], [2]], "2 and 1 parts at [1]"),
        ({"a": 1}, {"b": 1}, "other keys"),
        ({"a": {"x": 1}}, {"a": {"y": 1}}, "other keys at ['a']"),
        ({"a": 1}, {"a": 2}, "at ['a']"),
        ("GPU:0", "GPU:1", ""),
        (True, 1, "only one is a truth value"),
        (None, 0, ""),
        (1.0, 1.0 + 1e-12, ""),
        (0, object(), ""),
        ([1, 2], 3, "shapes (2,) and ()"),
        (3, [[1], [2, 3]], ""),
    ],
)
def test_equal_fails_on_other_values_and_says_where(expected: Any, got: Any, note: str) -> None:
    with pytest.raises(CheckFailed) as caught:
        make().equal(expected, got, "what it is about")

    assert caught.value.what.startswith("what it is about")
    assert note in caught.value.what


def test_a_failure_carries_what_was_expected_and_what_was_got_as_plain_numbers() -> None:
    with pytest.raises(CheckFailed) as caught:
        make().equal([0, 10], [np.asarray(0), Tensor(11)])

    assert ("[0, 10]", "[0, 11]") == (caught.value.expected, caught.value.got)


def test_a_failure_does_not_print_a_large_value_in_full() -> None:
    with pytest.raises(CheckFailed) as caught:
        make().equal(np.zeros(1000), np.ones(1000))

    assert len(caught.value.got) < 600


def test_close_allows_the_tolerance_and_no_more() -> None:
    assert holds(make().close, [1.0, 2.0], [1.0000001, 2.0])
    assert not holds(make().close, [1.0, 2.0], [1.001, 2.0])
    assert holds(make().close, 1.0, 1.001, tolerance=0.01)
    assert not holds(make().close, 1.0, [1.0])


def test_close_knows_the_types_that_numpy_does_not() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")

    assert holds(make().close, 0.5, np.asarray(0.5, ml_dtypes.bfloat16))
    assert not holds(make().close, 0.5, np.asarray(0.75, ml_dtypes.bfloat16))


def test_same_wants_one_object() -> None:
    one = [1]

    assert holds(make().same, one, one)
    assert not holds(make().same, one, [1])


def test_true_fails_on_what_is_false() -> None:
    assert holds(make().true, np.asarray(1), "it holds")
    assert not holds(make().true, np.asarray(0), "it holds")


def test_raises_accepts_the_named_types_and_keeps_the_error() -> None:
    with make().raises(KeyError, ValueError) as raised:
        raise ValueError("this one")

    assert "this one" == str(raised.error)


def test_raises_accepts_any_exception_when_none_is_named() -> None:
    with make().raises() as raised:
        raise KeyError

    assert isinstance(raised.error, KeyError)


def test_raises_fails_on_another_type() -> None:
    with pytest.raises(CheckFailed, match="KeyError"), make().raises(ValueError):
        raise KeyError("wrong")


def test_raises_fails_when_nothing_is_raised() -> None:
    with pytest.raises(CheckFailed, match="no error"), make().raises(ValueError):
        pass


@pytest.mark.parametrize("error", [CheckFailed("one", "two"), Unsupported("reason")])
def test_raises_does_not_swallow_the_verdicts_of_the_check_itself(error: Exception) -> None:
    with pytest.raises(type(error)), make().raises():
        raise error


class Documented:
    def method(self, first: int, second: str = "word", *rest: int, only: int = 0, **more: int) -> None: ...

    def plain(self, fn: object, args: tuple[object, ...] = (), kwargs: object = None) -> None: ...


def test_signature_wants_names_and_defaults_in_order() -> None:
    assert holds(make().signature, Documented.plain, ["fn", ("args", ()), ("kwargs", None)])
    assert holds(make().signature, Documented().plain, ["fn", ("args", ()), ("kwargs", None)])
    assert holds(make().signature, Documented, [])
    with pytest.raises(CheckFailed, match="second='word'"):
        make().signature(Documented.method, ["first"])

    with pytest.raises(CheckFailed, match=r"only \(only by keyword\)"):
        make().signature(Documented.method, ["first", ("second", "word"), "*rest", ("only", 0), "**more"])


@pytest.mark.parametrize("expected", [["fn"], ["fn", "args", "kwargs"], ["f", ("args", ()), ("kwargs", None)]])
def test_signature_fails_on_other_names_and_defaults(expected: list[Any]) -> None:
    assert not holds(make().signature, Documented.plain, expected)


def test_unsupported_ends_the_check_with_its_reason() -> None:
    with pytest.raises(Unsupported, match="no such thing"):
        make().unsupported("no such thing")


@pytest.mark.parametrize(
    ("kind", "count", "flavor"),
    [
        ("Default", 1, ""),
        ("OneDevice", 1, "v2"),
        ("OneDevice.v1", 1, "v1"),
        ("Mirrored", 3, "v2"),
        ("Mirrored.v1", 3, "v1"),
        ("CentralStorage", 3, "v2"),
        ("CentralStorage.v1", 3, "v1"),
    ],
)
def test_strategies_are_built_from_documented_names(kind: str, count: int, flavor: str) -> None:
    world = make(replicas=3)

    strategy = world.strategy(kind)

    assert (count, flavor) == (strategy.num_replicas_in_sync, strategy.flavor)
    assert f"{kind} with {count}" in world.built


def test_a_count_given_to_strategy_wins() -> None:
    assert 5 == make(replicas=3).strategy("Mirrored", 5).num_replicas_in_sync


def test_a_kind_that_the_implementation_has_not_is_unsupported() -> None:
    with pytest.raises(Unsupported, match="TPU"):
        make().strategy("TPU")
    with pytest.raises(Unsupported, match="Mirrored"):
        make(other).strategy("Mirrored")


def test_a_kind_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(ValueError, match="Correct the spelling"):
        make().strategy("Mirored")


def test_each_builds_the_kinds_that_the_behavior_applies_to() -> None:
    world = make(replicas=2)

    counts = [strategy.num_replicas_in_sync for strategy in world.each()]

    assert [1, 1, 2, 2, 2, 2, 1] == counts
    assert 1 == len(list(make(other).each()))


def test_each_of_given_kinds_leaves_out_those_that_are_not_there() -> None:
    assert ["v2"] == [strategy.flavor for strategy in make().each("TPU", "Mirrored")]


def test_a_multi_worker_strategy_has_a_machine_with_its_replicas_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "TF_CONFIG", '{"cluster": {"worker": ["far:1", "away:1"]}, "task": {"type": "worker", "index": 1}}'
    )
    simulator = find("simulator")
    world = World(simulator, simulator.open(), load()["SCOPE-09"], 3)

    (strategy,) = world.each("MultiWorkerMirrored")
    assert 3 == strategy.num_replicas_in_sync
    assert "MultiWorkerMirrored with one worker and 3 replicas" == world.built
    assert 8 == world.tf.distribute.MirroredStrategy().num_replicas_in_sync, "the machine of the others is back"
    with pytest.raises(Unsupported):
        World(replace(simulator, machine=None), world.tf, load()["SCOPE-09"], 3).each("MultiWorkerMirrored")


def test_what_two_workers_add_is_left_out_where_there_cannot_be_two() -> None:
    simulator = find("simulator")
    worlds = [
        World(implementation, simulator.open(), load()["DATAFN-05"], 1)
        for implementation in (
            simulator,
            replace(simulator, workers=None),
            replace(simulator, features=frozenset({"core"})),
        )
    ]

    assert [[0, 1], [], []] == [world.on_two_workers(lambda _, index: index) for world in worlds]


def test_each_is_unsupported_when_no_kind_remains() -> None:
    with pytest.raises(Unsupported, match="TPU"):
        make().each("TPU", "Strategy")


def test_names_are_gpus_where_there_are_any() -> None:
    assert ["GPU:0", "GPU:1"] == make().names()
    assert ["CPU:0", "CPU:1", "CPU:2"] == make(other).names(3)
    with pytest.raises(Unsupported, match="needs 9 devices"):
        make().names(9)


@pytest.mark.parametrize("name", ["gpu:0", "GPU:0", "/gpu:0", "/device:GPU:0", "device:gpu:0", "/task:0/device:GPU:0"])
def test_full_completes_a_device_name(name: str) -> None:
    assert "/job:localhost/replica:0/task:0/device:GPU:0" == make().full(name)


def test_full_keeps_what_the_name_says() -> None:
    name = "/job:worker/replica:1/task:2/device:CPU:3"

    assert name == make().full(name)
    with pytest.raises(ValueError, match="expected a device name"):
        make().full("/gpu")


def test_gpus_requires_that_they_exist() -> None:
    make().gpus(8)
    with pytest.raises(Unsupported, match="needs 9 GPUs"):
        make().gpus(9)
    with pytest.raises(Unsupported, match=r"needs 1 GPU$"):
        make(other).gpus(1)


def test_machine_changes_the_devices_within_its_block_only() -> None:
    world = make()

    with world.machine(gpus=0, cpus=3):
        assert ["CPU:0", "CPU:1"] == world.names()
        with pytest.raises(Unsupported):
            world.gpus(1)

    assert ["GPU:0", "GPU:1"] == world.names()


def test_machine_is_unsupported_with_the_reason_of_the_implementation() -> None:
    fixed = replace(fake, machine=None, why_no_machine="the devices are fixed")

    with pytest.raises(Unsupported, match="the devices are fixed"), make(fixed).machine(gpus=1):
        pass


def test_device_and_text_ask_the_value() -> None:
    assert "here" == make().device(SimpleNamespace(device="here"))
    assert "'a'" == make().text("a")


def test_per_replica_gives_each_replica_its_component() -> None:
    world = make(replicas=3)
    strategy = world.strategy()

    value = world.per_replica(strategy, [1.5, np.asarray(2.5), Tensor(3.5)])

    assert [1.5, 2.5, 3.5] == world.locals(strategy, value)
    with pytest.raises(ValueError, match="expected one for each of the 3 replicas"):
        world.per_replica(strategy, [1])


def test_per_replica_is_a_plain_tensor_with_one_replica() -> None:
    world = make(replicas=1)

    assert 4 == world.per_replica(world.strategy(), [4])


def test_a_tpu_strategy_is_built_where_there_are_cores_enough() -> None:
    implementation = find("simulator")
    world = World(implementation, implementation.open(), load()["SCOPE-09"], 2)
    strategy = world.strategy("TPU")

    assert "TPU with 2 replicas" == world.built
    assert list(strategy.extended.worker_devices) == world.replica_devices(strategy)
    assert 4 == world.tpu(replicas=4, logical=2).num_replicas_in_sync
    assert "TPU with 4 replicas of 2 logical devices" == world.built
    with pytest.raises(Unsupported, match="needs 32 TPU cores"):
        world.tpu(replicas=4, logical=8)
    with world.machine(gpus=2):
        names = [type(one).__name__.removesuffix("V1") for one in world.each()]
        assert ["MirroredStrategy", "MirroredStrategy", "MultiWorkerMirroredStrategy"] == names
    with world.machine(tpus=2):
        assert 2 == world.strategy("TPU").num_replicas_in_sync


def test_a_class_that_the_implementation_has_not_is_that_of_no_strategy() -> None:
    class MirroredStrategy:
        """A class of its own."""

    tf = SimpleNamespace(distribute=SimpleNamespace(MirroredStrategy=MirroredStrategy))
    world = World(fake, tf, load()["ATTR-03"], 2)

    assert world.is_a(MirroredStrategy(), "TPUStrategy", "MirroredStrategy")
    assert not world.is_a(MirroredStrategy(), "TPUStrategy", "OneDeviceStrategy")
    simulator = find("simulator")
    world = World(simulator, simulator.open(), load()["ATTR-03"], 2)
    assert all(world.is_a(world.strategy(kind), "MirroredStrategy") for kind in ("Mirrored", "Mirrored.v1"))


def test_pieces_are_those_of_the_implementation() -> None:
    assert [("GPU:0", 3)] == make(replace(fake, pieces=lambda tensor: [("GPU:0", tensor)])).pieces(3)
    with pytest.raises(Unsupported, match="logical device"):
        make().pieces(3)
