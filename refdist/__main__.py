"""The command line: `python -m refdist --help`."""

from refdist._core.commands.refdist_command import main

if __name__ == "__main__":
    raise SystemExit(main())
