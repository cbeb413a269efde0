"""What Keras keeps for a whole thread or process, kept separately for each replica and each worker."""

import contextvars
import copy
import importlib
import random
import types
import weakref
from typing import Any

from refdist._core.base.where import HERE

_ATTRIBUTES: contextvars.ContextVar[dict[Any, Any] | None] = contextvars.ContextVar("keras_attributes", default=None)
_OWNER = "worker"  # the key of the worker for which attributes were copied
_OF_WORKERS: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()
_RANDOM: weakref.WeakKeyDictionary[Any, random.Random] = weakref.WeakKeyDictionary()
_WAITING: dict[Any, list[Any]] = {}  # variables that have no value yet, by worker


class _ContextLocal:
    """An object whose attributes are seen in the context in which they were set, and in copies of it.

    Keras keeps its scopes per thread. Replicas share a thread and pause in the middle of a layer, but each has its own context.
    """

    def __getattr__(self, name: str) -> Any:
        known = _attributes()
        if (self, name) not in known:
            raise AttributeError(name)
        return known[self, name]

    def __setattr__(self, name: str, value: Any) -> None:
        _ATTRIBUTES.set({**_attributes(), (self, name): value})


class _Random:
    """Stands for the module `random` in Keras: each of the workers that share a process has a state of its own.

    They take turns in the middle of making a model, and each must get the numbers that it would get alone.
    """

    def seed(self, seed: int) -> None:
        random.seed(seed)
        if (worker := _worker()) is not None:
            _RANDOM.setdefault(worker, random.Random()).seed(seed)

    def randint(self, low: int, high: int) -> int:
        if (worker := _worker()) is None:
            return random.randint(low, high)
        if worker not in _RANDOM:
            _RANDOM[worker] = random.Random()
            _RANDOM[worker].setstate(random.getstate())
        return _RANDOM[worker].randint(low, high)


def install() -> None:
    """Make Keras keep its scopes per context, and its names and random numbers per worker."""
    module: Any = importlib.import_module("keras.src.backend.common.global_state")
    module.GLOBAL_STATE_TRACKER = _ContextLocal()
    module.threading = types.SimpleNamespace(local=_ContextLocal)  # which clear_session() calls
    variables: Any = importlib.import_module("keras.src.backend.common.variables")
    variables.register_uninitialized_variable = _register
    variables.initialize_all_variables = _initialize_all_variables
    seeds: Any = importlib.import_module("keras.src.random.seed_generator")
    seeds.python_random = _Random()
    numbers: Any = importlib.import_module("keras.src.utils.rng_utils")
    numbers.random = _Random()


def _register(variable: Any) -> None:
    """Let a variable wait for its value.

    The body of a function has a context of its own, in which Keras's list of these variables would be forgotten.
    """
    _WAITING.setdefault(_worker(), []).append(variable)


def _initialize_all_variables() -> None:
    """Initialize what waits for it."""
    for variable in _WAITING.pop(_worker(), []):
        variable._deferred_initialize()


def _worker() -> Any:
    """What stands for the worker that the code is in, if several run together."""
    here = HERE.get()
    return here.backend if here.with_workers is not None else None


def _attributes() -> dict[Any, Any]:
    """The attributes in this context; a worker starts with copies of those from before, such as the counters of names."""
    known, worker = _ATTRIBUTES.get() or {}, _worker()
    if worker is None or known.get(_OWNER) is worker:
        return known
    if worker not in _OF_WORKERS:
        _OF_WORKERS[worker] = {key: _copied(value) for key, value in known.items()} | {_OWNER: worker}
    return _OF_WORKERS[worker]


def _copied(value: Any) -> Any:
    return copy.copy(value) if isinstance(value, (dict, list, set)) else value
