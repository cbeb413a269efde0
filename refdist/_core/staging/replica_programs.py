"""Makes one program from what each replica's function does when it is called by itself."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from refdist._core.base import nest
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.replicas.lockstep import agreed
from refdist._core.replicas.meeting import Meeting, not_met
from refdist._core.replicas.values import DistributedValues, regroup, shapes_differ
from refdist._core.seam.inspection import inspection_of
from refdist._core.staging.replica_draft import Key, ReplicaDraft, Requirement, UnevenReplicas
from refdist._core.staging.stand_ins import closed_slices, opened_slices
from refdist._core.strategies.extended import python_watch
from refdist._core.variables.distributed_variable import require_meant

if TYPE_CHECKING:
    from refdist._core.staging.staged_strategy import StagedExtended
    from refdist._core.strategies.strategy import StrategyBase


@dataclasses.dataclass(frozen=True)
class _Part:
    """What the function of one replica has done."""

    result: Any
    written: dict[Key, Any]
    meetings: list[Meeting]
    turns: int  # how many requirements and random numbers there are on its path
    places: dict[int, int]  # where in the outputs of its program a tensor is, by id


class ReplicaPrograms:
    """Lets the function of each replica write a part by itself, and makes one program from the parts."""

    def __init__(self, extended: "StagedExtended", strategy: "StrategyBase", fn: Any, given: Any, count: int) -> None:
        self._draft = extended.draft
        self._extended, self._strategy, self._fn, self._given, self._count = extended, strategy, fn, given, count
        self._parts: list[_Part] = []
        self._left: dict[int, BaseException] = {}  # which replicas have left by sys.exit()

    def merged(self) -> Any:
        """What the replicas return, as code outside of them sees it; their writes are carried out."""
        compiler = self._draft.compiler
        inspection = inspection_of(compiler.real)
        watch = python_watch(self._fn, *self._given) if inspection is not None and inspection.python else None
        programs: list[Any] = []
        for number in range(self._count):
            programs.append(compiler.write_replica(functools.partial(self._write_one, number)))
            if watch is not None:
                watch.look(number)
        if watch is not None:
            watch.tell(traced=True)
        self._draft.turns = max(part.turns for part in self._parts)
        self._compare_meetings()
        if self._left:
            raise next(iter(self._left.values()))
        columns: list[list[Any]] = []
        # What a replica was given, or has read from a variable, is its own, even where one tensor stands for that of every replica.
        own = {id(leaf) for leaf in [*nest.flatten(opened_slices(self._given)), *self._draft.values.values()]}

        def slot(leaves: list[Any]) -> Any:
            same = all(leaf is leaves[0] for leaf in leaves)
            if same and id(leaves[0]) in own and isinstance(leaves[0], self._draft.backend.tensor_type):
                return self._draft.per_replica(leaves[0])
            if same or not any(isinstance(leaf, self._draft.backend.tensor_type) for leaf in leaves):
                return self._plain(leaves)
            if any(leaf is None or isinstance(leaf, (str, bytes)) for leaf in leaves):
                raise ValueError(
                    f"The replicas returned {leaves[0]!r} and {next(x for x in leaves if type(x) is not type(leaves[0]))!r} in one "
                    f"place; expected a tensor from all of them, or from none. Return one kind of value."
                )
            columns.append(leaves)
            origins = {self._draft.one_for_all(leaf) for leaf in leaves}
            return _Slot(len(columns) - 1, own=origins == {None} or len(origins) > 1)

        results = [part.result for part in self._parts]
        structure = nest.transpose(results, slot, lambda: _kinds_differ(results))
        keys = list(dict.fromkeys(key for part in self._parts for key in part.written))
        columns += [self._written_to(key) for key in keys]
        outs = compiler.merge(programs, [self._located(column) for column in columns])
        for key, value in zip(keys, outs[len(outs) - len(keys) :], strict=True):
            self._draft.values[key] = value

        def filled(leaf: Any) -> Any:
            return leaf.seen(self._draft, outs) if isinstance(leaf, _Slot) else leaf

        return closed_slices(nest.map_structure(filled, structure))

    def _plain(self, leaves: list[Any]) -> Any:
        """What all replicas return in one place, where that is no tensor."""
        merged = regroup([[leaf] for leaf in leaves])[0]
        local = self._draft.compiler.local
        if local == self._count or not isinstance(merged, DistributedValues):
            return merged
        if all(
            isinstance(leaf, _NUMBERS) for leaf in leaves
        ):  # tensors: all processes have one program, whatever they return
            return self._draft.per_replica(self._extended.own_of_all(leaves))
        first = self._strategy.extended.plan.first_replica
        return regroup([[leaf] for leaf in leaves[first : first + local]])[0]

    def _write_one(self, number: int) -> list[Any]:
        draft = self._draft
        before, log, turns = draft.values, draft.meetings, draft.turns
        draft.values, draft.meetings = dict(before), []
        try:
            with draft.entered():
                result = self._extended.body(self._strategy, self._fn, self._given, number)
            written = {key: value for key, value in draft.values.items() if before.get(key) is not value}
            meetings, most = draft.meetings, draft.turns
        except SystemExit as error:  # the others are looked at first: they may wait for this one
            result, written, meetings, most = None, dict[Key, Any](), draft.meetings, draft.turns
            self._left[number] = error
        except Exception as error:
            error.add_note(f"raised in replica {number} of {self._count}, while its function was traced")
            raise
        finally:
            draft.values, draft.meetings, draft.turns = before, log, turns
        tensors = [leaf for leaf in nest.flatten(result) if isinstance(leaf, draft.backend.tensor_type)]
        outputs = [*tensors, *written.values()]
        places = {id(tensor): place for place, tensor in enumerate(outputs)}
        self._parts.append(_Part(result, written, meetings, most, places))
        return outputs

    def _written_to(self, key: Key) -> list[Any]:
        """What each replica has written to a variable; one that has not written leaves it as it was, and requires nothing."""
        before = True if isinstance(key, Requirement) else self._draft.values.get(key)
        if before is None:  # a variable made in this draft, which will be thrown away
            before = next(part.written[key] for part in self._parts if key in part.written)
        return [part.written.get(key, before) for part in self._parts]

    def _located(self, column: Sequence[Any]) -> list[Any]:
        """Where each replica's program has a value: a place among its outputs, or the value itself."""
        tensors = [self._extended.tensor(value, None) for value in column]
        if len({(tensor.shape, tensor.dtype) for tensor in tensors}) > 1:
            raise UnevenReplicas
        return [part.places.get(id(tensor), tensor) for part, tensor in zip(self._parts, tensors, strict=True)]

    def _compare_meetings(self) -> None:
        """Raise unless all replicas have met in the same way."""
        logs = [part.meetings for part in self._parts]
        for turn in range(max(map(len, logs))):
            met = {number: log[turn] for number, log in enumerate(logs) if turn < len(log)}
            last = max(logs, key=len)[turn - 1] if turn else None
            before = None if last is None else (last.kind, last.site)
            if not agreed(met, self._count):
                raise not_met(met, self._count, self._name, "replica", turn, before, self._left)
            self._require_same_numbers(met)
            self._require_same_origins(met)
            _require_even_slices([meeting.payload for meeting in met.values()])
            require_meant(
                [meeting.details for meeting in met.values()],
                [meeting.payload for meeting in met.values()],
                met[0].kind,
            )

    def _name(self, number: int) -> str:
        return f"replica {number} of {self._count}, on {self._extended.real_devices[number].short}"

    def _require_same_numbers(self, met: dict[int, Meeting]) -> None:
        """Raise if Python values given to merge_call differ: the part of a replica knows only its own."""
        if met[0].kind != "merge_call":
            return
        plain = [[leaf for leaf in nest.flatten(m.payload[1:]) if isinstance(leaf, _PYTHON)] for m in met.values()]
        if any(one != plain[0] for one in plain):
            raise ValueError(
                f"The replicas gave different Python values to merge_call in a function: {plain[0]} and "
                f"{next(one for one in plain if one != plain[0])}; expected tensors where they differ. Pass tf.constant(...)."
            )

    def _require_same_origins(self, met: dict[int, Meeting]) -> None:
        """End a draft in which only some replicas give to merge_call what all have got: a replica's part knows no others."""
        if met[0].kind == "merge_call":
            leaves = [nest.flatten(opened_slices(meeting.payload[1:])) for meeting in met.values()]
            if len({tuple(map(self._draft.one_for_all, each)) for each in leaves}) > 1:
                raise UnevenReplicas


def _kinds_differ(results: Sequence[Any]) -> BaseException:
    """What ends a draft in which replicas have returned nests that differ, where more than slices and tensors do."""
    closed = [closed_slices(result) for result in results]
    alike = len({nest.shape_of(result) for result in closed}) == 1
    return UnevenReplicas() if alike else shapes_differ(closed)


def _require_even_slices(payloads: Sequence[Any]) -> None:
    """End a draft in which replicas bring different numbers of slices to a meeting."""
    first, *others = [
        [
            (leaf.values.shape, leaf.dense_shape is None)
            for leaf in nest.flatten(payload)
            if isinstance(leaf, IndexedSlices)
        ]
        for payload in payloads
    ]
    if any(other != first for other in others):
        raise UnevenReplicas


_NUMBERS = (bool, int, float, complex)
_PYTHON = (*_NUMBERS, str, bytes)


class _Slot:
    """Where a tensor of all replicas goes in a nest of results."""

    def __init__(self, index: int, *, own: bool) -> None:
        self._index, self._own = index, own

    def seen(self, draft: ReplicaDraft, outs: Sequence[Any]) -> Any:
        """The tensor as code outside of the replicas sees it: one for each replica, unless all have got the very same."""
        return draft.per_replica(outs[self._index]) if self._own else outs[self._index]
