"""What becomes of a new variable in the scope of a strategy."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from refdist._core.base.call_sites import call_site, own_place, where
from refdist._core.base.common_values import once
from refdist._core.base.enums import VariableAggregation, VariableSynchronization
from refdist._core.base.where import HERE, entered
from refdist._core.devices.device import Device
from refdist._core.replicas import context
from refdist._core.replicas.lockstep import do_outside
from refdist._core.seam.capabilities import in_unison
from refdist._core.variables.distributed_variable import (
    CentralVariable,
    MirroredVariable,
    OnRead,
    OnWrite,
    SyncOnReadVariable,
)
from refdist._core.variables.placement import Placement
from refdist._core.variables.variable import Variable

if TYPE_CHECKING:
    from refdist._core.strategies.plan import Plan
    from refdist._core.strategies.strategy import StrategyBase


EARLIER = "earlier"  # the key, among the variables made in a run, of the places where earlier runs have made some


class HomeRotation:
    """How many variables a strategy has made, not counting colocated ones: the homes take turns."""

    taken = 0


def create_variable(strategy: "StrategyBase", following: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    """Make one variable with as many copies as the plan of the strategy says."""
    _require_supported(kwargs)
    replica = context.get_replica_context()
    if replica is None or strategy.num_replicas_in_sync == 1:
        return _make(strategy, following, kwargs)
    if len(strategy.extended.plan.devices) == 1 and not replica.staged:  # of several workers

        def hold(_: "StrategyBase", payloads: Sequence[Any]) -> Sequence[Any]:
            return [_make(strategy, following, payloads[0])]

        return replica.meet("a new variable", kwargs.get("name"), hold, kwargs)
    # The first replica to get here makes the variable; the others get the same one, by the place and turn of the call.
    # No meeting is needed, so a guard such as `if not made:` works as in ordinary code.
    creations = HERE.get().creations
    assert creations is not None  # in replicas of a run there is one
    place, name = call_site(), kwargs.get("name")
    if place in creations.get(EARLIER, ()):
        raise ValueError(
            f"Variable() was called at {where(own_place())} in the second run of a function that has made a variable there in its "
            f"first; expected variables to be made in the first run only, because each run would begin with a new one. Make it "
            f"once, in `with strategy.scope():`, or only `if not made:`."
        )
    mine = (place, replica)  # itself, and not its id, which a later replica may get when it is gone
    turn = creations.get(mine, 0)
    made = creations.setdefault(place, [])
    if turn == len(made):
        made.append((name, _make(strategy, following, kwargs)))
    first_name, variable = made[turn]
    if name != first_name:
        raise RuntimeError(
            f"Replica {replica.replica_id_in_sync_group} made the variable {name!r} where another replica made {first_name!r}; "
            f"expected one name, because a variable of all replicas is made by each of them. Make the name independent of the "
            f"replica, or make the variable outside of run()."
        )
    creations[mine] = turn + 1  # only now, so that a failed attempt can be repeated
    return variable


def _make(strategy: "StrategyBase", following: Callable[..., Any], kwargs: dict[str, Any]) -> Any:
    plan = strategy.extended.plan
    homes, colocated = plan.homes, HERE.get().colocated
    if plan.placement is Placement.CENTRAL:
        homes = (colocated or homes[strategy.extended.turns.taken % len(homes)],)
    own = dict(kwargs)
    if plan.workers > 1:
        own["initial_value"] = _of_the_first_worker(strategy, kwargs)
    copies = [_copy(plan, homes[0], following, own)]
    if len(homes) > 1:
        stored, name = copies[0].stored, kwargs.get("name") or "Variable"
        with in_unison(plan, homes, stored):
            for index, home in enumerate(homes[1:], 1):
                own = {**kwargs, "initial_value": stored, "name": f"{name}/replica_{index}"}
                copies.append(_copy(plan, home, following, own))
    on_read = kwargs.get("synchronization") is VariableSynchronization.ON_READ
    if plan.placement is Placement.PLAIN:
        variable = copies[0]
    elif plan.placement is Placement.CENTRAL:
        variable = CentralVariable(strategy, copies, OnWrite)
    elif on_read:
        variable = SyncOnReadVariable(strategy, copies, OnRead)
    else:
        variable = MirroredVariable(strategy, copies, OnWrite)
    if kwargs.get("aggregation") is VariableAggregation.MEAN and copies[0].dtype.kind in "biu":
        raise ValueError(
            f"The variable {copies[0].name!r} of dtype {copies[0].dtype} has aggregation MEAN; expected a floating dtype, because "
            f"a mean of integers is none. Use a float, or aggregation SUM."
        )
    for place, copy in enumerate(copies):
        copy.belong(strategy, variable, place)
    strategy.extended.turns.taken += colocated is None
    return variable


def _copy(plan: "Plan", home: Device, following: Callable[..., Any], kwargs: dict[str, Any]) -> Variable:
    with entered(device=home), plan.backend.on(home):
        made = following(**kwargs)
    if not isinstance(made, Variable):
        raise TypeError(
            f"A variable creator returned a {type(made).__name__}; expected a variable. Return next_creator(**kwargs)."
        )
    return made


def _of_the_first_worker(strategy: "StrategyBase", kwargs: dict[str, Any]) -> Any:
    """The initial value of the first worker, so that all workers start from the same one."""
    value = kwargs.get("initial_value")
    own = [value() if callable(value) else value]
    # The name as well: a worker that makes variables in another order would get the value of another one.
    kind = f"a new variable {kwargs['name']!r}" if kwargs.get("name") else "a new variable"
    exchange = functools.partial(strategy.extended.from_all_workers, kind, own)
    # Workers can meet only outside of their replicas; while a program is written, there are none.
    replica = context.get_replica_context()
    values = exchange() if replica is None or replica.staged else do_outside(exchange)
    if once(values, "shapes", lambda: len(set(map(np.shape, values)))) > 1:
        raise ValueError(
            f"The workers made the variable {kwargs.get('name') or 'Variable'!r} with initial values of shapes "
            f"{', '.join(str(np.shape(one)) for one in values)}; expected one shape on all. Make the same variable in every worker."
        )
    return values[0]


def _require_supported(kwargs: dict[str, Any]) -> None:
    name = kwargs.get("name") or "Variable"
    if kwargs.pop("partitioner", None) is not None:
        raise ValueError(
            f"The variable {name!r} was to be made with a partitioner in the scope of a strategy; expected none, because "
            f"partitioned variables are not supported there. Leave it out, or make the variable outside the scope."
        )
    synchronization = kwargs.get("synchronization", VariableSynchronization.AUTO)
    if not isinstance(synchronization, VariableSynchronization) or synchronization is VariableSynchronization.NONE:
        raise ValueError(
            f"The variable {name!r} has synchronization {synchronization!r}; expected AUTO, ON_WRITE or ON_READ in the scope of "
            f"a strategy. Use one of these members of tf.VariableSynchronization."
        )
    aggregation = kwargs.get("aggregation", VariableAggregation.NONE)
    if not isinstance(aggregation, VariableAggregation):
        raise ValueError(
            f"The variable {name!r} has aggregation {aggregation!r}; expected a member of tf.VariableAggregation. Use SUM, MEAN, "
            f"ONLY_FIRST_REPLICA or NONE."
        )
