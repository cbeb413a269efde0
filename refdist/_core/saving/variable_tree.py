"""A nest of arrays in variables: the parameters of a model that is not made of variables itself."""

from collections.abc import Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.base.enums import VariableAggregation, VariableSynchronization
from refdist._core.base.jax_facts import is_random_key, key_data, key_of
from refdist._core.saving.module import Trackable
from refdist._core.variables.variable import Variable

_NUMBERS = (int, float, complex)


class VariableTree(Trackable):
    """Keeps a nest of arrays in variables of the current strategy: the parameters of a flax or equinox model, the state of optax.

    Every array, number and random key becomes a variable. Everything else (functions, texts, None, and the bools that say what a
    model does) is kept as it is. In a replica, reading and writing mean what they mean for each variable. `tf.train.Checkpoint`
    saves it.

    >>> import refdist as tf
    >>> tree = tf.VariableTree({"weights": tf.ones([2]), "count": 0})
    >>> tree.assign({"weights": tf.zeros([2]), "count": 1})
    >>> tree.read()["count"]
    <tf.Tensor: shape=(), dtype=int32, numpy=1>

    Args:
        tree: a nest of tuples, lists, dicts, and containers that are registered with JAX.
        trainable: whether the variables are trained; see `tf.Variable`.
        synchronization: of each variable.
        aggregation: of each variable: what becomes of different values that replicas assign.
    """

    def __init__(
        self,
        tree: Any,
        trainable: bool | None = None,
        *,
        name: str | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> None:
        parts, above = dict[Any, Any](), name or "VariableTree"
        leaves, keys = list[Any](), dict[int, Any]()
        for place, leaf in nest.named_leaves(tree):
            value = leaf
            if is_random_key(leaf):
                value, keys[len(leaves)] = key_data(leaf)
            if _is_kept(value):
                full = "/".join([above, *map(str, place)])
                value = Variable(value, trainable, name=full, synchronization=synchronization, aggregation=aggregation)
                _put(parts, ("tree", *place), value)
            leaves.append(value)
        vars(self).update(parts)  # under the names that a checkpoint has for them
        self._kept = _Kept(nest.taken_apart(tree)[1], leaves, keys)

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The variables, in the order of the leaves."""
        return tuple(leaf for leaf in self._kept.leaves if isinstance(leaf, Variable))

    @property
    def trainable_variables(self) -> tuple[Variable, ...]:
        """Those that are trained."""
        return tuple(variable for variable in self.variables if variable.trainable)

    def read(self) -> Any:
        """The nest with the current values: in a replica its own ones, in a function those of the time when it runs."""
        kept = self._kept
        values = [leaf.read_value() if isinstance(leaf, Variable) else leaf for leaf in kept.leaves]
        for index, implementation in kept.keys.items():
            values[index] = key_of(values[index], implementation)
        return nest.put_together(kept.shape, values)

    def value(self) -> Any:
        """The same as `read`."""
        return self.read()

    def assign(self, tree: Any) -> None:
        """Replace all values by those of a nest of the same structure."""
        self._write("assign", tree)

    def assign_add(self, tree: Any) -> None:
        """Add a nest of the same structure."""
        self._write("assign_add", tree)

    def assign_sub(self, tree: Any) -> None:
        """Subtract a nest of the same structure."""
        self._write("assign_sub", tree)

    def _write(self, verb: str, tree: Any) -> None:
        pairs = list(zip(self._kept.leaves, self._fitting(verb, tree), strict=True))
        for one, value in pairs:  # before the first is written
            shape = getattr(value, "shape", None)
            if isinstance(one, Variable) and isinstance(shape, tuple) and shape != one.shape:
                raise ValueError(
                    f"{verb}() of a VariableTree got a value of shape {shape} for {one.name!r}; expected {one.shape}, as the "
                    f"variable has. Reshape it, or make another tree. Nothing was written."
                )
        for one, value in pairs:
            if isinstance(one, Variable):
                getattr(one, verb)(value)

    def _fitting(self, verb: str, tree: Any) -> Sequence[Any]:
        leaves, shape = nest.taken_apart(tree)
        if shape != self._kept.shape:
            raise ValueError(
                f"{verb}() of a VariableTree got a nest of another structure: {shape}; expected {self._kept.shape}. Pass one of "
                f"the structure with which the tree was made. Nothing was written."
            )
        return [key_data(leaf)[0] if is_random_key(leaf) else leaf for leaf in leaves]

    def __repr__(self) -> str:
        return f"<tf.VariableTree of {len(self.variables)} variables: {self._kept.shape}>"


class _Kept:
    """What a tree has beside its variables; not a container, so that a checkpoint does not find them here again."""

    def __init__(self, shape: Any, leaves: list[Any], keys: dict[int, Any]) -> None:
        self.shape, self.leaves = shape, leaves  # a variable in the place of each array
        self.keys = keys  # the implementation of each random key, by the place of the variable that has its numbers


def _is_kept(leaf: Any) -> bool:
    return hasattr(leaf, "__array__") or (isinstance(leaf, _NUMBERS) and not isinstance(leaf, bool))


def _put(parts: dict[Any, Any], place: tuple[Any, ...], variable: Variable) -> None:
    *above, last = place
    for name in above:
        parts = parts.setdefault(name, {})
    parts[last] = variable
