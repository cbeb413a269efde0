"""What `watch="python"` says about objects that all replicas change, and about what it is silent."""

import collections
import itertools
import warnings

import numpy as np
import pytest

import refdist as tf

MODES = pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
BACKENDS = pytest.mark.parametrize(
    "options", [("simulator", {"gpus": 4}), ("jax", {"cpus": 4})], ids=["simulator", "jax"]
)
total = 0


def replica_id():
    return tf.distribute.get_replica_context().replica_id_in_sync_group


class Counter:
    def __init__(self):
        self.steps = 0
        self.history = []

    def step(self):
        self.steps += 1


def counting():
    steps = 0

    def step():
        nonlocal steps
        steps += 1

    return step


def global_step():
    global total
    total += 1


def appending(container):
    return lambda: container.append(1)


def adding(container):
    return lambda: container.add(object())


def counting_under_one_key(container):
    def step():
        container["steps"] = container.get("steps", 0) + 1

    return step


def writing_in_place(array):
    def step():
        array[0] += 1

    return step


def taking_from(iterator):
    def step():
        next(iterator)

    return step


CHANGES = {
    "list": (lambda: appending([]), "The list 'container'"),
    "deque": (lambda: appending(collections.deque()), "The deque 'container'"),
    "set": (lambda: adding(set()), "The set 'container'"),
    "dict": (lambda: counting_under_one_key({}), "The dict 'container'"),
    "array": (lambda: writing_in_place(np.zeros(3)), "The array 'array'"),
    "iterator": (lambda: taking_from(itertools.count()), "The iterator 'iterator'"),
    "attribute": (lambda: Counter().step, "An attribute of the Counter 'self'"),
    "nonlocal": (counting, "The nonlocal name 'steps'"),
    "global": (lambda: global_step, "The global name 'total'"),
}


def run(mode, options, body):
    name, devices = options
    with tf.using(name, watch="python", **devices):
        names = [f"CPU:{number}" for number in range(4)] if name == "jax" else None
        strategy = tf.distribute.MirroredStrategy(names)
        mode(lambda: strategy.run(body))()


@MODES
@BACKENDS
@pytest.mark.parametrize("change", CHANGES)
def test_what_every_replica_changes_is_told(mode, options, change):
    make, text = CHANGES[change]
    when = "4 times while the function was traced, and never again" if mode is tf.function else "each of the 4 replicas"
    with pytest.warns(tf.errors.HostEffectWarning, match=f"{text} was changed .*{when}.*test_python_state.py"):
        run(mode, options, make())


def own_key(container):
    def step():
        container[replica_id()] = 1

    return step


def only_first(container):
    def step():
        if replica_id() == 0:
            container.append(1)

    return step


def filled_once(container):
    def step():
        if "value" not in container:
            container["value"] = 3
        return container["value"]

    return step


def local_list():
    found = []
    found.append(1)
    return len(found)


SILENT = {
    "own key": lambda: own_key({}),
    "own place": lambda: own_key([None] * 4),
    "own element": lambda: own_key(np.zeros(4)),
    "one replica": lambda: only_first([]),
    "a cache": lambda: filled_once({}),
    "reading": lambda: lambda values=[1, 2]: sum(values),
    "a local list": lambda: local_list,
}


@MODES
@BACKENDS
@pytest.mark.parametrize("use", SILENT)
def test_what_replicas_read_or_have_of_their_own_is_not_told(mode, options, use):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(mode, options, SILENT[use]())


def test_nothing_is_watched_unless_asked_for():
    with tf.using("simulator", gpus=2):
        container = []
        tf.distribute.MirroredStrategy().run(appending(container))

        assert container == [1, 1]
