"""A static look at a step: what is equal on all replicas, what differs, and what its reductions make of that."""

import importlib
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.base.call_sites import Place
from refdist._core.base.callables import require_callable
from refdist._core.base.enums import VariableAggregation
from refdist._core.base.errors import MeetingError
from refdist._core.base.lint_finding import Finding
from refdist._core.staging.program import Program
from refdist._core.strategies.strategy import StrategyBase
from refdist._core.testing.lint_report import LintReport, LintWarning, silenced
from refdist._core.testing.lint_trace import Traced, traced
from refdist._core.variables.variable import LIVE, Variable

_SIZES = (
    "The step was looked at for one size of batches only: means over the replica's rows, terms that are added to them, and "
    "clipping were not looked at."
)
_PYTHON = "The step does not become one program over all replicas, so that nothing in it was looked at."
_ALONE = "The step has one replica, on which nothing differs. Look at it with two or more."


def lint(step: Callable[..., Any], *args: Any, strategy: StrategyBase | None = None, **kwargs: Any) -> LintReport:
    """Look at a step without running it, and warn of each line that is probably wrong on several replicas.

    >>> import refdist as tf
    >>> tf.use("simulator", gpus=2)
    >>> strategy = tf.distribute.MirroredStrategy()
    >>> def step(x):
    ...     loss = tf.reduce_mean(x)
    ...     return tf.distribute.get_replica_context().all_reduce("MEAN", loss)
    >>> print(tf.testing.lint(step, tf.TensorSpec([4], tf.float32), strategy=strategy))
    Nothing was found.

    No variable changes; those that the first call of the step makes are made. `# refdist: ok` on a line silences what is found
    there, `# refdist: ok(kind)` only that kind.

    Args:
        step: a `tf.function`, a function that calls `strategy.run`, or, with `strategy`, one that runs in each replica.
        args: values as for a call, or specs; with `strategy`, a TensorSpec is what each replica gets.
    """
    require_callable(step, "lint()")
    if strategy is not None and not isinstance(strategy, StrategyBase):
        raise TypeError(
            f"lint() got strategy={strategy!r}; expected a strategy, or None. Pass the strategy in whose replicas the step runs."
        )
    try:
        found, notes = _looked_at(traced(step, strategy, args, kwargs))
    except MeetingError as error:
        found, notes = [_meeting(error)], []
    findings = tuple(finding for finding in found if not silenced(finding))
    for finding in findings:
        warnings.warn(LintWarning(str(finding)), stacklevel=2)
    return LintReport(findings, tuple(notes))


def _looked_at(step: Traced) -> tuple[list[Finding], list[str]]:
    program = step.program
    if program is None:
        return [], [_PYTHON]
    count = program.compiler.count
    if count == 1:
        return [], [_ALONE]
    flows: Any = importlib.import_module("refdist._core.compilers.reduction_flow")
    states: Any = importlib.import_module("refdist._core.compilers.reduction_states")
    flow = flows.ReductionFlow(count, step.sizes, step.uneven)
    jaxpr = program.written.jaxpr.jaxpr
    twin = None if step.doubled is None else step.doubled.written.jaxpr.jaxpr
    ends = flow.follow(jaxpr, twin, _inputs(program, len(jaxpr.invars), states.State))
    _check_outputs(program, step, flow, ends)
    complete = twin is not None or not step.sizes
    return list(flow.findings.values()), [] if complete else [_SIZES]


def _inputs(program: Program, count: int, state: Callable[..., Any]) -> list[Any]:
    """What is known of the inputs of a program."""
    written, interface = program.written, program.interface
    inputs = [state()] * count
    kinds: list[tuple[str, Any]] = [("argument", place) for place, _ in interface.takes]
    for storage in interface.reads:
        variable = _variable(storage)
        name = variable.name if variable is not None else "a variable"
        kinds.append(("on read" if storage.own_copies else "variable", name))
    kinds += [("random", None)] * interface.draws
    for index, origin in zip(written.used, kinds, strict=True):
        inputs[index] = state(varying=written.own_inputs[index], origins=frozenset({origin}))
    return inputs


def _check_outputs(program: Program, step: Traced, flow: Any, ends: Sequence[Any]) -> None:
    """Note what is wrong with the results of a program, and with what it writes."""
    written, interface = program.written, program.interface
    first = interface.first_written
    for place, end in enumerate(ends[: first + len(interface.writes)]):
        for finding in sorted(end.pending, key=str):
            if place >= first or finding.kind != "bent-before-reduce":  # a mean of norms may be told; it is no update
                flow.found(finding)
        if place < first and end.only is not None and len(flow.picked[end.only[0]]) == 1:
            flow.found(_one_replica(end.only[1], program.compiler.count, _reduced_at(end)))
    for storage, end in zip(interface.writes, ends[first:], strict=False):
        variable = _variable(storage)
        if variable is None or not storage.own_copies or variable.aggregation is not VariableAggregation.SUM:
            continue
        again = ("on read", variable.name) in end.origins  # a total of means, with a count beside it
        if end.partial and end.degree == 0 and end.division is not None and not end.shared and not again:
            flow.found(_mean_in_sum(variable, end.division.place))
    told: set[str] = set()
    for one, place in zip(interface.compared, written.compared, strict=True):
        name = one.what.partition(" of ")[2].strip("'\"")
        if ends[place].varying and name in step.writes and name not in told:
            told.add(name)
            flow.found(_unreduced(name, ends[place], step.writes[name]))


def _variable(storage: Any) -> Variable | None:
    return next((variable for variable in list(LIVE.values()) if variable.storage is storage), None)


def _reduced_at(state: Any) -> Place | None:
    places = [what for kind, what in state.origins if kind == "reduced" and isinstance(what, Place)]
    return max(places, key=lambda place: place.line) if places else None


def _one_replica(index: int, count: int, place: Place | None) -> Finding:
    text = f"The result is what replica {index} of {count} has; what the others have is dropped."
    return Finding("one-replica-result", place, text)


def _mean_in_sum(variable: Variable, place: Place | None) -> Finding:
    text = (
        f"{variable.name!r} has aggregation SUM, and gets a mean over the replica's own rows: read outside of the replicas, it is "
        f"the sum of these means."
    )
    return Finding("mean-in-summed-state", place, text)


def _unreduced(name: str, state: Any, place: Place | None) -> Finding:
    own = sorted(str(what) for kind, what in state.origins if kind == "on read")
    if own:
        text = f"{name!r} gets what each replica has in {own[0]!r}, an ON_READ variable; a mirrored variable has one value for all."
        return Finding("on-read-to-mirrored", place, text)
    text = f"{name!r} gets a value that differs between replicas and was not reduced; a mirrored variable has one value for all."
    return Finding("unreduced-state", place, text)


def _meeting(error: MeetingError) -> Finding:
    found = re.search(r"([^\s(]+\.py):(\d+)", str(error))
    place = Place(found.group(1), "", int(found.group(2)), 0) if found else None
    return Finding("meeting", place, str(error))
