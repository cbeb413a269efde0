"""Where a run was made: devices, versions, processor, date and revision."""

import datetime
import importlib.metadata
import os
import pathlib
import platform
import subprocess

import refdist

PACKAGES = ("refdist", "jax", "jaxlib", "numpy", "greenlet", "numba", "keras")


def surroundings() -> dict[str, str]:
    """Return what a reader needs to know about this machine, by name."""
    from refdist_bench.devices_at_hand import real_devices

    devices = real_devices()
    found = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "devices": f"{len(devices)} x {devices[0].device_kind}",
        "platform": devices[0].platform,
        "driver": " ".join(str(devices[0].client.platform_version).split()),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "load": " ".join(f"{one:.1f}" for one in os.getloadavg()) if hasattr(os, "getloadavg") else "",
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
    }
    found |= {name: version for name in PACKAGES if (version := _version(name))}
    return found | {"revision": revision()}


def revision(folder: pathlib.Path | None = None) -> str:
    """Return the revision of the checkout that runs, with a + where files are changed; empty where there is none."""
    folder = folder or pathlib.Path(refdist.__file__).parent
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--abbrev=9", "--dirty=+", "--exclude=*"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.stdout.strip()


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _processor() -> str:
    """Return the name of the processor; systems other than Linux say less."""
    path = pathlib.Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
