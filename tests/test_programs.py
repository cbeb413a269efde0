"""Whole programs, written for TensorFlow, compute with one changed line what they compute there."""

import importlib.util
import json
import pathlib
import sys

import numpy as np
import pytest

import refdist
from refdist._core.backends import choosing
from tests.thorough import THOROUGH

PROGRAMS = pathlib.Path(__file__).parent / "programs"
ANSWERS = json.loads((PROGRAMS / "answers.json").read_text())  # of TensorFlow 2.21, by record.py
WITH_WORKERS = ("multi_worker_fit", "parameter_server")
# On which test_lint.py proves that lint() finds nothing, and that the losses are right there, too.
LINTED = (
    [name for name in ANSWERS if name not in WITH_WORKERS]
    if THOROUGH
    else ["checkpoints", "gan", "keras_fit", "steps_on_device"]
)


def changed(name, folder, monkeypatch):
    """Load a program with the one line changed, as Python loads a module."""
    text = (PROGRAMS / f"{name}.py").read_text()
    path = folder / f"{name}.py"
    path.write_text(text.replace("import tensorflow as tf\n", "import refdist as tf\n"))
    spec = importlib.util.spec_from_file_location(f"program_{name}", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def backend(request, monkeypatch):
    """Choose a backend from outside, as a user who leaves the program as it is."""
    monkeypatch.setenv("REFDIST_BACKEND", request.param)
    monkeypatch.setattr(choosing, "_used", False)
    monkeypatch.setattr(choosing, "_virtual_cpus", None)


def runs():
    """Every program on JAX, and on the simulator those that test_lint.py does not run there."""
    for name in ANSWERS:
        yield name, "jax:cpus=2"
        if THOROUGH or name not in LINTED:
            yield name, "simulator"


@pytest.mark.parametrize(("name", "backend"), list(runs()), indirect=["backend"])
def test_a_program_of_tensorflow_has_the_same_losses(name, backend, tmp_path, monkeypatch):
    program = changed(name, tmp_path, monkeypatch)
    workers = getattr(program, "WORKERS", None)
    if workers is None:
        answers = [program.main()]
    else:
        monkeypatch.setenv("MODEL_DIR", str(tmp_path))
        answers = refdist.cluster.run_workers(lambda _: program.main(), workers)

    for losses in answers:
        np.testing.assert_allclose(losses, ANSWERS[name], rtol=1e-5, atol=1e-6)


def test_every_program_was_recorded():
    programs = {path.stem for path in PROGRAMS.glob("*.py") if "import tensorflow as tf\n" in path.read_text()}

    assert programs == set(ANSWERS)


@pytest.mark.parametrize("backend", ["simulator", "jax:cpus=2"], indirect=True)
def test_the_first_program_has_the_same_losses_in_flax(backend, tmp_path, monkeypatch):
    losses = changed("flax_training", tmp_path, monkeypatch).main()
    steps = [0, 1, 2, 6, 7, 8]  # between these are the metrics of an epoch

    # Adam of optax adds its epsilon after the correction of the moments, and that of Keras before.
    np.testing.assert_allclose(losses, np.array(ANSWERS["custom_training"])[steps], rtol=2e-5)
