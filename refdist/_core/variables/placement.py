"""What a strategy makes of a variable."""

import enum


class Placement(enum.Enum):
    """What a strategy makes of a variable that is created in its scope."""

    PLAIN = "one copy, an ordinary variable"
    MIRRORED = "one copy for each replica"
    CENTRAL = "one copy for all replicas, on the next of the homes"
