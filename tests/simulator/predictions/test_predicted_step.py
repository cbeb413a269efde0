"""Steps predicted from shapes alone."""

import dataclasses
import itertools
import math
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from simulator import libraries, presets
from simulator.machines.topology import Cluster, DeviceKind
from simulator.predictions.predicted_step import Efficiency, Variation, predict_step
from simulator.predictions.step_timeline import Exchange, timeline
from simulator.predictions.step_tracing import traced_step
from simulator.predictions.step_work import Work, work_of
from simulator.predictions.sweeping import sweep

LAYERS, WIDTH, ROWS = 3, 512, 256
# A device that computes a million million operations in a second, and reaches all of it.
KIND = DeviceKind("plain", 80e9, 1e12, 1e15)
ALL_OF_IT = Efficiency(1.0, 1.0, 0.0)


def shape(*sizes, dtype="float32"):
    return jax.ShapeDtypeStruct(sizes, jnp.dtype(dtype))


def star(devices=4, bandwidth=1e9):
    return Cluster.star(devices, bandwidth, 0.0, KIND)


def mlp(weights, x):
    def loss(weights):
        y = x
        for weight in weights:
            y = jnp.tanh(y @ weight)
        return jnp.mean(y)

    gradients = jax.lax.pmean(jax.grad(loss)(weights), "replicas")
    return [weight - 0.1 * gradient for weight, gradient in zip(weights, gradients, strict=True)]


SPECS = [shape(WIDTH, WIDTH)] * LAYERS, shape(ROWS, WIDTH)


def predicted(step=mlp, specs=SPECS, cluster=None, **options):
    peaks = {"float32": 1e12}
    options = {"axis_name": "replicas", "dtype_peaks": peaks, "efficiency": ALL_OF_IT, **options}
    return predict_step(step, specs, cluster=cluster or star(), **options)


def test_operations_and_bytes_are_those_of_the_layers():
    found = predicted()
    # Forward, and backward to each weight, and to the input of each layer but the first.
    products = 2 * ROWS * WIDTH * WIDTH * (3 * LAYERS - 1)

    kernels = [one for one in work_of(traced_step(mlp, SPECS, None, "replicas").jaxpr) if one.kernel]

    assert products == pytest.approx(sum(one.flops for one in kernels), rel=0.01)
    assert LAYERS * WIDTH * WIDTH * 4 == found.exchanged_bytes
    assert found.flops == pytest.approx(products, rel=0.02)
    assert found.seconds == pytest.approx(sum(found.parts.values()))


def test_exchanges_go_on_behind_computing_if_they_may():
    apart, behind = predicted(overlap=False, algorithm="ring"), predicted(bucket_bytes=0, algorithm="ring")
    bytes_of_ring = 2 * 3 / 4 * LAYERS * WIDTH * WIDTH * 4

    assert apart.parts["exposed communication"] == pytest.approx(bytes_of_ring / 1e9, rel=1e-6)
    assert behind.parts["exposed communication"] < apart.parts["exposed communication"]
    assert behind.parts["compute"] == pytest.approx(apart.parts["compute"])
    assert behind.seconds < apart.seconds


@pytest.mark.parametrize(("bucket_bytes", "exchanges"), [(0, LAYERS), (WIDTH * WIDTH * 4 + 1, 2), (1e9, 1)])
def test_gradients_wait_for_each_other_in_buckets(bucket_bytes, exchanges):
    found = predicted(bucket_bytes=bucket_bytes)

    assert exchanges == len(found.line.exchanging)
    assert sum(one.size_bytes for one in found.line.exchanging) == found.exchanged_bytes


def test_a_step_waits_for_the_slowest_device():
    plain, slow = predicted(), predicted(variation=Variation(stragglers={2: 3.0}))
    spread = predicted(variation=Variation(spread=0.1, seed=5))

    assert slow.parts["waiting"] == pytest.approx(1.5 * plain.parts["compute"])  # 3 less than (1 + 1 + 3 + 1) / 4
    assert slow.seconds > 2 * plain.seconds - plain.parts["exposed communication"]
    assert spread.seconds == predicted(variation=Variation(spread=0.1, seed=5)).seconds > plain.seconds
    with pytest.raises(ValueError, match="expected one of 4 devices"):
        predicted(variation=Variation(stragglers={4: 2.0}))


@given(
    speed=generators.floats(1e11, 1e14),
    bandwidth=generators.floats(1e7, 1e11),
    factor=generators.floats(1, 100),
    overlap=generators.booleans(),
)
@settings(max_examples=25)
def test_faster_devices_and_links_never_make_a_step_longer(speed, bandwidth, factor, overlap):
    traced = traced_step(mlp, SPECS, None, "replicas")
    from simulator.predictions.predicted_step import predict_traced

    def seconds(speed, bandwidth):
        cluster = dataclasses.replace(star(bandwidth=bandwidth), kind=dataclasses.replace(KIND, flops_per_second=speed))
        return predict_traced(traced, cluster=cluster, overlap=overlap, algorithm="ring").seconds

    assert seconds(speed * factor, bandwidth) <= seconds(speed, bandwidth) * (1 + 1e-9)
    assert seconds(speed, bandwidth * factor) <= seconds(speed, bandwidth) * (1 + 1e-9)


@given(generators.data())
@settings(max_examples=40)
def test_any_work_is_played_to_its_end_and_nothing_overlaps_itself(data):
    count = data.draw(generators.integers(1, 12))
    kinds = data.draw(
        generators.lists(
            generators.sampled_from(["compute", "all_reduce", "all_gather"]), min_size=count, max_size=count
        )
    )
    earlier = [generators.sets(generators.integers(0, max(place - 1, 0)), max_size=2) for place in range(count)]
    work = [
        Work("w", kind, 0.0, 1.0, "", True, tuple(data.draw(earlier[place])) if place else (), 0.0)
        for place, kind in enumerate(kinds)
    ]
    found = timeline(
        work, [1.0] * count, lambda kind, size: Exchange(0.5 * size, kind), overlap=data.draw(generators.booleans()),
        bucket_bytes=data.draw(generators.sampled_from([0.0, 2.0, 100.0])),
    )  # fmt: skip

    assert kinds.count("compute") == pytest.approx(found.compute_seconds)
    assert count - kinds.count("compute") == pytest.approx(sum(one.size_bytes for one in found.exchanging))
    assert found.seconds == pytest.approx(found.compute_seconds + found.exposed_seconds)
    for stretches in (found.computing, found.exchanging):
        assert all(one.end_seconds <= other.start_seconds + 1e-9 for one, other in itertools.pairwise(stretches))


def test_a_function_of_a_strategy_has_the_time_of_the_same_in_jax():
    tf.use("simulator", gpus=2)
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        weights = [tf.Variable(np.zeros([WIDTH, WIDTH], np.float32)) for _ in range(LAYERS)]

    def replica_step(x):
        with tf.GradientTape() as tape:
            y = x
            for weight in weights:
                y = tf.tanh(y @ weight)
            loss = tf.reduce_mean(y)
        gradients = tape.gradient(loss, weights)
        for weight, gradient in zip(
            weights, tf.distribute.get_replica_context().all_reduce("MEAN", gradients), strict=True
        ):
            weight.assign_sub(0.1 * gradient)

    @tf.function
    def step(x):
        strategy.run(replica_step, args=(x,))

    before = [weight.numpy() for weight in weights]
    spec = tf.TensorSpec([ROWS, WIDTH], tf.float32)
    staged = predicted(step, [spec], axis_name=None)
    inside = predicted(replica_step, [spec], axis_name=None, strategy=strategy)
    plain = predicted()

    assert staged.flops == inside.flops == pytest.approx(plain.flops, rel=0.02)
    assert staged.exchanged_bytes == inside.exchanged_bytes == plain.exchanged_bytes
    assert LAYERS * WIDTH * WIDTH * 4 == staged.memory["parameters"]
    assert all(np.array_equal(old, weight.numpy()) for old, weight in zip(before, weights, strict=True))


def test_the_step_of_fit_is_predicted_for_a_compiled_model():
    tf.use("simulator", gpus=2)
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.Input([WIDTH]), tf.keras.layers.Dense(WIDTH, use_bias=False)])
        model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
    specs = tf.TensorSpec([ROWS, WIDTH]), tf.TensorSpec([ROWS, WIDTH])
    found = predicted(model, specs, axis_name=None)

    assert found.flops == pytest.approx(2 * 2 * ROWS * WIDTH * WIDTH, rel=0.05)
    assert found.exchanged_bytes >= WIDTH * WIDTH * 4


@pytest.mark.parametrize("kind", ["mentioned", "given", "variable", "model"])
def test_a_step_of_one_replica_says_nothing_about_several_devices(kind):
    strategy = tf.distribute.OneDeviceStrategy("CPU:0")
    with strategy.scope():
        weight = tf.Variable(np.zeros([WIDTH, WIDTH], np.float32))

    def replica_step(x):
        weight.assign_sub(tf.matmul(x, x, transpose_a=True))

    class Trainer:
        def __init__(self):
            self.strategy = strategy

        def step(self, x):
            self.strategy.run(replica_step, args=(x,))

    def model():
        with strategy.scope():
            made = tf.keras.Sequential([tf.keras.Input([WIDTH]), tf.keras.layers.Dense(WIDTH, use_bias=False)])
            made.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
        return made

    step, options = {
        "mentioned": lambda: (lambda x: strategy.run(replica_step, args=(x,)), {}),
        "given": lambda: (replica_step, {"strategy": strategy}),
        "variable": lambda: (tf.function(Trainer().step), {}),
        "model": lambda: (model(), {}),
    }[kind]()
    specs = [tf.TensorSpec([ROWS, WIDTH])] * (2 if kind == "model" else 1)

    with pytest.raises(
        ValueError, match=r"1 replica for a cluster of 4 devices; expected one with 2 .* Make the strategy"
    ):
        predicted(step, specs, axis_name=None, **options)
    assert 0 == predicted(step, specs, cluster=star(1), axis_name=None, **options).exchanged_bytes


def test_a_function_without_a_strategy_is_the_same_on_any_number_of_devices():
    @tf.function
    def step(x):
        return tf.matmul(x, x, transpose_a=True)

    assert 0 == predicted(step, [tf.TensorSpec([ROWS, WIDTH])], axis_name=None).exchanged_bytes


def test_nothing_is_made_of_the_size_of_the_arguments():
    huge = [shape(200_000, 200_000)] * 2, shape(8, 200_000)  # 320 GB

    assert predicted(specs=huge).memory["arguments"] > 3e11


def test_a_prediction_prints_as_a_table_and_has_a_trace():
    found = predicted(cluster=presets.dgx_h100(8), library=libraries.nccl())
    lines = str(found).splitlines()

    assert lines[0].startswith("step on 64 x H100")
    assert max(map(len, lines)) <= 80
    assert "exposed communication" in found._repr_html_()
    assert ("devices 0 ... 63, the same", "devices 0 ... 63, the same: exchanges") == found.trace().devices
    assert len(found.trace().to_json()) < 500_000


def test_a_sweep_shows_how_a_step_scales():
    found = sweep(
        mlp, SPECS, clusters={"H100": lambda count: presets.dgx_h100(count // 8)}, replicas=[8, 64, 4096],
        algorithms=["ring", "tree"], axis_name="replicas", library=libraries.nccl(),
    )  # fmt: skip

    assert [8, 64, 4096] * 2 == [row.replicas for row in found.rows]
    assert [1.0, 1.0] == [row.efficiency for row in found.rows if row.replicas == 8]
    assert all(row.efficiency < 1 for row in found.rows if row.replicas > 8)
    assert 7 == len(str(found).splitlines())
    assert found._repr_svg_().count("<circle") == 6


def test_what_cannot_be_predicted_says_what_to_give():
    with pytest.raises(TypeError, match=r"expected a simulator\.Cluster"):
        predict_step(mlp, SPECS, cluster=8)
    with pytest.raises(ValueError, match="bucket_bytes=-1"):
        predicted(bucket_bytes=-1)
    with pytest.raises(ValueError, match="compute in no time"):
        predict_step(mlp, SPECS, cluster=Cluster.star(4, 1e9, 0.0), axis_name="replicas")
    with pytest.raises(TypeError, match="expected a share of the peak"):
        predicted(efficiency="most")
    with pytest.raises(ValueError, match="expected shares above 0"):
        Efficiency(flops=1.5)
    with pytest.raises(ValueError, match="Give the batch of one replica"):
        predict_step(lambda x: x, [tf.TensorSpec([None, 3])], cluster=star(), axis_name="replicas")
    with pytest.raises(ValueError, match="at least one of each"):
        sweep(mlp, SPECS, clusters={}, axis_name="replicas")
    for clusters in ([star()], star(), {"star": star()}):
        with pytest.raises(TypeError, match="expected a function that makes a cluster of n devices"):
            sweep(mlp, SPECS, clusters=clusters, axis_name="replicas")


@pytest.mark.parametrize(
    ("wrong", "said"), [({"library": "nccl"}, "libraries.nccl()"), ({"algorithm": "rin"}, "'rin'")]
)
def test_what_would_exchange_is_looked_at_also_where_nothing_is_exchanged(wrong, said):
    with pytest.raises((TypeError, ValueError), match=re.escape(said)):
        predict_step(lambda x: 2.0 * x, [tf.TensorSpec([3])], cluster=presets.dgx_h100(), axis_name="r", **wrong)


def test_one_device_exchanges_nothing_and_many_stay_finite():
    alone = predicted(cluster=star(1))

    assert 0 == alone.parts["exposed communication"]
    assert math.isfinite(predicted(cluster=presets.dgx_h100(512), library=libraries.nccl()).seconds)
