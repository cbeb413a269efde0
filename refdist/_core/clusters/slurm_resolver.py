"""The cluster of a step of SLURM, from the variables that srun sets."""

import os
import re
from collections.abc import Mapping
from typing import Any

from refdist._core.clusters.cluster_spec import ClusterSpec
from refdist._core.clusters.resolvers import ClusterResolver
from refdist._core.clusters.slurm_expressions import nodes_of, task_counts_of


class SlurmClusterResolver(ClusterResolver):
    """Lays the tasks of a SLURM step out on its nodes, and gives each its GPUs.

    What is not given is read from SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_STEP_NODELIST and SLURM_STEP_TASKS_PER_NODE. Which
    task this process is, is known after `cluster_spec()` was called, which also sets CUDA_VISIBLE_DEVICES unless told not to.
    """

    def __init__(
        self,
        jobs: Mapping[str, int] | None = None,
        port_base: int = 8888,
        gpus_per_node: int | None = None,
        gpus_per_task: int | None = None,
        tasks_per_node: int | Mapping[str, int] | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str = "grpc",
    ) -> None:
        self._rank = _number("SLURM_PROCID")
        self._jobs = {"worker": _number("SLURM_STEP_NUM_TASKS")} if jobs is None else dict(jobs)
        self._port_base, self._auto_set_gpu, self.rpc_layer = port_base, auto_set_gpu, rpc_layer
        self._tasks = _tasks_by_node(tasks_per_node)
        most = max(self._tasks.values())
        gpus = _gpus_here() if gpus_per_node is None else gpus_per_node
        self._gpus_per_task = gpus // max(most, 1) if gpus_per_task is None else gpus_per_task
        if most * self._gpus_per_task > gpus:
            raise RuntimeError(
                f"SlurmClusterResolver() got {most} tasks on a node with {self._gpus_per_task} GPUs each; expected at most the "
                f"{gpus} GPUs that a node has. Lower gpus_per_task or tasks_per_node, or correct gpus_per_node."
            )
        asked, assigned = sum(self._jobs.values()), sum(self._tasks.values())
        if asked != assigned or self._rank >= assigned:
            raise RuntimeError(
                f"SlurmClusterResolver() got jobs with {asked} tasks in the task {self._rank} of a step with {assigned} tasks "
                f"({self._tasks}); expected one for each. Correct jobs or tasks_per_node, or start as many with srun -n {asked}."
            )

    def cluster_spec(self) -> ClusterSpec:
        """The jobs in alphabetical order, on the nodes in the order of SLURM, with a port for each task of a node."""
        places = [(node, place) for node, count in self._tasks.items() for place in range(count)]
        self._require_this_node(places[self._rank][0])
        addresses = [f"{node}:{self._port_base + place}" for node, place in places]
        cluster: dict[str, list[str]] = {}
        start = 0
        for job, count in sorted(self._jobs.items()):
            cluster[job] = addresses[start : start + count]
            if start <= self._rank < start + count:
                self.task_type, self.task_id = job, self._rank - start
            start += count
        if self._auto_set_gpu:
            first = places[self._rank][1] * self._gpus_per_task
            os.environ["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, range(first, first + self._gpus_per_task)))
        return ClusterSpec(cluster)

    def get_task_info(self) -> tuple[str | None, int | None]:
        """The job and the index of this task; None before `cluster_spec()` was called."""
        return self.task_type, self.task_id

    def num_accelerators(self, task_type: Any = None, task_id: Any = None, config_proto: Any = None) -> dict[str, int]:
        """How many GPUs each task has."""
        return {"GPU": self._gpus_per_task}

    def _require_this_node(self, expected: str) -> None:
        """Raise if SLURM has dealt the tasks out in another way, because then every address would be that of another task."""
        node = os.environ.get("SLURMD_NODENAME")
        if node in self._tasks and node != expected:
            raise RuntimeError(
                f"The task {self._rank} runs on {node} (SLURMD_NODENAME); expected {expected}, because the tasks of a node are "
                f"expected to follow each other. Start them with srun --distribution=block, or correct tasks_per_node."
            )


def _variable(name: str) -> str:
    if name not in os.environ:
        raise RuntimeError(
            f"SlurmClusterResolver() finds no variable {name}; expected what srun sets for each task of a step. Start the program "
            f"with srun, or pass jobs, tasks_per_node and gpus_per_node, and set SLURM_PROCID."
        )
    return os.environ[name]


def _number(name: str) -> int:
    text = _variable(name)
    if not text.isdecimal():
        raise ValueError(f"{name} is {text!r}; expected a whole number. Leave the variable as SLURM sets it.")
    return int(text)


def _tasks_by_node(given: int | Mapping[str, int] | None) -> dict[str, int]:
    """How many tasks each node has; the nodes are in the order in which SLURM deals tasks out to them."""
    if isinstance(given, Mapping):
        tasks = dict(sorted(given.items(), key=_as_slurm_sorts))
    else:
        nodes = nodes_of(_variable("SLURM_STEP_NODELIST"))
        counts = task_counts_of(_variable("SLURM_STEP_TASKS_PER_NODE")) if given is None else [int(given)] * len(nodes)
        if len(counts) != len(nodes) or len(set(nodes)) != len(nodes):
            raise RuntimeError(
                f"SLURM_STEP_NODELIST has the nodes {nodes}, and SLURM_STEP_TASKS_PER_NODE the counts {counts}; expected different "
                f"nodes, and one count for each. Leave the variables as SLURM sets them, or pass tasks_per_node."
            )
        tasks = dict(zip(nodes, counts, strict=True))
    if not tasks or min(tasks.values()) < 0:
        raise ValueError(
            f"SlurmClusterResolver() got tasks_per_node={given!r}; expected how many tasks a node has, or a dict of nodes and "
            f"their tasks. Leave it out, and SLURM is asked."
        )
    return tasks


def _as_slurm_sorts(item: tuple[str, int]) -> list[tuple[str, int]]:
    """Sort names by the numbers in them, so that node9 comes before node10."""
    parts = re.split(r"(\d+)", item[0])
    return [(text, int(number or 0)) for text, number in zip(parts[::2], [*parts[1::2], ""], strict=True)]


def _gpus_here() -> int:
    """How many GPUs this node has, by what CUDA may see, or else by what the driver lists."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return len([one for one in visible.split(",") if one.strip()])
    import subprocess  # which takes as long to load as all resolvers, and only a machine with GPUs needs it

    try:
        listed = subprocess.run(["nvidia-smi", "--list-gpus"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise RuntimeError(
            f"SlurmClusterResolver() got no gpus_per_node, and nvidia-smi does not answer ({error}); expected one or the other. "
            f"Pass gpus_per_node=0 where the nodes have no GPUs."
        ) from error
    return sum(line.startswith("GPU ") for line in listed.splitlines())
