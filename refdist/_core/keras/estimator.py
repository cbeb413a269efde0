"""The configuration of how an Estimator distributes its work."""

import dataclasses

from refdist._core.strategies.strategy import StrategyBase


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """Holds the strategies with which an Estimator trains and evaluates."""

    train_distribute: StrategyBase | None = None
    eval_distribute: StrategyBase | None = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            given = getattr(self, field.name)
            if given is not None and not isinstance(given, StrategyBase):
                raise TypeError(
                    f"RunConfig() got {field.name}={given!r}; expected a strategy, or None. Pass one of those of tf.distribute."
                )
