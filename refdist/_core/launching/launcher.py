"""A cluster on this machine: one process for each worker, started again if that is wanted and needed."""

import resource
import time

from refdist._core.launching.launch_attempt import Attempt
from refdist._core.launching.launch_plan import Launch
from refdist._core.launching.signal_inbox import SignalInbox
from refdist._core.launching.worker_environment import device_settings

FILES_BESIDE_PIPES = 64


def run(launch: Launch) -> int:
    """Run a cluster to its end, and return the exit code.

    It has to be called in the main thread, where Python handles signals: they are passed on to the workers, and no process is
    left when it returns.
    """
    deadline = None if launch.timeout_seconds is None else time.monotonic() + launch.timeout_seconds
    devices = device_settings(launch.workers, launch.devices_per_worker, launch.environment)
    _allow_files(2 * launch.workers + FILES_BESIDE_PIPES)
    with SignalInbox() as signals:
        number = 0
        while (verdict := Attempt(launch, number, devices, signals, deadline).run()).may_try_again:
            number += 1
    return verdict.exit_code


def _allow_files(count: int) -> None:
    """Let this process have as many open files as the pipes of the workers need, if the system agrees."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < count:
        allowed = count if hard == resource.RLIM_INFINITY else min(count, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
