"""Programs in processes of their own, which import the checkout under test whatever else is installed."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[1]


def run_python(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program, with some environment variables changed, and return how it ended and what it printed."""
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    settings = {**os.environ, "PYTHONPATH": paths, **environment}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, text=True, check=False)
