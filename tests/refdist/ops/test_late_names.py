import importlib
import pickle
import subprocess
import sys

import pytest

import refdist as tf
from refdist._core.ops.late_names import late_names

STUB = """
from typing import Any
import json as json
from own import below as below
from math import (
    floor as floor,
    ceil as upwards,
)

__all__ = ["json", "floor", "upwards"]
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own").mkdir()
    (tmp_path / "own/__init__.py").write_text("")
    (tmp_path / "own/__init__.pyi").write_text(STUB)
    (tmp_path / "own/below.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("own")
    sys.modules.pop("own.below", None)
    del sys.modules["own"]


def test_names_come_from_where_the_stub_says(own):
    load, names = late_names("own", own.__spec__)

    assert ["below", "floor", "json", "upwards"] == names() == load("__all__")
    assert (3, 4) == (load("floor")(3.5), load("upwards")(3.5))
    assert "own.below" == load("below").__name__


def test_a_name_is_looked_up_once(own):
    load, _ = late_names("own", own.__spec__)

    assert "floor" not in vars(own)
    load("floor")
    assert "floor" in vars(own)


def test_what_a_stub_imports_for_itself_is_no_name(own):
    load, _ = late_names("own", own.__spec__)

    with pytest.raises(AttributeError, match=r"^module 'own' has no attribute 'Any'$"):
        load("Any")


def test_another_name_is_asked_for_elsewhere(own):
    load, names = late_names("own", own.__spec__, str.upper)

    assert "TYPO" == load("typo")
    assert "typo" not in names()


def test_a_class_that_is_loaded_late_is_the_one_that_was_pickled():
    program = "import pickle, sys, refdist\nprint(pickle.loads(sys.stdin.buffer.read()))"
    given = pickle.dumps([tf.constant([1.0]), tf.TensorSpec([2]), tf.VariableAggregation.SUM])
    run = subprocess.run([sys.executable, "-c", program], input=given, capture_output=True, check=True)

    assert run.stdout.startswith(b"[<tf.Tensor: shape=(1,)")
    assert b"VariableAggregation.SUM" in run.stdout


def test_threads_can_ask_for_names_at_the_same_time():
    program = """
import random, sys, threading, refdist as tf
def ask(seed):
    names = [(one, name) for one in (tf, tf.distribute, tf.data, tf.train, tf.math, tf.nn) for name in one.__all__]
    names = [(one, name) for one, name in names if name not in ("keras", "initializers", "losses", "metrics", "optimizers")]
    random.Random(seed).shuffle(names)
    start.wait()
    for one, name in names:
        getattr(one, name)
start, threads = threading.Barrier(4), [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "" == run.stderr
