"""Run a program on a cluster of processes on this machine: `python -m refdist.launch --workers 4 train.py`; ours."""

from refdist_command.launch_command import main

__all__ = ["main"]

if __name__ == "__main__":
    raise SystemExit(main())
