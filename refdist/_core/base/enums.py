"""The enumerations of the documented API."""

import enum


class ReduceOp(enum.Enum):
    """How the values of several replicas are combined into one."""

    SUM = "SUM"
    MEAN = "MEAN"

    @classmethod
    def of(cls, choice: object) -> "ReduceOp":
        """Accept a member, or its name in upper or lower case, as the documentation does.

        >>> ReduceOp.of("sum")
        <ReduceOp.SUM: 'SUM'>
        """
        found = REDUCTIONS.get(choice) if type(choice) is str else None
        if found is not None:
            return found
        if isinstance(choice, cls):
            return choice
        names = ", ".join(member.name for member in cls)
        if isinstance(choice, str):
            raise ValueError(f"The reduce_op is {choice!r}; expected one of {names}. Use one of these names.")
        raise TypeError(
            f"The reduce_op is {choice!r}, a {type(choice).__name__}; expected a ReduceOp or its name ({names}). "
            f"Pass tf.distribute.ReduceOp.SUM, for example; the value to reduce is the second argument."
        )


REDUCTIONS = {spelling: op for op in ReduceOp for spelling in (op.name, op.name.lower(), op.name.capitalize())}
"""Every spelling of a ReduceOp by name."""


class VariableSynchronization(enum.Enum):
    """When the copies of a variable are brought together."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How the values that replicas write to one variable become one value."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


class CommunicationImplementation(enum.Enum):
    """By what workers are to exchange their values: a hint."""

    AUTO = "AUTO"
    RING = "RING"
    NCCL = "NCCL"


class InputReplicationMode(enum.Enum):
    """How many input pipelines there are."""

    PER_WORKER = "PER_WORKER"
    PER_REPLICA = "PER_REPLICA"
