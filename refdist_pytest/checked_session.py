"""One test on its own backend: its strategy or its workers, and what must hold at its end."""

import contextlib
import random
from collections.abc import Callable, Generator, Mapping
from typing import Any

import numpy as np

import refdist as tf


class Session:
    """A fresh backend for one test, and what is known about what the test did on it."""

    def __init__(
        self,
        backend: str,
        count: int | None,
        workers: int,
        seed: int,
        options: Mapping[str, Any],
        mark: Mapping[str, Any],
    ) -> None:
        self.backend, self.seed, self.count, self._workers = backend, seed, count, workers
        self._options, self._mark, self._made, self._runs = dict(options), mark, False, 0
        self._variables: dict[int, Any] = {}
        self.ledger: Any = None

    @contextlib.contextmanager
    def entered(self) -> Generator[None]:
        """Surround the test with its backend, its ledger and its seed."""
        cluster = self._mark.get("cluster")
        if cluster is not None:
            devices = {"cluster": cluster() if callable(cluster) else cluster}
        elif self.backend == "jax":
            # Virtual workers share the devices of JAX, and take one CPU each where there are no GPUs: processors play these, too.
            devices = {"cpus" if self._workers == 1 else "gpus": (self.count or 1) * self._workers}
        else:
            devices = {"gpus": self.count}
        with tf.using(self.backend, **devices, **self._options) as opened:
            self._names = [name.short for name in opened.devices()]
            if cluster is None or any(not name.startswith("CPU") for name in self._names):
                kind = "CPU" if "cpus" in devices else self._names[-1].partition(":")[0]
                self._names = [name for name in self._names if name.startswith(kind)]
            self.count = len(self._names) // (self._workers if self.backend == "jax" else 1)
            random.seed(self.seed)
            np.random.seed(self.seed % 2**32)
            tf.random.set_seed(self.seed)
            with tf.simulator.ledger(key=self._mark.get("key")) as self.ledger:
                yield

    def strategy(self) -> Any:
        """The strategy of a test without further workers."""
        if self._mark.get("workers", 1) > 1:
            raise ValueError(
                f"The fixture refdist_strategy was asked for workers={self._mark['workers']}; expected one worker, because each of "
                f"several has a strategy of its own. Use refdist_cluster.run(program), which calls program(strategy) on each."
            )
        self._made = True
        return self._observed(tf.distribute.MirroredStrategy)(self._names)

    def cluster(self) -> "Workers":
        """The workers of a test."""
        self._made = True
        return Workers(self._workers, lambda: self._observed(tf.distribute.MultiWorkerMirroredStrategy)())

    def check(self) -> None:
        """Raise what is wrong after the test has passed."""
        __tracebackhide__ = True
        if not self._made or not self._mark.get("checks", True):
            return
        if not self._runs:
            raise AssertionError(
                "Nothing ran on the replicas of the strategy in this test; expected strategy.run(), or what calls it. Run the step "
                "on it, or mark the test with refdist(checks=False)."
            )
        self.ledger.check()
        for variable in self._variables.values():
            _require_equal_copies(variable)

    def described(self) -> str:
        """What a report of a failure says: how to repeat it, and who got what."""
        count = f" --refdist-replicas={self.count}" if self.count is not None else ""
        looks = "".join(f" --refdist-{name}" for name in self._options)
        lines = [
            f"--refdist-backend={self.backend}{count} --refdist-seed={self.seed}{looks}",
            f"run() was called {self._runs} time(s), with {len(self._variables)} variable(s) on the replicas",
        ]
        if self.ledger is not None and self.ledger.deliveries:
            lines.append(self.ledger.table())
        return "\n".join(lines)

    def _observed(self, kind: Any) -> Any:
        """The same kind of strategy, whose runs and variables this session knows."""
        session = self

        class Observed(kind):
            """A strategy in a test."""

            def run(self, *args: Any, **kwargs: Any) -> Any:
                session._runs += 1
                return super().run(*args, **kwargs)

            @contextlib.contextmanager
            def scope(self) -> Generator[Any]:
                with super().scope() as strategy, tf.variable_creator_scope(session._created):
                    yield strategy

        Observed.__name__ = Observed.__qualname__ = kind.__name__
        return Observed

    def _created(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        made = next_creator(**kwargs)
        self._variables[id(made)] = made
        return made


class Workers:
    """Virtual workers, which run one program together."""

    def __init__(self, count: int, make: Callable[[], Any]) -> None:
        self.count, self._make = count, make

    def run(self, program: Callable[[Any], Any]) -> list[Any]:
        """Call program(strategy) on each worker, with a strategy of its own, and list what the calls return."""
        return tf.cluster.run_workers(lambda worker: program(self._make()), self.count)


def ask_jax(count: int) -> None:
    """Ask JAX for host devices, unless it has started: then the backend says what to do."""
    import jax

    with contextlib.suppress(RuntimeError):
        jax.config.update("jax_num_cpu_devices", count)


def _require_equal_copies(variable: Any) -> None:
    """Raise if the copies of a mirrored variable differ."""
    __tracebackhide__ = True
    if not isinstance(variable, tf.distribute.DistributedValues) or _synchronized_on_read(variable):
        return
    name: str = getattr(variable, "name", "")
    copies = [np.asarray(copy.numpy()) for copy in variable.values]
    for replica, copy in enumerate(copies):
        if not np.array_equal(copies[0], copy, equal_nan=copy.dtype.kind in "fc"):
            raise AssertionError(
                f"The copies of the mirrored variable {name!r} differ at the end of the test: {copies[0]} on replica 0, "
                f"{copy} on replica {replica}; expected equal ones. Write to the variable itself, not to one copy of it."
            )


def _synchronized_on_read(variable: Any) -> bool:
    return variable.synchronization is tf.VariableSynchronization.ON_READ
