"""How a dataset wants to be distributed."""

import dataclasses
import enum


class AutoShardPolicy(enum.IntEnum):
    """How data are divided among several workers."""

    OFF = -1  # every worker reads everything
    AUTO = 0  # by file if the data come from files, otherwise by element
    FILE = 1  # by file
    DATA = 2  # by element
    HINT = 3  # where the pipeline has a shard stage with SHARD_HINT


SHARD_HINT = -1


@dataclasses.dataclass
class DistributeOptions:
    """The part of `Options` about distribution."""

    auto_shard_policy: AutoShardPolicy = AutoShardPolicy.AUTO
    num_devices: int | None = None

    def __setattr__(self, name: str, value: object) -> None:
        if name == "auto_shard_policy":
            try:
                value = AutoShardPolicy(value)  # pyright: ignore[reportArgumentType]
            except ValueError:
                names = ", ".join(member.name for member in AutoShardPolicy)
                raise ValueError(
                    f"auto_shard_policy is {value!r}; expected a member of tf.data.experimental.AutoShardPolicy ({names}). "
                    f"Use one of these."
                ) from None
        super().__setattr__(name, value)


class Options:
    """The options of a dataset, set by `with_options`.

    >>> Options().experimental_distribute.auto_shard_policy
    <AutoShardPolicy.AUTO: 0>
    """

    def __init__(self) -> None:
        self.experimental_distribute = DistributeOptions()
        self.deterministic: bool | None = None

    def merged_into(self, other: "Options") -> "Options":
        """Combine these options with those of an earlier stage, which hold unless these override them."""
        merged = Options()
        mine, theirs = self.experimental_distribute, other.experimental_distribute
        chosen = mine if mine.auto_shard_policy is not AutoShardPolicy.AUTO else theirs
        merged.experimental_distribute = dataclasses.replace(chosen)
        merged.deterministic = self.deterministic if self.deterministic is not None else other.deterministic
        return merged
