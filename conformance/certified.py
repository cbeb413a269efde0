"""What was certified, when, and on what: recorded in the report, so that it says the same wherever it is read."""

import datetime
import importlib.util
import os
import platform
import subprocess
from importlib import metadata

GIT_SECONDS = 10.0


def certified(package: str) -> dict[str, str]:
    """Return package, version and commit of an implementation, with date and platform of the run; what is unknown is left out."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    named = distribution(package)
    found = {
        "package": named or package,
        "version": metadata.version(named) if named else "",
        "commit": commit(package),
        "date": now,
        "platform": f"{platform.system()} {platform.machine()}, Python {platform.python_version()}",
    }
    return {name: text for name, text in found.items() if text}


def distribution(package: str) -> str:
    """Return the name under which a package is installed, or an empty text.

    >>> distribution("numpy"), distribution("no_such_package")
    ('numpy', '')
    """
    try:
        return metadata.metadata(package)["Name"]
    except (metadata.PackageNotFoundError, ValueError):
        return next(iter(metadata.packages_distributions().get(package, ())), "")


def commit(package: str) -> str:
    """Return the commit of the checkout that a package lies in, with a + if its files were changed; empty if it lies in none."""
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError):
        return ""
    origin = spec.origin if spec else None
    # An environment may lie in the folder of another project, of which it is no part.
    if not origin or not os.path.isfile(origin) or not _git(origin, "ls-files", "--error-unmatch", origin):
        return ""
    changed = _git(origin, "status", "--porcelain", "--untracked-files=no")
    return _git(origin, "rev-parse", "--short=12", "HEAD") + "+" * bool(changed)


def _git(file: str, *arguments: str) -> str:
    """Return what git prints about the checkout of a file, or an empty text."""
    command = ["git", "-C", os.path.dirname(file) or ".", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=GIT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
