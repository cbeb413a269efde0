"""How a dataset wants to be distributed."""

import dataclasses
import enum
from typing import ClassVar


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


class _Tuning:
    """Options about speed: they are kept, and change nothing in what a dataset delivers."""

    names: ClassVar[str] = ""

    def __init__(self) -> None:
        for name in self.names.split():
            super().__setattr__(name, None)

    def __setattr__(self, name: str, value: object) -> None:
        if name not in self.names.split():
            raise AttributeError(
                f"The option {name!r} was set on {type(self).__name__}; expected one of {', '.join(self.names.split())}. Correct "
                f"the name."
            )
        super().__setattr__(name, value)


class ThreadingOptions(_Tuning):
    """How many threads a dataset may use."""

    names = "max_intra_op_parallelism private_threadpool_size"
    max_intra_op_parallelism: int | None
    private_threadpool_size: int | None


class OptimizationOptions(_Tuning):
    """How a dataset may be rewritten."""

    names = """apply_default_optimizations filter_fusion filter_parallelization inject_prefetch map_and_batch_fusion
        map_and_filter_fusion map_fusion map_parallelization noop_elimination parallel_batch seq_interleave_prefetch
        shuffle_and_repeat_fusion"""
    apply_default_optimizations: bool | None


class AutotuneOptions(_Tuning):
    """How a dataset chooses its own parallelism."""

    names = "autotune_algorithm cpu_budget enabled initial_parallelism min_parallelism ram_budget"
    enabled: bool | None


class Options:
    """The options of a dataset, set by `with_options`.

    >>> Options().experimental_distribute.auto_shard_policy
    <AutoShardPolicy.AUTO: 0>
    """

    # What changes nothing in what a dataset delivers, and is only kept.
    _KEPT = (
        "dataset_name",
        "experimental_external_state_policy",
        "experimental_service",
        "experimental_slack",
        "experimental_symbolic_checkpoint",
        "experimental_warm_start",
        "framework_type",
    )
    _OWN = ("autotune", "deterministic", "experimental_distribute", "experimental_optimization", "threading")

    def __init__(self) -> None:
        self.experimental_distribute = DistributeOptions()
        self.deterministic: bool | None = None
        self.autotune, self.experimental_optimization = AutotuneOptions(), OptimizationOptions()
        self.threading = ThreadingOptions()

    def __setattr__(self, name: str, value: object) -> None:
        name = _FORMERLY.get(name, name)
        if name not in (*self._KEPT, *self._OWN):
            raise AttributeError(
                f"The option {name!r} was set on tf.data.Options; expected one of {', '.join((*self._OWN, *self._KEPT))}. "
                f"Correct the name."
            )
        super().__setattr__(name, value)

    def __getattr__(self, name: str) -> object:
        if name in _FORMERLY:
            return getattr(self, _FORMERLY[name])
        if name in self._KEPT:
            return None
        raise AttributeError(
            f"tf.data.Options has no option {name!r}; expected one of {', '.join((*self._OWN, *self._KEPT))}. Correct the name.",
            name=name,
            obj=self,
        )

    def merged_into(self, other: "Options") -> "Options":
        """Combine these options with those of an earlier stage, which hold unless these override them."""
        merged = Options()
        vars(merged).update(
            {**vars(other), **{name: value for name, value in vars(self).items() if name in self._KEPT}}
        )
        mine, theirs = self.experimental_distribute, other.experimental_distribute
        chosen = mine if mine.auto_shard_policy is not AutoShardPolicy.AUTO else theirs
        merged.experimental_distribute = dataclasses.replace(chosen)
        merged.deterministic = self.deterministic if self.deterministic is not None else other.deterministic
        return merged

    def merge(self, options: "Options") -> "Options":
        """Combine these options with others, which override them."""
        return options.merged_into(self)


_FORMERLY = {"experimental_deterministic": "deterministic", "experimental_threading": "threading"}
