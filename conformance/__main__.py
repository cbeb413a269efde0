"""Say which documented behaviors of the tf.distribute.Strategy API an implementation keeps."""

import argparse
import signal
import sys
from collections.abc import Sequence

from conformance.command_line import parser
from conformance.implementations import BrokenModule, UsageError
from conformance.output import BROKEN, INTERRUPTED, USAGE, complain


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for, and return the exit code."""
    return obey(parser().parse_args(arguments), from_shell=arguments is None)


def obey(options: argparse.Namespace, *, from_shell: bool = False) -> int:
    """Do what the options ask for, and return the exit code."""
    if from_shell:
        # A run that is cancelled from outside ends its children too, and prints what was done.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return options.command(options)
    except UsageError as error:
        complain(str(error))
        return USAGE
    except BrokenModule as error:
        complain(str(error))
        return BROKEN
    except KeyboardInterrupt:
        complain("cancelled before there was anything to report.")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
