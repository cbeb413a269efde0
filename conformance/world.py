"""What a check may touch: the documented namespace, strategies built by documented names, and expectations."""

import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy.typing as npt

from conformance.catalogue import KINDS, Behavior
from conformance.expectations import Expectations, Unsupported
from conformance.implementations import Implementation
from conformance.kinds import BUILDERS, ONE_REPLICA, tpu_strategy


class World(Expectations):
    """One implementation, seen by one check with one replica count."""

    def __init__(self, implementation: Implementation, tf: Any, behavior: Behavior, replicas: int) -> None:
        self.tf = tf
        self.behavior = behavior
        self.replicas = replicas
        self.built = ""
        """The last strategy built, in words; it is named if the check fails."""
        self.ran_workers = False
        """Whether several workers have run a program."""
        self._implementation = implementation
        self._gpus = implementation.gpus
        self._cpus = implementation.cpus
        self._tpus = implementation.tpus

    def strategy(self, kind: str = "Mirrored", replicas: int | None = None) -> Any:
        """Build a strategy; without a count it has as many replicas as the check was asked to use."""
        if kind not in KINDS:
            raise ValueError(
                f"world.strategy() got kind={kind!r}; expected one of {', '.join(KINDS)}. Correct the spelling."
            )
        if kind not in self._kinds():
            raise Unsupported(f"has no {kind} strategy that can be built here")
        count = 1 if kind in ONE_REPLICA else replicas or self.replicas
        self.built = f"{kind} with {count} replica{'s' * (count > 1)}"
        return BUILDERS[kind](self.tf, self._cores(count) if kind == "TPU" else self.names(count))

    def tpu(self, replicas: int, logical: int) -> Any:
        """Build a TPU strategy whose replicas have 1, 2, 4 or 8 logical devices each."""
        self._cores(replicas * logical)
        self.built = f"TPU with {replicas} replica{'s' * (replicas > 1)} of {logical} logical devices"
        return tpu_strategy(self.tf, replicas, COMPUTATION_SHAPES[logical])

    def each(self, *kinds: str) -> Iterator[Any]:
        """Build one strategy after another: of these kinds, or else of those that the behavior applies to.

        Kinds that the implementation lacks are left out.
        """
        wanted = kinds or self.behavior.applies_to
        possible = [kind for kind in wanted if kind in self._kinds()]
        alone = self._implementation.machine is not None and MULTI_WORKER in self._implementation.kinds.intersection(
            wanted
        )
        if not possible and not alone:
            raise Unsupported(f"has no strategy of kind {', '.join(wanted)} that can be built here")
        return chain(map(self.strategy, possible), self._alone() if alone else ())

    def _alone(self) -> Iterator[Any]:
        """Build a multi-worker strategy that is its only worker.

        Its replicas are all GPUs of the machine, so while it is in use the machine has no others.
        """
        with self.machine(gpus=self.replicas):
            self.built = f"{MULTI_WORKER} with one worker and {self.replicas} replica{'s' * (self.replicas > 1)}"
            config = os.environ.pop("TF_CONFIG", None)
            try:
                strategy = self.tf.distribute.MultiWorkerMirroredStrategy()
            finally:
                if config is not None:
                    os.environ["TF_CONFIG"] = config
            yield strategy

    def names(self, count: int | None = None) -> list[str]:
        """Return device names for replicas: GPUs if the machine has any, otherwise CPUs."""
        wanted = self.replicas if count is None else count
        kind, available = ("GPU", self._gpus) if self._gpus else ("CPU", self._cpus)
        if wanted > available:
            raise Unsupported(f"needs {wanted} devices of type {kind}, and there are {available}")
        return [f"{kind}:{index}" for index in range(wanted)]

    def replica_devices(self, strategy: Any) -> list[str]:
        """Return the full names of the devices on which the replicas of a strategy that was built here must be.

        The device assignment chooses the cores of a TPU strategy, so there the strategy itself is asked.
        """
        if self.is_a(strategy, "TPUStrategy"):
            return list(strategy.extended.worker_devices)
        return [self.full(name) for name in self.names(strategy.num_replicas_in_sync)]

    def is_a(self, strategy: Any, *names: str) -> bool:
        """Tell whether a strategy is of one of these classes, in either flavor; classes that are missing do not count."""
        flavors = [getattr(self.tf, "distribute", None)]
        flavors.append(getattr(getattr(getattr(self.tf, "compat", None), "v1", None), "distribute", None))
        found = [getattr(flavor, name, None) for flavor in flavors for name in names]
        return isinstance(strategy, tuple(kind for kind in found if kind is not None))

    def full(self, name: str) -> str:
        """Return the full device string of a short one: "gpu:0", "/GPU:0", "/device:GPU:0" and so on."""
        match = _DEVICE.fullmatch(name)
        if match is None:
            raise ValueError(
                f"world.full() got {name!r}; expected a device name such as GPU:0 or /job:worker/task:1/device:CPU:0. "
                f"Pass the name of one device."
            )
        job, replica, task, kind, index = match.groups()
        return f"/job:{job or 'localhost'}/replica:{replica or 0}/task:{task or 0}/device:{kind.upper()}:{index}"

    def has(self, kind: str) -> bool:
        """Tell whether a strategy of this kind can be built here."""
        return kind in self._kinds()

    def tpus(self, count: int) -> None:
        """Require that the machine has this many TPU cores."""
        self._cores(count)

    def gpus(self, count: int) -> None:
        """Require that the machine has this many GPUs."""
        if self._gpus < count:
            raise Unsupported(f"needs {count} GPU{'s' * (count > 1)}")

    @contextmanager
    def machine(self, *, gpus: int = 0, cpus: int = 1, tpus: int = 0) -> Generator[None]:
        """Let the machine have exactly these devices within the block."""
        if self._implementation.machine is None:
            raise Unsupported(self._implementation.why_no_machine)
        before = self._gpus, self._cpus, self._tpus
        with self._implementation.machine(gpus, cpus, tpus):
            self._gpus, self._cpus, self._tpus = gpus, cpus, tpus
            try:
                yield
            finally:
                self._gpus, self._cpus, self._tpus = before

    def workers(
        self,
        count: int,
        program: Callable[[Any, int], Any],
        *,
        replicas: int = 1,
        build: Callable[[], Any] | None = None,
    ) -> list[Any]:
        """Run `program(strategy, index)` on each worker of a multi-worker strategy, and return what each returned.

        The workers may be separate processes, so that only what they return is seen outside; and a worker may have to
        wait for the others while its strategy is built, so each builds its strategy first.
        """
        if self._implementation.workers is None:
            raise Unsupported("cannot run several workers")
        make = build or self.tf.distribute.MultiWorkerMirroredStrategy
        results = self._implementation.workers(count, replicas, lambda index: program(make(), index))
        self.ran_workers = True
        return results

    def on_two_workers(self, program: Callable[[Any, int], Any]) -> list[Any]:
        """Run a program on two workers as `workers` does, or return an empty list if that cannot be done.

        For checks that add two workers to a strategy of one; they do this first, because a process that has computed may not
        be able to fork.
        """
        if "multi_worker" not in self._implementation.features:
            return []
        try:
            return self.workers(2, program, replicas=self.replicas)
        except Unsupported:
            return []

    def stages(self, distributed: Any) -> list[str]:
        """Return what was done to a dataset to distribute it, such as ["rebatch", "prefetch(2)"], if that is known."""
        if self._implementation.stages is None:
            raise Unsupported("cannot tell how it distributes a dataset")
        return self._implementation.stages(distributed)

    def pieces(self, tensor: Any) -> list[tuple[str, Any]]:
        """Return the device and the value of each part of a tensor, if that is known; a single part is the whole tensor."""
        if self._implementation.pieces is None:
            raise Unsupported("cannot tell what of a tensor lies on which logical device")
        return self._implementation.pieces(tensor)

    def device(self, value: Any) -> str:
        """Return the full device string of a tensor or a variable."""
        return self._implementation.device(value)

    def text(self, value: Any) -> str:
        """Return what an interactive session prints for a value."""
        return repr(value)

    def replica_id(self) -> int:
        """Return the id of the replica in whose context this is called."""
        return int(self.tf.distribute.get_replica_context().replica_id_in_sync_group)

    def locals(self, strategy: Any, value: Any) -> list[npt.NDArray[Any]]:
        """Return the local components of a value as numpy arrays."""
        return [self.array(part) for part in strategy.experimental_local_results(value)]

    def per_replica(self, strategy: Any, values: Sequence[Any]) -> Any:
        """Make a per-replica value of these components; with one replica, a plain tensor."""
        count = strategy.num_replicas_in_sync
        if len(values) != count:
            raise ValueError(
                f"world.per_replica() got {len(values)} components; expected one for each of the {count} replicas. "
                f"Make the list from strategy.num_replicas_in_sync."
            )

        def component() -> Any:
            value = values[self.replica_id()]
            return self.tf.constant(value.numpy() if hasattr(value, "numpy") else value)

        return strategy.run(component)

    def _kinds(self) -> frozenset[str]:
        """Return the kinds that the implementation has and that can be built on the machine as it is."""
        return self._implementation.kinds & BUILDERS.keys() - (frozenset() if self._tpus else {"TPU"})

    def _cores(self, count: int) -> list[str]:
        if count > self._tpus:
            raise Unsupported(f"needs {count} TPU cores, and there are {self._tpus}")
        return [f"TPU:{index}" for index in range(count)]


MULTI_WORKER = "MultiWorkerMirrored"
"""The kind that cannot be built for chosen devices: it takes those of its machine."""

COMPUTATION_SHAPES = {1: (1, 1, 1, 1), 2: (1, 1, 1, 2), 4: (1, 1, 2, 2), 8: (1, 2, 2, 2)}
"""The block of cores that has so many logical devices."""

_DEVICE = re.compile(
    r"(?:/job:(\w+))?(?:/replica:(\d+))?(?:/task:(\d+))?/?(?:device:)?([a-z_]+):(\d+)", flags=re.IGNORECASE
)
