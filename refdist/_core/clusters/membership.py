"""Which process of a cluster this one is, by the variables that schedulers set."""

import dataclasses
import importlib
from collections.abc import Mapping
from typing import Any

from refdist._core.base.extras import require

Variables = Mapping[str, str]

_FOUR = "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT"


@dataclasses.dataclass(frozen=True, slots=True)
class Membership:
    """Which process of how many this one is, and where they meet."""

    coordinator: str | None  # the address of the first process; None for one that is alone
    index: int
    count: int
    addresses: tuple[str, ...] | None  # of all processes, where they are known
    told_by: str  # for messages
    local_index: int | None = None  # among the processes of one machine, where each is to have devices of its own


@dataclasses.dataclass(frozen=True, slots=True)
class _Scheduler:
    """How a scheduler is recognised without asking anybody, and which variables have its numbers."""

    name: str
    hints: tuple[tuple[str, ...], ...]  # one of these groups is set in each process that it starts
    needed: str = ""  # by JAX
    index: str = ""
    counts: tuple[str, ...] = ()  # the first that is set counts
    local_index: str = ""

    def is_hinted(self, environ: Variables) -> bool:
        return any(all(environ.get(name) for name in names) for names in self.hints)


_SCHEDULERS = (
    # It comes before SLURM, because below mpirun the variables of SLURM tell of the daemons of Open MPI.
    _Scheduler(
        "Open MPI",
        (("OMPI_COMM_WORLD_SIZE",), ("OMPI_COMM_WORLD_RANK",)),
        "OMPI_MCA_orte_hnp_uri, which Open MPI 5 does not set any more: give the address of the process of rank 0 with mpirun -x "
        "MASTER_ADDR=... -x MASTER_PORT=...",
        "OMPI_COMM_WORLD_RANK",
        ("OMPI_COMM_WORLD_SIZE",),
        "OMPI_COMM_WORLD_LOCAL_RANK",
    ),
    _Scheduler(
        "SLURM",
        (("SLURM_STEP_NODELIST", "SLURM_PROCID"),),
        "SLURM_JOB_ID, SLURM_NTASKS and SLURM_LOCALID, which srun sets: start the program with srun",
        "SLURM_PROCID",
        # The step comes first: in a shell of `salloc` it has one task, whatever the allocation has.
        ("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
        "SLURM_LOCALID",
    ),
    # The last of these is set by JAX itself, where it finds TPUs.
    _Scheduler(
        "Cloud TPU", (("TPU_WORKER_HOSTNAMES",), ("TPU_PROCESS_ADDRESSES",), ("TPU_WORKER_ID",), ("TPU_ML_PLATFORM",))
    ),
    # Every pod knows its server; those of an indexed job have numbers, too.
    _Scheduler(
        "Kubernetes",
        (("KUBERNETES_SERVICE_HOST", "JOB_COMPLETION_INDEX"),),
        "the package kubernetes: run pip install kubernetes",
    ),
)


def found(environ: Variables, *, timeout_seconds: int = 60) -> Membership | None:
    """Say which process this is, by what torchrun sets, or else by what JAX finds; None if it was started alone.

    JAX is loaded, and perhaps servers of a cloud are asked, only where a variable hints at a scheduler that it knows. An address
    in JAX_COORDINATOR_ADDRESS, or in MASTER_ADDR and MASTER_PORT, wins over one that JAX would find.

    >>> one = found({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"})
    >>> one.index, one.count, one.coordinator
    (1, 2, '10.0.0.1:29500')
    """
    scheduler = next((one for one in _SCHEDULERS if one.is_hinted(environ)), None)
    rank, size = environ.get("RANK"), environ.get("WORLD_SIZE")
    if rank or (size and (scheduler is None or not scheduler.index)):
        return _by_rank(environ)
    if scheduler is None:
        return None
    membership = _by_scheduler(scheduler, environ, timeout_seconds)
    if size and membership is not None and str(membership.count) != size.strip():
        raise ValueError(
            f"WORLD_SIZE is {size!r}, and {scheduler.name} has started {membership.count} processes; expected the same. Correct "
            f"WORLD_SIZE, or leave it out."
        )
    return membership


def _by_rank(environ: Variables) -> Membership:
    index, count = _place("RANK", "WORLD_SIZE", environ)
    coordinator = _given_coordinator(environ)
    if coordinator is None and count > 1:
        missing = [name for name in ("MASTER_ADDR", "MASTER_PORT") if not environ.get(name)]
        raise ValueError(
            f"RANK is {index} and WORLD_SIZE is {count}, but {' and '.join(missing)} is not set; expected {_FOUR} together. Set "
            f"the address of the process of rank 0, the same in all of them."
        )
    return Membership(coordinator, index, count, None, _FOUR, _optional("LOCAL_RANK", environ))


def _by_scheduler(scheduler: _Scheduler, environ: Variables, timeout_seconds: int) -> Membership | None:
    coordinator = _given_coordinator(environ)
    if scheduler.index:
        count_name = next((name for name in scheduler.counts if environ.get(name)), scheduler.counts[0])
        index, count = _place(scheduler.index, count_name, environ)
        if count == 1:
            return Membership(coordinator, index, count, None, scheduler.name)
        if coordinator is not None:  # then nothing is left to find out
            return Membership(
                coordinator, index, count, None, scheduler.name, _optional(scheduler.local_index, environ)
            )
    answer = _asked(scheduler, environ, coordinator, timeout_seconds)
    if answer is None and scheduler.name == "Cloud TPU":
        return None  # a machine without TPUs, or one that may not use them
    if answer is None:
        raise RuntimeError(
            f"{scheduler.name} has started this process, but JAX does not find the others ({_known(scheduler, environ)}); expected "
            f"{scheduler.needed}. Or set {_INSTEAD}"
        )
    if not 0 <= answer.index < answer.count:
        raise RuntimeError(
            f"{scheduler.name} says that this is process {answer.index} of {answer.count} ({_known(scheduler, environ)}); expected "
            f"a number below the count. Correct the job, or set {_INSTEAD}"
        )
    return Membership(answer.coordinator, answer.index, answer.count, None, scheduler.name, answer.local_index)


_INSTEAD = f"{_FOUR}, or TF_CONFIG, in each process; WORLD_SIZE=1 and RANK=0 in one that is to be alone."


def _asked(scheduler: _Scheduler, environ: Variables, coordinator: str | None, timeout_seconds: int) -> Any:
    """What JAX says; it is loaded here only, because few programs are started by such a scheduler."""
    try:
        require("jax")
        detection = importlib.import_module("refdist._core.processes.detection")
        return detection.detected(scheduler.name, environ, coordinator, timeout_seconds)
    except Exception as error:
        needed = f", such as {scheduler.needed}" if scheduler.needed else ""
        raise RuntimeError(
            f"{scheduler.name} has started this process, but JAX could not find out about the others: {error} "
            f"({_known(scheduler, environ)}); expected answers to all its questions{needed}. Correct that, or set {_INSTEAD}"
        ) from error


def _known(scheduler: _Scheduler, environ: Variables) -> str:
    names = {name for group in scheduler.hints for name in group} | {scheduler.index, *scheduler.counts}
    return ", ".join(f"{name}={environ[name]}" for name in sorted(names) if environ.get(name))


def _place(index_name: str, count_name: str, environ: Variables) -> tuple[int, int]:
    missing = [name for name in (index_name, count_name) if not environ.get(name)]
    if missing:
        (given,) = {index_name, count_name} - set(missing)
        raise ValueError(
            f"{given} is {environ[given]!r}, but {missing[0]} is not set; expected both, or neither. Set {missing[0]}, or remove "
            f"{given} from the environment."
        )
    index, count = _number(index_name, environ), _number(count_name, environ)
    if index >= count:
        raise ValueError(
            f"{index_name} is {index} and {count_name} is {count}; expected a rank from 0 to {count - 1}, another one in each "
            f"process. Correct {index_name} or {count_name}."
        )
    return index, count


def _number(name: str, environ: Variables) -> int:
    text = environ[name].strip()
    if not text.isdecimal():
        raise ValueError(
            f"{name} is {environ[name]!r}; expected a whole number that is not negative. Correct the variable."
        )
    return int(text)


def _optional(name: str, environ: Variables) -> int | None:
    return _number(name, environ) if environ.get(name) else None


def _given_coordinator(environ: Variables) -> str | None:
    """The address that the environment gives for the first process, if it gives one."""
    given = environ.get("JAX_COORDINATOR_ADDRESS")
    if given:
        return given
    host, port = environ.get("MASTER_ADDR"), environ.get("MASTER_PORT")
    if not host or not port:
        return None
    number = _number("MASTER_PORT", environ)
    if environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        number += 1  # torchrun itself listens at the port that it tells
    if not 0 < number < 65_536:
        raise ValueError(
            f"MASTER_PORT is {port!r}; expected a port from 1 to 65534. Choose one that is free on {host}, the same for all."
        )
    return f"[{host}]:{number}" if ":" in host and not host.startswith("[") else f"{host}:{number}"
