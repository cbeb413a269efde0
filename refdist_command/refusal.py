"""What ends a command that cannot be done as it was written."""


class Refused(Exception):
    """The command line asks for what cannot be done; the command ends with exit code 2."""
