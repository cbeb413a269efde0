"""Whole programs, written for TensorFlow, compute with one changed line what they compute there."""

import importlib.util
import json
import pathlib

import numpy as np
import pytest

from refdist._core.backends import choosing

PROGRAMS = pathlib.Path(__file__).parent / "programs"
ANSWERS = json.loads((PROGRAMS / "answers.json").read_text())  # of TensorFlow 2.21, by record.py

# What is missing, by program.
MISSING = {
    "contrastive": "tf.math.l2_normalize",
    "fine_tuning": "tf.newaxis, tf.cond",
    "sparse_embeddings": "tf.nn.embedding_lookup",
}


def changed(name, folder):
    """Load a program with the one line changed."""
    text = (PROGRAMS / f"{name}.py").read_text()
    path = folder / f"{name}.py"
    path.write_text(text.replace("import tensorflow as tf\n", "import refdist as tf\n"))
    spec = importlib.util.spec_from_file_location(f"program_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def choices():
    for name in ANSWERS:
        marks = [pytest.mark.xfail(reason=MISSING[name], strict=True)] if name in MISSING else []
        yield pytest.param(name, marks=marks, id=name)


@pytest.fixture
def backend(request, monkeypatch):
    """Choose a backend from outside, as a user who leaves the program as it is."""
    monkeypatch.setenv("REFDIST_BACKEND", request.param)
    monkeypatch.setattr(choosing, "_used", False)
    monkeypatch.setattr(choosing, "_virtual_cpus", None)


@pytest.mark.parametrize("backend", ["simulator", "jax:cpus=2"], indirect=True)
@pytest.mark.parametrize("name", list(choices()))
def test_a_program_of_tensorflow_has_the_same_losses(name, backend, tmp_path):
    losses = changed(name, tmp_path).main()

    np.testing.assert_allclose(losses, ANSWERS[name], rtol=1e-5, atol=1e-6)


def test_every_program_was_recorded():
    programs = {path.stem for path in PROGRAMS.glob("*.py") if "import tensorflow as tf\n" in path.read_text()}

    assert programs == set(ANSWERS)
