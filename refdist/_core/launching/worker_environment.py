"""What a worker finds in its environment: where it is in the cluster, and which devices are its own."""

import json
import pathlib
from collections.abc import Mapping, Sequence

GPU_LIST = "CUDA_VISIBLE_DEVICES"
GPU_FOLDER = pathlib.Path("/proc/driver/nvidia/gpus")  # the driver's list: one folder for each GPU


class TooFewDevices(ValueError):
    """The machine has fewer GPUs than the workers are to have."""


def cluster_settings(addresses: Sequence[str], index: int) -> dict[str, str]:
    """Return the environment variables that say who is in the cluster, and which of them this worker is."""
    cluster = {"cluster": {"worker": list(addresses)}, "task": {"type": "worker", "index": index}}
    return {"TF_CONFIG": json.dumps(cluster), "REFDIST_LAUNCHED": "1", "PYTHONUNBUFFERED": "1"}


def device_settings(
    workers: int,
    devices_per_worker: int | None,
    environment: Mapping[str, str],
    gpu_folder: pathlib.Path = GPU_FOLDER,
) -> list[dict[str, str]]:
    """Return for each worker the environment variables that say which devices it has: some of the CPU, and some GPUs.

    >>> device_settings(2, None, {"CUDA_VISIBLE_DEVICES": "4,5,6,7", "REFDIST_BACKEND": "jax"})
    [{'CUDA_VISIBLE_DEVICES': '4,5'}, {'CUDA_VISIBLE_DEVICES': '6,7'}]
    """
    # Programs that choose no backend run on JAX, because no other can join processes.
    settings = {} if "REFDIST_BACKEND" in environment else {"REFDIST_BACKEND": f"jax:cpus={devices_per_worker or 1}"}
    if devices_per_worker is not None:
        # The first is for JAX, the second for MultiWorkerMirroredStrategy, which by itself takes one device of a CPU.
        settings |= {
            "JAX_NUM_CPU_DEVICES": str(devices_per_worker),
            "REFDIST_DEVICES_PER_WORKER": str(devices_per_worker),
        }
    gpus = _gpus(environment, gpu_folder)
    if not gpus:
        return [settings] * workers
    each = devices_per_worker or len(gpus) // workers
    if each == 0 or each * workers > len(gpus):
        raise TooFewDevices(
            f"refdist launch got {workers} workers with {devices_per_worker or 1} devices each, on a machine with "
            f"{len(gpus)} GPUs ({', '.join(gpus)}); expected at least as many GPUs as the workers need, since two processes "
            f"cannot share one. Start fewer workers, or set JAX_PLATFORMS=cpu to run them on the CPU."
        )
    return [{**settings, GPU_LIST: ",".join(gpus[i * each : (i + 1) * each])} for i in range(workers)]


def _gpus(environment: Mapping[str, str], folder: pathlib.Path) -> list[str]:
    """Name the GPUs that the workers can share out; none if JAX is told to run on something else."""
    platforms = environment.get("JAX_PLATFORMS", "")
    if platforms and not {"cuda", "gpu"} & set(platforms.split(",")):
        return []
    given = environment.get(GPU_LIST)
    if given is not None:
        return [name.strip() for name in given.split(",") if name.strip()]
    return [str(number) for number in range(len(list(folder.glob("*"))))]
