"""The examples give the losses of plain JAX on one device, on every backend, in every mode, with any number of replicas."""

import contextlib
import importlib.util
import io
import os
import pathlib
import subprocess
import sys
from unittest import mock

import jax
import numpy as np
import optax
import pytest
from flax import nnx

import refdist as tf
from tests.thorough import THOROUGH

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"
BACKENDS = ["simulator", "jax"]
COUNTS = [1, 2, 4]


def loaded(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


mlp, flax_optax, restarted_workers = loaded("mlp"), loaded("flax_optax"), loaded("restarted_workers")
many_workers = loaded("many_workers")


def mirrored(backend, count):
    with tf.using(backend, cpus=8):
        return tf.distribute.MirroredStrategy([f"CPU:{index}" for index in range(count)])


def batches(data, size):
    for start in range(0, len(data[0]), size):
        yield data[0][start : start + size], data[1][start : start + size]


# The perceptron. Its last batch is partial: 13 examples in batches of 8 leave pieces of 2, 2, 1 and 0 for 4 replicas.

SIZES = [6, 5, 3]
POINTS = mlp.made_data(13, 6, 3)


@pytest.fixture(scope="module")
def plain_jax():
    """The loss and the accuracy of each epoch, without a strategy."""
    parameters, epochs = mlp.initial_parameters(SIZES), []
    for _ in range(3):
        total, right = 0.0, 0
        for x, y in batches(POINTS, 8):
            (loss, hits), gradients = mlp.loss_and_gradients(parameters, x, y)
            parameters = [old - 0.2 / 8 * np.asarray(new) for old, new in zip(parameters, gradients, strict=True)]
            total, right = total + float(loss), right + int(hits)
        epochs.append((total / 13, right / 13))
    return epochs


@pytest.mark.parametrize("eager", [True, False], ids=["eager", "staged"])
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_the_perceptron_has_the_losses_of_plain_jax(plain_jax, backend, count, eager):
    epochs = list(mlp.train(mirrored(backend, count), POINTS, SIZES, epochs=3, batch=8, eager=eager))

    np.testing.assert_allclose([(epoch.loss, epoch.accuracy) for epoch in epochs], plain_jax, rtol=1e-4)
    assert epochs[-1].loss < epochs[0].loss


# The flax model.


@pytest.fixture(scope="module")
def model():
    return nnx.jit(lambda: flax_optax.Classifier(4, 6, 3, nnx.Rngs(0)))()


@pytest.fixture(scope="module")
def plain_flax(model):
    """Train without a strategy."""
    graph, start = nnx.split(model, nnx.Param)
    optimizer = flax_optax.made_optimizer()

    @jax.jit
    def step(parameters, state, x, y):
        def mean(parameters):
            scores = nnx.merge(graph, parameters)(x)
            return optax.softmax_cross_entropy_with_integer_labels(scores, y).sum() / 8

        loss, gradients = jax.value_and_grad(mean)(parameters)
        updates, state = optimizer.update(gradients, state, parameters)
        return optax.apply_updates(parameters, updates), state, loss

    def losses(data):
        parameters, state = start, jax.jit(optimizer.init)(start)
        for _ in range(3):
            total = 0.0
            for x, y in batches(data, 8):
                parameters, state, loss = step(parameters, state, x, y)
                total += float(loss) * 8
            yield total / len(data[0])

    return losses


@pytest.mark.parametrize(
    ("backend", "count", "examples"), [("jax", 1, 16), ("jax", 2, 11), ("jax", 4, 16), ("simulator", 4, 16)]
)
def test_the_flax_model_has_the_losses_of_plain_flax(plain_flax, model, backend, count, examples):
    data = flax_optax.made_data(examples, 4, 3)

    losses = list(flax_optax.train(mirrored(backend, count), data, model, epochs=3, batch=8))

    np.testing.assert_allclose(losses, list(plain_flax(data)), rtol=1e-4)
    assert losses[-1] < losses[0]


# Several workers. The global batch is the same, however many there are.


@pytest.fixture(scope="module")
def plain_descent():
    """The loss of each step, without a strategy."""
    x, y = restarted_workers.made_data()
    weight, bias, losses = np.zeros(3), 0.0, []
    for start in [0, 24, 48, 72] * 2:
        points, goals = x[start : start + 24], y[start : start + 24]
        error = points @ weight + bias - goals
        losses.append(float(np.mean(error**2)))
        weight, bias = weight - 0.2 * error @ points / 24, bias - 0.2 * error.mean()
    return losses


def test_one_worker_has_the_losses_of_plain_descent(plain_descent, tmp_path):
    losses = [loss for _, loss in restarted_workers.train(mirrored("jax", 4), str(tmp_path), steps=8)]

    assert plain_descent == pytest.approx(losses, rel=1e-4)


def test_processes_go_on_after_a_crash_with_the_losses_of_plain_descent(plain_descent, tmp_path):
    program = [str(EXAMPLES / "restarted_workers.py"), "--steps", "8", "--crash-at", "6", "--folder", str(tmp_path)]
    command = [sys.executable, "-m", "refdist.launch", "--workers", "2", "--restart", "1", "--timeout", "120", *program]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(EXAMPLES.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
    assert "worker 0 of 2 failed first: killed by SIGKILL" in done.stderr
    assert [f"[worker 0] step {n + 1:3}  loss {plain_descent[n]:8.5f}" for n in (3, 7)] == done.stdout.splitlines()


@pytest.fixture(scope="module")
def printed_alone():
    """What the program prints on one worker with four devices."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output), tf.using("simulator", gpus=4):
        many_workers.main()
    return output.getvalue().splitlines()


def test_workers_that_one_process_plays_print_what_one_worker_prints(printed_alone, capsys):
    with tf.using("simulator", gpus=2):
        tf.cluster.run_workers(lambda _: many_workers.main(), 2)

    assert [line for line in printed_alone for _ in range(2)] == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(("workers", "devices"), [(2, 2), (4, 1)] if THOROUGH else [(2, 2)])
def test_workers_in_processes_print_what_one_worker_prints(printed_alone, workers, devices):
    options = ["--workers", str(workers), "--devices-per-worker", str(devices), "--timeout", "120"]
    command = [sys.executable, "-m", "refdist.launch", *options, str(EXAMPLES / "many_workers.py")]
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(EXAMPLES.parent)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert 0 == done.returncode, done.stderr
    for worker in range(workers):
        name = f"[worker {worker}] "
        said = [line.removeprefix(name) for line in done.stdout.splitlines() if line.startswith(name)]
        assert printed_alone == said


# The command lines.


@pytest.mark.parametrize("example", [mlp, flax_optax])
def test_an_example_prints_a_narrow_table(monkeypatch, capsys, example):
    epochs = {mlp: [mlp.Epoch(2.5, 0.25, 1.0)] * 2, flax_optax: [2.5] * 2}[example]
    monkeypatch.setattr(example, "train", mock.create_autospec(example.train, return_value=epochs))
    monkeypatch.setattr("sys.argv", ["example", "--backend", "simulator", "--replicas", "2", "--epochs", "2"])

    example.main()

    title, *rows = capsys.readouterr().out.splitlines()
    assert ["epoch", "loss"] == title.split()[:2]
    assert [["1", "2.50000"], ["2", "2.50000"]] == [row.split()[:2] for row in rows]
    assert all(len(row) < 80 for row in rows)
