"""The command line: `python -m refdist --help`."""

from refdist_command.subcommands import main

if __name__ == "__main__":
    raise SystemExit(main())
