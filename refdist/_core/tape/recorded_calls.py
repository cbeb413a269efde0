"""Functions under a tape: a compiled program computes the result, and another one its gradients."""

import dataclasses
import importlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.jax_facts import is_jax
from refdist._core.base.where import HERE, entered
from refdist._core.seam.tapes import NeedsBodyTape
from refdist._core.staging.function import Function
from refdist._core.tape.gradient_tape import UnconnectedGradients
from refdist._core.tape.graph_gradients import BodyTape
from refdist._core.tape.recording_tapes import RecordingTapes, recording
from refdist._core.variables.variable import Variable


class _NeedsEachOperation(BaseException):
    """Says that tapes have to see each operation of a function, before anything of it was carried out."""


@dataclasses.dataclass(eq=False)
class _Backward:
    """The program that computes gradients, and what it takes."""

    piece: Any
    targets: Sequence[int]  # of the leaves of the result, those that have gradients
    arguments: Sequence[int]  # of the leaves of the arguments, those that have gradients
    variables: Sequence[Variable]
    present: Sequence[bool]  # which arguments and variables the result depends on
    takes: Sequence[int | None]  # of what was kept: which argument it is, if it is one
    readings: Sequence[int | None]  # of what was kept: which variable it was read from, if it was

    def __post_init__(self) -> None:
        self._compiled = recording().compiled(lambda kept, seeds: self.piece.given(kept)(*seeds))

    def __call__(self, kept: Sequence[Any], seeds: Sequence[Any]) -> list[Any]:
        found = iter(self._compiled(list(kept), [recording().whole(seed) for seed in seeds]))
        return [next(found) if there else None for there in self.present]


_programs: "weakref.WeakKeyDictionary[Any, Function | None]" = weakref.WeakKeyDictionary()


def called_under_tapes(function: Function, in_python: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function while tapes record: as one operation, where that is sound, or else each operation of its body."""
    program = _programs.get(function) if function in _programs else _programs.setdefault(function, _twin(function))
    tapes, frame = HERE.get().tapes, HERE.get().frame
    in_replica = frame is not None and frame.replica is not None and frame.strategy.extended.plan.name != "default"
    if program is None or in_replica or not isinstance(tapes, RecordingTapes):
        return in_python(args, kwargs)
    try:
        with entered(tapes=None):
            result, kept, backward = program(*args, **kwargs)
    except _NeedsEachOperation:
        _programs[function] = None
        return in_python(args, kwargs)
    return _noted(tapes, (args, kwargs), result, kept, backward)


def _twin(function: Function) -> Function:
    """A function that returns, beside the result of another, what the gradients of it are made from."""
    reference: Any = weakref.ref(function)

    def body(*args: Any, **kwargs: Any) -> Any:  # without an `if`, because then it would be converted first
        draft = _recorded_draft()
        result = reference()(*args, **kwargs)
        return result, *_written((args, kwargs), result, draft)

    return Function(body, None, False)


def _recorded_draft() -> Any:
    """The draft that the code is in, if a tape records its body."""
    draft = HERE.get().draft
    if draft is None:
        raise _NeedsEachOperation
    if not draft.recorded:
        raise NeedsBodyTape(())
    return draft


def _written(given: Any, result: Any, draft: Any) -> tuple[list[Any], _Backward]:
    """What has to be kept for the gradients of a result, and the program that computes them."""
    tapes: Any = HERE.get().tapes
    tape: BodyTape = next(one for one in tapes.tapes if isinstance(one, BodyTape))
    leaves, results = nest.flatten(given), nest.flatten(result)
    arguments = [place for place, leaf in enumerate(leaves) if _has_gradients(leaf)]
    targets = [place for place, leaf in enumerate(results) if _has_gradients(leaf)]
    variables = tape.watched_variables()
    sources = [*(leaves[place] for place in arguments), *variables]
    present: list[bool] = []

    def pull(*seeds: Any) -> list[Any]:
        none = UnconnectedGradients.NONE
        found = tape.taken([results[place] for place in targets], sources, list(seeds), none)
        if any(isinstance(one, IndexedSlices) for one in found):
            raise _NeedsEachOperation
        present[:] = [one is not None for one in found]
        return [one for one in found if one is not None]

    if draft.wide or tape.recorded.hides([results[place] for place in targets]):
        raise _NeedsEachOperation
    control_flow: Any = importlib.import_module("refdist._core.compilers.control_flow")
    with entered(tapes=None):
        piece = control_flow.written(pull, [results[place] for place in targets])
    kept = piece.found
    takes = [next((place for place in arguments if leaves[place] is one), None) for one in kept]
    readings = [tape.variable_read_as(one) for one in kept]
    places = [place for source in sources for place in tape.places_of(source)]
    others = [one for one, taken, read in zip(kept, takes, readings, strict=True) if taken is None and read is None]
    # A gradient of the gradients has to go through what the result depends on; other tapes see that in the inputs only.
    if tape.recorded.depends(others, places):
        raise _NeedsEachOperation
    numbers = {id(variable): number for number, variable in enumerate(variables)}
    of_variables = [None if read is None else numbers[id(read)] for read in readings]
    return kept, _Backward(piece, targets, arguments, variables, present, takes, of_variables)


def _noted(tapes: RecordingTapes, given: Any, result: Any, kept: Sequence[Any], backward: _Backward) -> Any:
    """Tell tapes of a call, and return its result in the form in which they know it."""
    leaves = nest.flatten(given)
    arrays = {place: tapes.tensor(leaves[place]) for place in backward.arguments}
    held = [
        recording().as_array(one) if place is None else arrays[place]
        for one, place in zip(kept, backward.takes, strict=True)
    ]
    inputs: list[Any] = [arrays[place] for place in backward.arguments]
    for number, variable in enumerate(backward.variables):
        read = next((held[i] for i, one in enumerate(backward.readings) if one == number), None)
        if read is not None:
            tapes.has_read(variable, read)
        inputs.append(read)
    watched = [
        place
        for place, (one, there) in enumerate(zip(inputs, backward.present, strict=True))
        if there and one is not None
    ]
    results = nest.flatten(result)
    outputs = [recording().fresh(recording().as_array(results[place])) for place in backward.targets]

    def gradients(incoming: Sequence[Any]) -> list[Any]:
        found = backward(held, incoming)
        return [found[place] for place in watched]

    if watched:
        tapes.note([inputs[place] for place in watched], outputs, None, gradients)
        for place, output in zip(backward.targets, outputs, strict=True):
            results[place] = output
    return nest.pack_sequence_as(result, results)


def _has_gradients(leaf: Any) -> bool:
    return is_jax(leaf) and leaf.dtype.kind in "fcV"
