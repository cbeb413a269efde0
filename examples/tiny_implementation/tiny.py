"""A tiny implementation of a part of the documented tf.distribute API, in plain numpy.

The default strategy, OneDeviceStrategy and MirroredStrategy, and what belongs to them. Replicas are threads that meet.
"""

import contextlib
import contextvars
import enum
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np

HOST = "/job:localhost/replica:0/task:0/device:CPU:0"
_scope = contextvars.ContextVar("scope", default=None)  # the strategy of the innermost scope or run
_replica = contextvars.ContextVar("replica", default=None)  # the replica context, within run
ReduceOp = enum.Enum("ReduceOp", ["SUM", "MEAN"])
VariableAggregation = enum.Enum("VariableAggregation", ["NONE", "SUM", "MEAN", "ONLY_FIRST_REPLICA"])


class Tensor(np.ndarray):
    """A numpy array that knows its device."""

    device = HOST

    def __array_finalize__(self, source):
        self.device = source.device if isinstance(source, Tensor) else HOST

    def numpy(self):
        return np.array(self)


def put(value, device):
    tensor = np.array(value).view(Tensor)
    tensor.device = device
    return tensor


def constant(value, dtype=None):
    array = np.array(value, dtype)
    if dtype is None and not hasattr(value, "dtype"):  # plain Python numbers become 32 bits wide
        array = array.astype({"f": np.float32, "i": np.int32}.get(array.dtype.kind, array.dtype))
    return put(array, _replica.get().device if _replica.get() else HOST)


class DistributedValues:
    """One value for each replica."""

    def __init__(self, values):
        self.values = tuple(values)


class Variable(DistributedValues):
    """A variable with a copy on each device of a strategy; what replicas write is aggregated first."""

    def __init__(self, initial_value, trainable=True, name=None, dtype=None, aggregation=VariableAggregation.NONE):
        value = constant(initial_value() if callable(initial_value) else initial_value, dtype)
        super().__init__(put(value, device) for device in distribute.get_strategy().devices)
        self.aggregation = aggregation

    def read_value(self):
        return self.values[_replica.get().replica_id_in_sync_group if _replica.get() else 0]

    def __getattr__(self, name):  # numpy(), dtype, shape and device are those of the copy
        return getattr(self.read_value(), name)

    def __add__(self, other):
        return self.read_value() + other

    def assign(self, value, change=lambda old, new: new):
        def update(strategy, given):
            if isinstance(given, DistributedValues):
                first = self.aggregation is VariableAggregation.ONLY_FIRST_REPLICA
                given = given.values[0] if first else strategy.reduce(self.aggregation.name, given, None)
            for copy in self.values:
                copy[...] = change(copy, given)

        _replica.get().merge_call(update, (value,)) if _replica.get() else update(None, value)
        return self

    def assign_add(self, value):
        return self.assign(value, np.add)


class ReplicaContext:
    """Where the function of `run` is: on one replica, which can meet the others."""

    def __init__(self, strategy, index, brought, barrier):
        self.strategy, self.replica_id_in_sync_group = strategy, index
        self.num_replicas_in_sync, self.device = strategy.num_replicas_in_sync, strategy.devices[index]
        self._brought, self._barrier = brought, barrier

    def merge_call(self, merge_fn, args=(), kwargs=None):
        index = self.replica_id_in_sync_group
        self._brought[index] = args, kwargs or {}
        if self._barrier.wait() == 0:  # one of them calls the function for all
            token = _replica.set(None)
            args, kwargs = regrouped(self._brought)
            self._brought[:] = [merge_fn(self.strategy, *args, **kwargs)] * len(self._brought)
            _replica.reset(token)
        self._barrier.wait()
        return component(self._brought[index], index)

    def all_reduce(self, reduce_op, value):
        reduced = self.merge_call(lambda s, v: mapped(lambda leaf: s.reduce(reduce_op, leaf, None), v), (value,))
        return mapped(constant, reduced)  # on the device of this replica


class Strategy:
    """Runs a function once for each of its devices."""

    def __init__(self, devices):
        self.devices = [f"/job:localhost/replica:0/task:0/device:{name.lstrip('/').upper()}" for name in devices]
        self.num_replicas_in_sync = len(self.devices)

    @contextlib.contextmanager
    def scope(self):
        token = _scope.set(self)
        try:
            yield self
        finally:
            _scope.reset(token)

    def run(self, fn, args=(), kwargs=None, options=None):
        count, errors = self.num_replicas_in_sync, []
        results, brought, barrier = [None] * count, [None] * count, threading.Barrier(count)

        def body(index):
            _scope.set(self)
            _replica.set(ReplicaContext(self, index, brought, barrier))
            try:
                results[index] = fn(*component(args, index), **component(kwargs or {}, index))
            except BaseException as error:
                errors.append(error)  # the first; the others find the barrier broken
                barrier.abort()

        with ThreadPoolExecutor(count) as pool:
            for index in range(count):
                pool.submit(contextvars.copy_context().run, body, index)
        if errors:
            raise errors[0]
        return regrouped(results)

    def reduce(self, reduce_op, value, axis):
        parts = [np.asarray(part) for part in self.experimental_local_results(value)]
        total = sum(part if axis is None else part.sum(axis, part.dtype) for part in parts)
        if getattr(reduce_op, "name", reduce_op).upper() == "MEAN":
            total = total / sum(1 if axis is None else part.shape[axis] for part in parts)
        return put(total, HOST)

    def experimental_local_results(self, value):
        return value.values if isinstance(value, DistributedValues) else (value,)

    def experimental_distribute_values_from_function(self, value_fn):
        count = self.num_replicas_in_sync
        contexts = [SimpleNamespace(replica_id_in_sync_group=i, num_replicas_in_sync=count) for i in range(count)]
        return regrouped([value_fn(context) for context in contexts])


class OneDeviceStrategy(Strategy):
    def __init__(self, device):
        super().__init__([device])


class MirroredStrategy(Strategy):
    def __init__(self, devices=None, cross_device_ops=None):
        super().__init__(devices or ["CPU:0"])


def component(value, index):
    """Return what one replica gets of a nest."""
    return mapped(lambda leaf: leaf.values[index] if type(leaf) is DistributedValues else leaf, value)


def regrouped(results):
    """Make one nest of those of all replicas; the value of a single replica stays plain."""
    first = results[0]
    if isinstance(first, dict):
        return {key: regrouped([result[key] for result in results]) for key in first}
    if type(first) in (list, tuple):
        return type(first)(regrouped(list(parts)) for parts in zip(*results, strict=True))
    return first if len(results) == 1 or isinstance(first, Variable) else DistributedValues(results)


def mapped(function, value):
    if isinstance(value, dict):
        return {key: mapped(function, part) for key, part in value.items()}
    return type(value)(mapped(function, part) for part in value) if type(value) in (list, tuple) else function(value)


identity = convert_to_tensor = constant
default = Strategy(["CPU:0"])
distribute = SimpleNamespace(
    **{kind.__name__: kind for kind in (Strategy, OneDeviceStrategy, MirroredStrategy, DistributedValues)},
    **{kind.__name__: kind for kind in (ReplicaContext, ReduceOp)},
    get_strategy=lambda: _scope.get() or default,
    get_replica_context=_replica.get,
    in_cross_replica_context=lambda: _scope.get() is not None and _replica.get() is None,
)
