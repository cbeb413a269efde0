"""The workers that save and restore one checkpoint together."""

import json
import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from refdist._core.base.errors import DataLossError, NotFoundError
from refdist._core.base.where import HERE
from refdist._core.saving.array_file import Arrays
from refdist._core.saving.checkpoint import Checkpoint, restored
from refdist._core.saving.checkpoint_state import newest_whole
from refdist._core.saving.module import named_variables


class Crew:
    """The workers of the strategy that a checkpoint's variables belong to; any other program is a crew of one."""

    def __init__(self, extended: Any) -> None:
        self._extended = extended
        self.worker: int = 0 if extended is None else extended.plan.worker

    def of_each(self, kind: str, own: str) -> Sequence[str]:
        """What each worker says: all of them must ask, from the same line."""
        return [own] if self._extended is None else self._extended.of_each_worker(kind, own)

    def write_once(self, file: Path, write: Callable[[], None]) -> bool:
        """Have a file written by the first of the workers that were given it, and say whether this worker has.

        The others wait until it is there, or raise what has kept it from being written. A worker that does not see the file
        then has a disk of its own, and writes it there itself.
        """
        own = os.path.abspath(file)
        files = self.of_each("CheckpointManager.save()", own)
        if len(files) == 1:
            write()
            return True
        _require_one_name(files)
        writer, failure = files.index(own), None
        if self.worker == writer:
            try:
                write()
            except Exception as error:  # raised below, when the others know
                failure = error
        reports = self.of_each("the end of CheckpointManager.save()", json.dumps([_stamp(file), _told(failure)]))
        if failure is not None:
            raise failure
        stamp, trouble = json.loads(reports[writer])
        if trouble is not None:
            raise OSError(
                f"Worker {writer} could not write {own} for all workers ({trouble}); expected it to be there now. Save again when "
                f"worker {writer} can."
            )
        if self.worker != writer and stamp != _stamp(file):
            write()
            return True
        return self.worker == writer

    def newest_whole(self, paths: Sequence[str]) -> tuple[str, Arrays] | None:
        """The newest checkpoint that every worker has whole, with its arrays; None if no worker has any."""
        found, damage = None, None
        try:
            found = newest_whole(paths) if paths else None
        except (DataLossError, NotFoundError) as error:
            damage = error
        newest = self.of_each("CheckpointManager.restore_or_initialize()", os.path.basename(found[0]) if found else "")
        if len(set(newest)) == 1:
            if damage is not None:
                raise damage
            return found
        return self._common(paths, newest)

    def restore(self, checkpoint: Checkpoint, arrays: Arrays) -> None:
        """Restore a checkpoint on all workers, or on none."""
        failure, values = None, None
        try:
            values, _ = restored(checkpoint, arrays)
        except Exception as error:  # raised below, when the others know
            failure = error
        if self._extended is not None:
            self._extended.own_writes.taken()  # all restore the same one, or it is taken back
        reports = self.of_each("the end of CheckpointManager.restore_or_initialize()", _told(failure) or "")
        if failure is not None:
            raise failure
        told = [f"worker {index}: {report}" for index, report in enumerate(reports) if report]
        if told and values is not None:
            values.take_back()
            raise ValueError(
                f"Other workers could not restore the checkpoint ({'; '.join(told)}); expected all of them to. Make the same "
                f"objects on every worker. Nothing was restored."
            )

    def _common(self, paths: Sequence[str], newest: Sequence[str]) -> tuple[str, Arrays]:
        """The newest checkpoint that every worker has, where some have lost one that others still have."""
        whole = [path for path in paths if _is_whole(path)]
        answers = self.of_each("the checkpoints that are whole", json.dumps([os.path.basename(path) for path in whole]))
        names: list[list[str]] = [json.loads(answer) for answer in answers]
        common = [name for name in names[0] if all(name in others for others in names)]
        if not common:
            table = "; ".join(f"worker {index}: {', '.join(one) or 'none'}" for index, one in enumerate(names))
            raise DataLossError(
                f"The workers have no checkpoint in common that is whole ({table}); expected one, because all of them must go on "
                f"from the same. Give every worker the folder of the one that has it, or delete them all to begin anew."
            )
        name = common[0]
        if newest[self.worker] != name:
            without = ", ".join(f"worker {index}" for index, one in enumerate(names) if newest[self.worker] not in one)
            warnings.warn(
                f"The checkpoint {newest[self.worker]} cannot be read on {without}; expected it whole on all workers. {name}, from "
                f"before it, is used instead on all of them.",
                UserWarning,
                stacklevel=4,
            )
        return newest_whole([path for path in whole if os.path.basename(path) == name])


def crew_of(checkpoint: Checkpoint) -> Crew:
    """The workers that have the variables of a checkpoint, or else those of the scope that the code is in."""
    frame = HERE.get().frame
    strategies = [getattr(one, "distribute_strategy", None) for _, one in named_variables(checkpoint)]
    for strategy in [*strategies, None if frame is None else frame.strategy]:
        if strategy is not None and strategy.extended.plan.workers > 1:
            return Crew(strategy.extended)
    return Crew(None)


def _require_one_name(files: Sequence[str]) -> None:
    """Raise, on all workers, if some of them would write different files into one folder, and lose count of them."""
    for file in files:
        others = {other for other in files if os.path.dirname(other) == os.path.dirname(file)}
        if len(others) > 1:
            table = "; ".join(f"worker {index}: {one}" for index, one in enumerate(files))
            raise ValueError(
                f"The workers are to save different checkpoints in one folder ({table}); expected the same name and number on all "
                f"of them, or folders of their own. Restore the same checkpoint on every worker, and save equally often."
            )


def _stamp(file: Path) -> list[int]:
    """What tells a file from others of its name; nothing if it is not there."""
    try:
        about = file.stat()
    except OSError:
        return []
    return [about.st_size, about.st_mtime_ns]


def _told(failure: Exception | None) -> str | None:
    return None if failure is None else f"{type(failure).__name__}: {failure}"


def _is_whole(path: str) -> bool:
    try:
        newest_whole([path])
    except (DataLossError, NotFoundError):
        return False
    return True
