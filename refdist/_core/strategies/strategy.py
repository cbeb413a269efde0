"""Strategy: scope, run, reduce and gather, over the verbs of its `extended` object."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from refdist._core.base import nest
from refdist._core.base.callables import require_callable
from refdist._core.base.convert import to_array
from refdist._core.base.enums import ReduceOp
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import is_jax
from refdist._core.base.options import InputContext, InputOptions, RunOptions, ValueContext
from refdist._core.base.where import HERE, OUTSIDE, Frame, Where, where_of
from refdist._core.input.dataset import Dataset
from refdist._core.input.distributed_dataset import DistributedDataset, stage_of
from refdist._core.input.input_worker import InputWorker
from refdist._core.input.replica_batches import GlobalBatches, OwnPipelines, PerReplicaBatches, Placer
from refdist._core.replicas import context
from refdist._core.replicas.graph import Symbol, deferred
from refdist._core.replicas.values import DistributedValues, PerReplica, of_parts
from refdist._core.strategies import arguments, drawing
from refdist._core.strategies import logical_devices as logical
from refdist._core.strategies.drawing import Picture
from refdist._core.strategies.reduction import reduce_axes
from refdist._core.strategies.verbs import StrategyExtended
from refdist._core.variables.placement import Placement
from refdist._core.variables.variable import Variable


class StrategyBase:
    """What the v1 and v2 flavors of every strategy share."""

    def __init__(self, extended: StrategyExtended) -> None:
        if not isinstance(extended, StrategyExtended):
            raise TypeError(
                f"Strategy() got extended={extended!r}; expected a StrategyExtended. Use one of the strategies of "
                f"tf.distribute, or the extended object of one."
            )
        self._extended = extended
        self._entered_from_outside: Where | None = None  # known after the first time
        extended.bind(self)

    @property
    def extended(self) -> StrategyExtended:
        """The object with further methods, for library authors."""
        draft = HERE.get().draft
        return self._extended if draft is None else draft.extended(self)

    @property
    def num_replicas_in_sync(self) -> int:
        """How many replicas combine their gradients."""
        return self._extended.plan.replicas

    @property
    def cluster_resolver(self) -> Any:
        """What describes the cluster; None for strategies on one machine."""
        return self._extended.plan.resolver

    def scope(self) -> "Scope":
        """Make this strategy current in a `with` block, so that it distributes the variables made there."""
        return Scope(self)

    def inside(self, before: Where, verb: str = "scope()") -> Where:
        """Where the code is in the scope of this strategy, if it enters that from somewhere else."""
        if before is OUTSIDE and self._entered_from_outside is not None:
            return self._entered_from_outside
        frame = before.frame
        context.require_cross_replica(self, verb)
        if frame is not None and frame.strategy is self and frame.replica is None:
            if frame.updating is not None:
                raise RuntimeError(
                    "scope() was entered in the function given to extended.update(); expected no scope there, because it works on "
                    "one copy. Do what needs the scope before or after update()."
                )
            new = frame._replace(set_by_hand=False)
        else:
            around = () if frame is None else frame.creators
            new = Frame(self, None, (*around, self.extended.create_variable))
        inside = where_of((new, self.extended.plan.scope_device or before.device, *before[2:]))
        if before is OUTSIDE:
            self._entered_from_outside = inside
        return inside

    @context.contained
    def run(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        options: RunOptions | None = None,
    ) -> Any:
        """Call a function once for each replica, and merge what the calls return.

        >>> import refdist as tf
        >>> with tf.using("simulator", gpus=2):
        ...     strategy = tf.distribute.MirroredStrategy()
        >>> strategy.run(lambda: tf.distribute.get_replica_context().replica_id_in_sync_group)
        PerReplica:{
          0: 0,
          1: 1
        }
        """
        if options is not None:
            arguments.require_options(options)
        here = HERE.get()
        if here.graph is not None:
            return deferred("run", self.run, fn, args, kwargs)
        HERE.set(self.inside(here, "run()"))  # which this call leaves as a whole
        if here.draft is not None:
            return here.draft.extended(self).run(self, fn, args, kwargs)
        staged: Any = fn if hasattr(fn, "run_in_replicas") else here.function
        if staged is not None:
            return staged.run_in_replicas(self, fn, args, kwargs)
        return self._extended.run(self, fn, args, kwargs)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """List the components of a value that this process holds; a plain value is its own only component."""
        context.require_known(self)
        if isinstance(value, Symbol):
            return tuple(value.part(index) for index in range(self._extended.num_replicas))
        if isinstance(value, DistributedValues):
            return value.values
        if not any(isinstance(leaf, DistributedValues) for leaf in nest.flatten(value)):
            return (value,)
        return tuple(_part(value, index) for index in range(self._extended.num_replicas))

    def experimental_distribute_dataset(self, dataset: Any, options: InputOptions | None = None) -> DistributedDataset:
        """Cut each global batch of a dataset into one piece for each replica."""
        stage, own = stage_of(dataset)
        extended = self._extended

        def agreed(seed: int) -> int:
            return extended.from_all_workers("the seed of a shuffle", [seed])[0]

        placer, worker = Placer(extended.plan, options), input_worker(extended)
        return DistributedDataset(GlobalBatches(stage, own, placer, worker, agree=agreed))

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: InputOptions | None = None
    ) -> DistributedDataset:
        """Call a function once for each worker, and give each replica a whole batch of its dataset in each step.

        With `InputReplicationMode.PER_REPLICA` it is called once for each replica of a MirroredStrategy.
        """
        require_callable(dataset_fn, "distribute_datasets_from_function()")
        placer = Placer(self._extended.plan, options, from_function=True)
        if placer.per_replica:
            return DistributedDataset(OwnPipelines(dataset_fn, placer))
        return DistributedDataset(PerReplicaBatches(dataset_fn, placer, input_worker(self._extended)))

    def experimental_distribute_datasets_from_function(
        self, dataset_fn: Callable[[InputContext], Any], options: InputOptions | None = None
    ) -> DistributedDataset:
        """Do the same under the older, deprecated name."""
        warnings.warn(
            "experimental_distribute_datasets_from_function is deprecated; use distribute_datasets_from_function.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.distribute_datasets_from_function(dataset_fn, options)

    @context.contained
    def draw(
        self, program: Callable[..., Any] | None = None, args: Any = (), kwargs: Any = None, *, in_replicas: bool = True
    ) -> Picture:
        """Draw the devices of the strategy, its variables with their copies, and one run of a program.

        The program runs once, as `run` would run it, with every `function` in Python. Then all variables and the sources of
        random numbers are put back, also if it raises; variables that it makes stay made, with their first values. What else it
        does is done: what it prints or writes to files, elements that it takes from an iterator, virtual time.

        >>> import refdist as tf
        >>> with tf.using("simulator", gpus=2):
        ...     strategy = tf.distribute.MirroredStrategy()
        ...     with strategy.scope():
        ...         total = tf.Variable(0.0, name="total", aggregation=tf.VariableAggregation.SUM)
        >>> print(strategy.draw())
        MirroredStrategy: 2 replicas
        <BLANKLINE>
                                             GPU:0                      GPU:1
                                           replica 0                  replica 1
        total                              [copy 0]                   [copy 1]
          float32[], 4 B; mirrored: 2 equal copies, writes are summed

        Args:
            in_replicas: False for a program that calls `run` itself.
        """
        return drawing.drawn(self, program, args, kwargs, in_replicas=in_replicas)

    def _repr_svg_(self) -> str:
        return drawing.drawn(self, None, (), None, in_replicas=False).to_svg()

    @context.contained
    def _reduce(self, reduce_op: ReduceOp | str, value: Any, axis: Any) -> Any:
        op = ReduceOp.of(reduce_op)
        if isinstance(value, Symbol):
            return deferred("reduce", self._reduce, op, value, axis)
        extended = self.extended
        context.require_cross_replica(self, "reduce()")
        with self.scope():
            if axis is not None:
                return nest.map_structure(lambda leaf: reduce_axes(extended, op, leaf, axis), value)
            if extended.plan.placement is Placement.PLAIN and not isinstance(value, DistributedValues):
                return value.read_value() if isinstance(value, Variable) else value
            return nest.map_structure(lambda leaf: extended.reduce(op, leaf), value)

    def __deepcopy__(self, memo: dict[int, Any]) -> "StrategyBase":
        return self  # it never changes, and variables belong to the very object that made them

    def __repr__(self) -> str:
        devices = self._extended.plan.devices
        names = ", ".join(device.short for device in devices[:4]) + (", ..." if len(devices) > 4 else "")
        return f"<{type(self).__name__} on {names}>"


class Strategy(StrategyBase):
    """A policy for spreading state and computation over a list of devices.

    See `StrategyExtended` for the words replica, per-replica, mirrored, replica context and cross-replica context.
    """

    def __init__(self, extended: StrategyExtended) -> None:
        super().__init__(extended)

    def reduce(self, reduce_op: ReduceOp | str, value: Any, axis: Any) -> Any:
        """Combine a per-replica value over the replicas, and over an axis of each where one is given."""
        return self._reduce(reduce_op, value, axis)

    @context.contained
    def gather(self, value: Any, axis: int) -> Any:
        """Join the components of a per-replica value along an axis."""
        context.require_cross_replica(self, "gather()")
        with self.scope():
            return nest.map_structure(lambda leaf: self.extended.gather(_gathered(leaf), axis), value)

    def experimental_make_numpy_dataset(self, numpy_input: Any) -> Dataset:
        """Make a dataset of the rows of arrays. Deprecated: use tf.data.Dataset.from_tensor_slices."""
        warnings.warn(
            "experimental_make_numpy_dataset is deprecated and will be removed after 2020-09-30; use "
            "tf.data.Dataset.from_tensor_slices.",
            DeprecationWarning,
            stacklevel=2,
        )
        return Dataset.from_tensor_slices(numpy_input)

    def experimental_distribute_values_from_function(self, value_fn: Callable[[ValueContext], Any]) -> Any:
        """Make a per-replica value by calling a function once for each replica."""
        require_callable(value_fn, "experimental_distribute_values_from_function()")
        context.require_known(self)
        first, count = self._extended.plan.first_replica, self._extended.num_replicas
        numbers = range(first, first + count)
        values = [value_fn(ValueContext(number, self.num_replicas_in_sync)) for number in numbers]
        for leaf in nest.flatten(values):
            if not isinstance(leaf, IndexedSlices) and not is_jax(leaf) and not of_parts(leaf):
                to_array(leaf)  # raises where the value can never become a tensor
        return nest.transpose(values, PerReplica, _values_differ)

    def experimental_assign_to_logical_device(self, tensor: Any, logical_device_id: int) -> Any:
        """Let operations on a tensor run on one logical device of the replica; for TPUStrategy only."""
        return logical.assign(self.extended, tensor, logical_device_id)

    def experimental_replicate_to_logical_devices(self, tensor: Any) -> Any:
        """Let operations on a tensor run on all logical devices of the replica; for TPUStrategy only."""
        return logical.replicate(self.extended, tensor)

    def experimental_split_to_logical_devices(self, tensor: Any, partition_dimensions: Any) -> Any:
        """Share operations on a tensor among the logical devices of the replica; for TPUStrategy only.

        The numbers say into how many pieces each dimension is cut: [1, 2, 4, 1] makes eight, for eight logical devices.
        """
        return logical.split(self.extended, tensor, partition_dimensions)


class Scope:
    """Selects a strategy as the current one; made by `Strategy.scope`."""

    def __init__(self, strategy: StrategyBase) -> None:
        self._strategy = strategy
        self._entered: list[tuple[Where, Where]] = []  # where the code is inside, and where it was before

    def __enter__(self) -> "Strategy":
        strategy, before = self._strategy, HERE.get()
        depth, inside = len(self._entered), strategy.inside(before)
        try:
            self._entered.append((inside, before))
            HERE.set(inside)
            return cast("Strategy", strategy)  # or one of v1, of whose other methods type checkers know nothing
        except BaseException:  # a Ctrl-C: `with` does not leave what it has not entered
            self._leave(depth, inside, before)
            raise

    def __exit__(self, *exception: Any) -> None:
        inside, before = self._entered[-1]
        depth = len(self._entered) - 1
        if HERE.get().frame is not inside.frame and exception[0] is None:
            raise RuntimeError(
                f"The scope of {self._strategy!r} was left while another one, entered later, is still active; expected scopes "
                f"to be left in the reverse order. Use `with strategy.scope():` blocks."
            )
        try:
            self._leave(depth, inside, before)
        except BaseException:
            self._leave(depth, inside, before)
            raise

    def _leave(self, depth: int, inside: Where, before: Where) -> None:
        """Undo what entering has done; calling this twice does no harm."""
        here = HERE.get()
        HERE.set(before if here is inside else here._replace(frame=before.frame, device=before.device))
        del self._entered[depth:]


def experimental_set_strategy(strategy: StrategyBase | None) -> None:
    """Make a strategy current for the rest of the program, as if a scope were never left; None ends that."""
    if strategy is not None and not isinstance(strategy, StrategyBase):
        raise TypeError(f"experimental_set_strategy() got {strategy!r}; expected a strategy, or None. Pass a strategy.")
    here = HERE.get()
    if here.frame is not None and not here.frame.set_by_hand:
        raise RuntimeError(
            "experimental_set_strategy() was called inside a scope or a replica; expected a call outside. Leave the scope first."
        )
    creators = () if strategy is None else (strategy.extended.create_variable,)
    frame = None if strategy is None else Frame(strategy, None, creators, set_by_hand=True)
    HERE.set(here._replace(frame=frame))


def input_worker(extended: StrategyExtended) -> InputWorker:
    """The worker of a strategy, as one that reads data."""
    plan = extended.plan
    return InputWorker(plan.workers, plan.worker, plan.replicas, extended.of_each_worker)


def _gathered(value: Any) -> Any:
    """A value that is to be gathered; slices that are the same for all replicas are refused, as by TensorFlow."""
    if isinstance(value, IndexedSlices):
        raise NotImplementedError(
            "gather() got IndexedSlices; expected a per-replica value. Return them from run(), or make a tensor of them with "
            "tf.convert_to_tensor()."
        )
    return value


def _part(value: Any, index: int) -> Any:
    return nest.map_structure(lambda leaf: leaf.values[index] if isinstance(leaf, DistributedValues) else leaf, value)


def _values_differ() -> Exception:
    return ValueError(
        "value_fn returned nests of different shape for different replicas; expected the same containers, lengths and keys. "
        "Return one structure for every replica."
    )
