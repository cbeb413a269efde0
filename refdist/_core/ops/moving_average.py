"""`tf.train.ExponentialMovingAverage`: averages of variables, in which the last values count most."""

from collections.abc import Sequence
from typing import Any

from refdist._core.base.enums import VariableAggregation
from refdist._core.ops.operation_table import minimum
from refdist._core.ops.tensor_functions import cast, convert_to_tensor
from refdist._core.variables.tensors import current_value
from refdist._core.variables.variable import Variable


class ExponentialMovingAverage:
    """Keeps a moving average of each variable: `average -= (1 - decay) * (average - variable)`.

    >>> import refdist as tf
    >>> average, weight = tf.train.ExponentialMovingAverage(0.9), tf.Variable(1.0)
    >>> for value in (1.0, 3.0):
    ...     _ = weight.assign(value)
    ...     average.apply([weight])
    >>> round(float(average.average(weight)), 6)
    1.2
    """

    def __init__(
        self, decay: Any, num_updates: Any = None, zero_debias: bool = False, name: str = "ExponentialMovingAverage"
    ) -> None:
        self._decay, self._count, self._name = decay, num_updates, name
        self._averages: dict[int, tuple[Variable, Variable]] = {}  # with the variable, which keeps its id

    @property
    def name(self) -> str:
        """The name of the average."""
        return self._name

    def apply(self, var_list: Sequence[Any] | None = None) -> None:
        """Take the present values of variables into their averages; the first time, they are the averages.

        In replicas, an average takes the mean of what the replicas have.
        """
        for variable in var_list or ():
            if not isinstance(variable, Variable):
                raise TypeError(
                    f"apply() got a {type(variable).__name__}; expected variables, because only these have several values in a "
                    f"row. Pass a list of tf.Variable."
                )
            if variable.dtype.kind not in "fV":
                raise TypeError(
                    f"apply() got {variable.name!r} of {variable.dtype}; expected floats, which have averages. Convert the "
                    f"variable."
                )
            if id(variable) not in self._averages:
                self._averages[id(variable)] = variable, self._made(variable)
            average = self._averages[id(variable)][1]
            average.assign_sub((average.read_value() - variable.read_value()) * (1 - self._rate()))

    def average(self, var: Any) -> Any:
        """The variable that holds an average; None if there is none."""
        return self._averages[id(var)][1] if id(var) in self._averages else None

    def average_name(self, var: Any) -> str:
        """The name of an average, whether or not there is one."""
        return f"{var.name.partition(':')[0]}/{self._name}"

    def variables_to_restore(self, moving_avg_variables: Sequence[Any] | None = None) -> dict[str, Any]:
        """The variables under the names of their averages, to begin with these what was saved."""
        return {
            self.average_name(one): one for one in moving_avg_variables or [one for one, _ in self._averages.values()]
        }

    def _made(self, variable: Variable) -> Variable:
        return Variable(
            variable.read_value,  # called where values are known, also while a program is written
            trainable=False,
            name=self.average_name(variable),
            dtype=variable.dtype,
            aggregation=VariableAggregation.MEAN,
        )

    def _rate(self) -> Any:
        decay = current_value(self._decay)
        if self._count is None:
            return decay
        count = cast(convert_to_tensor(current_value(self._count)), "float32")
        return minimum(cast(convert_to_tensor(decay), "float32"), (1 + count) / (10 + count))
