"""`tf.random.Generator`: a stream of random numbers whose place is a variable, so that it advances in compiled programs too."""

import enum
import importlib
import math
from typing import Any

import numpy as np

from refdist._core.base import philox
from refdist._core.base.entropy import operation_stream
from refdist._core.base.enums import VariableAggregation, VariableSynchronization
from refdist._core.base.jax_facts import is_tracer
from refdist._core.ops.random_numbers import (
    BLOCKS,
    require_philox,
    scaled,
    uniform_from,
    words_of_integers,
)
from refdist._core.ops.tensor_functions import convert_to_tensor, fresh
from refdist._core.replicas import context
from refdist._core.saving.module import Trackable
from refdist._core.variables.variable import Variable


class Algorithm(enum.Enum):
    """How random numbers are made; refdist has Philox."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


class Generator(Trackable):
    """Draws random numbers, and remembers in a variable how many it has drawn.

    One that is made in the scope of a strategy draws other numbers on each replica.

    >>> import refdist as tf
    >>> tf.random.Generator.from_seed(1).uniform([2], 0, 10, dtype=tf.int32)
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([4, 9], dtype=int32)>
    """

    def __init__(self, copy_from: "Generator | None" = None, state: Any = None, alg: Any = None) -> None:
        if (copy_from is None) == (state is None):
            raise ValueError(
                "Generator() got both of copy_from and state, or none; expected one of them. Use tf.random.Generator.from_seed()."
            )
        require_philox("philox" if alg is None else alg)
        self._strategy = context.get_strategy() if context.has_strategy() else None
        given = state if copy_from is None else copy_from.state.read_value()
        self._state_var = given if isinstance(given, Variable) else _new_state(_stored(given))

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> "Generator":
        """Make a generator whose numbers a seed decides."""
        return cls(state=create_rng_state(seed, "philox" if alg is None else alg), alg=alg)

    @classmethod
    def from_state(cls, state: Any, alg: Any) -> "Generator":
        """Make a generator that continues from a state; a variable is used as it is."""
        return cls(state=state, alg=alg)

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> "Generator":
        """Make a generator whose numbers are others in every process."""
        words = operation_stream(None, "generator", 0)
        return cls(state=np.array(words, np.uint32), alg=alg)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any) -> "Generator":
        """Make a generator of a key, and of two integers that say where it is."""
        return cls(state=_state_of(key, counter), alg=alg)

    def reset(self, state: Any) -> None:
        """Continue from another state."""
        self._state_var.assign(_stored(state))

    def reset_from_seed(self, seed: Any) -> None:
        """Continue as a new generator of a seed would begin."""
        self.reset(create_rng_state(seed, "philox"))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Continue from a key and a counter."""
        self.reset(_state_of(key, counter))

    @property
    def state(self) -> Any:
        """The variable: the counter and the key, as three integers; where JAX has no room for 64 bits, as six words of 32."""
        return self._state_var

    @property
    def algorithm(self) -> int:
        """The number of the algorithm."""
        return Algorithm.PHILOX.value

    @property
    def key(self) -> Any:
        """The key, without the counter."""
        return self._state_var[-1] if self._state_var.dtype == np.int64 else self._state_var[4:]

    def skip(self, delta: Any) -> Any:
        """Advance as if so many numbers were drawn, and return the state from before."""
        before = self._state_var.read_value()
        self._advance(before, delta)
        return before

    def normal(self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = "float32", name: Any = None) -> Any:
        """Draw numbers of a normal distribution."""
        return scaled(philox.normal, self._draw, shape, dtype, stddev, mean)

    def truncated_normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = "float32", name: Any = None
    ) -> Any:
        """Draw numbers of a normal distribution, without those that are more than two deviations away."""
        return scaled(philox.truncated_normal, self._draw, shape, dtype, stddev, mean)

    def uniform(self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = "float32", name: Any = None) -> Any:
        """Draw uniform numbers from minval up to maxval; None as both stands for all integers of the dtype."""
        return uniform_from(self._draw, shape, minval, maxval, dtype, "uniform")

    def uniform_full_int(self, shape: Any, dtype: Any = "uint64", name: Any = None) -> Any:
        """Draw integers of all values that a dtype has."""
        return uniform_from(self._draw, shape, None, None, dtype, "uniform_full_int")

    def binomial(self, shape: Any, counts: Any, probs: Any, dtype: Any = "int32", name: Any = None) -> Any:
        """Draw numbers of binomial distributions: how often something of a probability happens."""
        distributions: Any = importlib.import_module("refdist._core.ops.random_distributions")
        return distributions.binomial_from(self._draw, shape, counts, probs, dtype)

    def make_seeds(self, count: Any = 1) -> Any:
        """Draw pairs of seeds for stateless operations, one in each column."""
        dtype = np.dtype("int64" if _has_room() else "int32")
        keys = self.uniform_full_int([int(count)], dtype)
        return keys.__array_namespace__().stack([keys, keys * 0])

    def split(self, count: Any = 1) -> "list[Generator]":
        """Draw the keys of independent generators."""
        words = philox.words(self._words(int(count) * BLOCKS), 2 * int(count))
        keys = np.asarray(words).reshape(-1, 2)
        return [Generator(state=np.array([0, 0, 0, 0, *key], np.uint32)) for key in keys]

    def _draw(self, blocks: int, dtype: Any) -> philox.Stream:
        words, number = self._words(blocks), self._replica()
        if number is None:
            return words
        place = np.uint32(number) if isinstance(number, int) else number.astype(np.uint32)
        own = philox.encrypted((*words[:2], place, *philox.stream(0, 0)[3:]), np.zeros((), np.uint32))
        return own[..., 0], own[..., 1], *words[2:]

    def _words(self, blocks: int) -> philox.Stream:
        """Where the next numbers are, after which the generator is behind them."""
        before = self._state_var.read_value()
        self._advance(before, math.ceil(blocks / BLOCKS))
        return _stream_of(before)

    def _advance(self, before: Any, delta: Any) -> None:
        words = philox.skipped(_stream_of(before), np.uint32(int(delta)), BLOCKS)
        state = [*words[2:], *words[:2]]
        if is_tracer(state[0]):
            arrays = state[0].__array_namespace__()
            self._state_var.assign(_joined(arrays.stack(state), before.dtype))
        else:
            self._state_var.assign(_joined(np.array(state, np.uint32), before.dtype))

    def _replica(self) -> Any:
        """The number of the replica that draws, if the generator belongs to its strategy."""
        replica = context.get_replica_context() if self._strategy is not None and context.has_strategy() else None
        return None if replica is None else replica.replica_id_in_sync_group


_global: list[Generator] = []


def get_global_generator() -> Generator:
    """The generator of this process, made when it is first asked for."""
    if not _global:
        set_global_generator(Generator.from_non_deterministic_state())
    return _global[0]


def set_global_generator(generator: Generator) -> None:
    """Use another generator as that of this process."""
    _global[:] = [generator]


def create_rng_state(seed: Any, alg: Any) -> Any:
    """The state in which a generator of a seed begins: its parts of 64 bits, or a row of integers as they are."""
    require_philox(alg)
    if isinstance(seed, (int, np.integer)):
        number = int(seed)
        words = [word for part in range(3) for word in philox.words_of(number >> 64 * part)]
        return fresh(_stored(np.array(words, np.uint32)))
    parts = np.asarray(seed).astype(np.int64).reshape(-1)[:3]
    return fresh(_stored(np.concatenate([np.zeros(3 - len(parts), np.int64), parts])))


def _state_of(key: Any, counter: Any) -> Any:
    counts = np.asarray(counter).astype(np.int64)
    if counts.shape != (2,) or np.ndim(key):
        raise ValueError(
            f"A generator got a key of shape {np.shape(key)} and a counter of shape {counts.shape}; expected one integer and two. "
            f"Use tf.random.Generator.from_seed()."
        )
    return np.array([*counts, int(key)], np.int64)


def _new_state(state: Any) -> Variable:
    # Each replica advances on its own, and outside of replicas they all do.
    return Variable(
        state,
        trainable=False,
        name="StateVar",
        synchronization=VariableSynchronization.ON_READ,
        aggregation=VariableAggregation.ONLY_FIRST_REPLICA,
    )


def _stored(state: Any) -> Any:
    """A state in the form that fits into a variable here."""
    tensor = convert_to_tensor(state) if is_tracer(state) else np.asarray(state)
    if tuple(tensor.shape) not in ((3,), (6,)) or tensor.dtype.kind not in "iu":
        raise ValueError(
            f"A generator got a state of shape {tuple(tensor.shape)} and dtype {tensor.dtype}; expected three integers. Use what "
            f"`generator.state` says, or tf.random.create_rng_state()."
        )
    words = tensor if tensor.shape[0] == 6 else tensor.__array_namespace__().stack(words_of_integers(tensor))
    return _joined(words, np.dtype(np.int64 if _has_room() else np.uint32))


def _has_room() -> bool:
    """Say whether tensors have 64 bits here."""
    return fresh(np.zeros(1, np.int64)).dtype.itemsize == 8


def _stream_of(state: Any) -> philox.Stream:
    given = state if is_tracer(state) else np.asarray(state)
    words = words_of_integers(given) if given.shape[0] == 3 else tuple(given[place] for place in range(6))
    return (*words[4:], *words[:4])


def _joined(words: Any, dtype: np.dtype[Any]) -> Any:
    """Words of 32 bits in a dtype: as they are, or two in each integer."""
    if dtype.itemsize == 4:
        return words
    pairs = words.reshape(-1, 2).astype(np.int64)
    return pairs[:, 1] << np.int64(32) | pairs[:, 0]
