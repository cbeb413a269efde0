"""Building what is released: the wheel and the source distribution."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent


def built(target, folder):
    """Build a "wheel" or an "sdist" from the files of this checkout, and return its path."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (made,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made
