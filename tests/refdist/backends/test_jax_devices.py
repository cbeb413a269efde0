"""Which of JAX's devices has which name, on machines with and without accelerators."""

from types import SimpleNamespace

import numpy as np
import pytest

import refdist as tf
from refdist._core.backends.jax_backend import JaxBackend
from refdist._core.backends.jax_devices import AskedDevices, named_devices, shared_out
from refdist._core.devices.machine import device_counts

HOST = [SimpleNamespace(platform="cpu", id=number) for number in range(40)]
GPUS = [SimpleNamespace(platform="cuda", id=100 + number) for number in range(4)]
TPUS = [SimpleNamespace(platform="tpu", id=200 + number) for number in range(2)]


def found(accelerators, visible=None, **counts):
    kinds = frozenset(kind[:3].upper() for kind in counts)
    named = named_devices(AskedDevices(device_counts(**counts), kinds, visible or {}), HOST, accelerators)
    return {name.short if name.job == "localhost" else name: device.id for name, device in named.items()}


def test_real_accelerators_are_found_where_none_is_counted():
    assert {"CPU:0": 0, **{f"GPU:{number}": 100 + number for number in range(4)}} == found(GPUS)
    assert {"CPU:0": 0, "CPU:1": 1, "TPU:0": 200, "TPU:1": 201} == found(TPUS, cpus=2)


def test_as_many_real_gpus_as_are_counted_are_used():
    assert {"CPU:0": 0, "GPU:0": 100, "GPU:1": 101} == found(GPUS, gpus=2)
    assert {"CPU:0": 0} == found(GPUS, gpus=0)


def test_host_processors_play_what_the_machine_lacks_behind_the_cpus():
    assert {"CPU:0": 0, "CPU:1": 1, "GPU:0": 2, "GPU:1": 3, "TPU:0": 4} == found((), cpus=2, gpus=2, tpus=1)
    assert {"CPU:0": 0, "GPU:0": 1, "TPU:0": 200, "TPU:1": 201} == found(TPUS, gpus=1)


def test_hosts_of_more_tpu_cores_than_one_has_are_played_as_a_whole():
    played = found((), tpus=16)

    assert ["/job:worker/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:0/device:TPU:0"] == list(played)[
        1:3
    ]
    assert list(range(19)) == list(played.values())


def test_real_and_played_gpus_are_not_mixed():
    with pytest.raises(
        ValueError,
        match=r"asked for 5 GPUs, and this machine has 4; expected at most .*\. Ask for fewer, or set JAX_PLATFORMS=cpu",
    ):
        found(GPUS, gpus=5)


@pytest.mark.parametrize("accelerators", [GPUS, ()])
def test_hidden_gpus_are_left_out_and_the_others_numbered_anew(accelerators):
    every, some = found(accelerators, gpus=4), found(accelerators, {"GPU": (1, 3)}, gpus=4)

    assert {"CPU:0": 0, "GPU:0": every["GPU:1"], "GPU:1": every["GPU:3"]} == some


def test_tasks_with_gpus_of_their_own_share_a_cpu():
    names = device_counts(cpus=1, gpus=5)
    shares = [shared_out(dict(zip(names, HOST, strict=False)), "worker", task, 2) for task in range(2)]

    assert [[0, 1, 2], [0, 3, 4]] == [[device.id for device in share.values()] for share in shares]
    assert ["/job:worker/replica:0/task:1/device:GPU:0"] == [name for name in shares[1] if name.short == "GPU:0"]


def test_more_tasks_than_gpus_are_refused():
    with pytest.raises(ValueError, match=r'3 workers were to share 2 GPUs of JAX; .* refdist\.use\("jax", gpus=3\)'):
        shared_out(dict(zip(device_counts(cpus=4, gpus=2), HOST, strict=False)), "worker", 0, 3)


def test_more_devices_than_jax_started_with_cannot_be_played():
    with pytest.raises(
        RuntimeError, match=r"12 host devices were asked of JAX, .*already started with 8; .*DEVICES=12"
    ):
        JaxBackend(cpus=4, gpus=8)


def test_the_choice_from_outside_counts_gpus_too(monkeypatch):
    monkeypatch.setattr("refdist._core.backends.choosing._chosen", None)
    monkeypatch.setenv("REFDIST_BACKEND", "jax:cpus=2,gpus=2")

    assert ["/device:GPU:0", "/device:GPU:1"] == [device.name for device in tf.config.list_logical_devices("GPU")]


def test_played_gpus_say_gpu_everywhere():
    """Eagerly, in functions, for variables, batches, strategies and scopes."""
    gpus = [f"/job:localhost/replica:0/task:0/device:GPU:{number}" for number in range(2)]
    cpu = gpus[0].replace("GPU", "CPU")
    with tf.using("jax", cpus=2, gpus=2):
        mirrored = tf.distribute.MirroredStrategy()
        with mirrored.scope():
            variable = tf.Variable(1.0)

        def step(x):
            total = tf.distribute.get_replica_context().all_reduce("SUM", x)
            variable.assign_add(tf.reduce_sum(total))
            return total

        def places(value):
            return [tf.device_name(part) for part in mirrored.experimental_local_results(value)]

        batches = mirrored.experimental_distribute_dataset(tf.data.Dataset.from_tensor_slices(np.ones(4, "f")).batch(4))
        batch = next(iter(batches))
        staged = tf.function(lambda x: mirrored.run(step, args=(x,)))

        assert gpus == places(batch) == places(mirrored.run(step, args=(batch,))) == places(staged(batch))
        assert gpus == [part.device for part in mirrored.experimental_local_results(variable)]
        assert cpu == tf.device_name(mirrored.reduce("SUM", batch, axis=0)) == tf.device_name(tf.constant(1.0))
        with tf.device("/gpu:1"):
            alone = tf.Variable(2.0)
            assert gpus[1] == alone.device == tf.device_name(tf.constant(1.0) + 1) == tf.device_name(alone + 1)
        with mirrored.scope(), mirrored.extended.colocate_vars_with(variable):
            assert gpus == [part.device for part in mirrored.experimental_local_results(tf.Variable(3.0))]
        with tf.distribute.OneDeviceStrategy("GPU:1").scope():
            assert gpus[1] == tf.Variable(1.0).device
        central = tf.distribute.experimental.CentralStorageStrategy()
        with central.scope():
            assert (cpu, 2) == (tf.Variable(1.0).device, central.num_replicas_in_sync)
