"""The graphs of v1, reduced to what strategies need: calls that wait until a session runs them."""

import contextlib
import operator
from collections.abc import Callable, Generator, Mapping
from typing import Any

import numpy as np

from refdist._core.base import nest
from refdist._core.base.jax_facts import is_jax
from refdist._core.base.where import HERE, entered
from refdist._core.replicas.values import DistributedValues


class Graph:
    """Calls that wait: inside `with graph.as_default():`, strategies add their runs here instead of running them.

    >>> import refdist as tf
    >>> with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    ...     strategy = tf.compat.v1.distribute.OneDeviceStrategy("CPU:0")
    ...     later = strategy.experimental_run(lambda: tf.constant(3.0) * 2)
    ...     session.run(later)
    np.float32(6.0)
    """

    def __init__(self) -> None:
        self._calls: list[Symbol] = []

    @contextlib.contextmanager
    def as_default(self) -> Generator["Graph"]:
        """Make the calls in a block wait in this graph."""
        with entered(graph=self):
            yield self

    def add(self, name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> "Symbol":
        """Add a call, and return what stands for its result."""
        self._calls.append(Symbol(self, name, function, args, kwargs))
        return self._calls[-1]

    def as_graph_def(self) -> "GraphDef":
        """The graph as data."""
        return GraphDef(tuple(self._calls))


class GraphDef:
    """A graph as data: the names of its calls, and the numbers that are part of them."""

    def __init__(self, calls: "tuple[Symbol, ...]") -> None:
        self._calls = calls

    def SerializeToString(self) -> bytes:  # noqa: N802, the documented name
        """The graph as bytes; it contains arrays that are arguments of its calls, but not those in datasets and iterators."""
        return b"\n".join(call.serialized() for call in self._calls)


class Symbol:
    """The result of a call that waits; arithmetic with it waits too."""

    def __init__(self, graph: Graph, name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self.graph, self.name, self._function, self._given = graph, name, function, (args, kwargs)

    def value(self, known: dict[int, Any]) -> Any:
        """Make the call, only once for all requests with the same dictionary."""
        if id(self) not in known:
            args, kwargs = nest.map_structure(lambda leaf: evaluated(leaf, known), self._given)
            known[id(self)] = self._function(*args, **kwargs)
        return known[id(self)]

    def part(self, index: int) -> "Symbol":
        """What stands for the component of one replica."""
        return self.graph.add(f"{self.name}/replica_{index}", _component, self, index)

    def serialized(self) -> bytes:
        """The call as data."""
        leaves = nest.flatten(self._given)
        numbers = [np.asarray(leaf).tobytes() for leaf in leaves if isinstance(leaf, np.ndarray) or is_jax(leaf)]
        return b" ".join([self.name.encode(), *numbers])

    def __bool__(self) -> bool:
        raise TypeError(
            f"The value of {self.name!r} was asked for while a graph is built; expected a session to be run first. Use "
            f"session.run()."
        )

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r}, known when a session runs>"


def _operator(name: str, *, reflected: bool) -> Callable[[Symbol, Any], Symbol]:
    function = getattr(operator, name)

    def build(self: Symbol, other: Any) -> Symbol:
        return self.graph.add(name, function, *((other, self) if reflected else (self, other)))

    return build


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(Symbol, f"__{_name}__", _operator(_name, reflected=False))
    setattr(Symbol, f"__r{_name}__", _operator(_name, reflected=True))


class Session:
    """Makes the calls of a graph."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        self.graph = graph if graph is not None else HERE.get().graph
        self._closed = False

    def run(self, fetches: Any, feed_dict: Mapping[Symbol, Any] | None = None) -> Any:
        """Make the calls behind a nest of symbols, each once, and return their results as numpy values."""
        if self._closed:
            raise RuntimeError("run() was called on a closed session; expected an open one. Make a new Session.")
        known = {id(symbol): value for symbol, value in (feed_dict or {}).items()}
        with entered(graph=None):
            return nest.map_structure(lambda leaf: _fetched(evaluated(leaf, known)), fetches)

    def close(self) -> None:
        """Refuse all further runs."""
        self._closed = True

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def deferred(name: str, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Make a call or, while a graph is being built, let it wait there."""
    graph = HERE.get().graph
    return function(*args, **kwargs) if graph is None else graph.add(name, function, *args, **kwargs)


def evaluated(leaf: Any, known: dict[int, Any]) -> Any:
    """The value behind a symbol; anything else stands for itself."""
    return leaf.value(known) if isinstance(leaf, Symbol) else leaf


def _component(value: Any, index: int) -> Any:
    return value.component(index) if isinstance(value, DistributedValues) else value


def _fetched(value: Any) -> Any:
    if isinstance(value, DistributedValues) and not value.is_variable:
        raise TypeError(
            f"Session.run() was asked for a value with {value.count} components; expected one tensor for each thing to fetch. "
            f"Fetch what strategy.experimental_local_results() returns."
        )
    return np.array(value)[()] if hasattr(value, "__array__") else value
