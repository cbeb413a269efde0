"""A thread in each worker that says what the worker does, looks at what the others do, and finds out why one does not come.

Only those who wait judge: a worker that computes for an hour disturbs nobody who does not need it.
"""

import contextlib
import dataclasses
import os
import sys
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn, Protocol

from refdist._core.base.call_sites import Site
from refdist._core.processes.board import Status, Waiting, ended_workers, lines_of, lines_of_thread, table
from refdist._core.processes.common_ledger import Entry, Ledger, assignments_of_one, first_difference, is_assignment
from refdist._core.processes.failure import Failure, diverged, forked, lost, not_met, over, silent, stuck, unreachable
from refdist._core.processes.sockets import Connections
from refdist._core.processes.waiting_limits import limits

if TYPE_CHECKING:
    from collections.abc import Mapping

_EVERY = 0.4  # seconds between two looks
_SELDOM = 3  # one look in so many compares what was done
_PATIENCE = 0.8  # seconds of waiting before looking at the others
_BOARD, _FAILURE = "refdist/board/", "refdist/failure"


class Store(Protocol):
    """Keeps small texts under names, for all workers."""

    def put(self, name: str, value: bytes, *, again: bool = False) -> bool: ...

    def look(self, name: str) -> bytes | None: ...

    def look_below(self, name: str) -> "Mapping[str, bytes]": ...


class Watch:
    """What one worker knows about itself and the others."""

    def __init__(self, store: Store, index: int, names: Sequence[str], folder: str | None) -> None:
        self._store, self._index, self._names, self._folder = store, index, names, folder
        self._main = threading.main_thread().ident or 0
        self.waiting: Waiting | None = None
        self.failure: Failure | None = None
        self.connections = Connections()
        self._ledger = Ledger()  # of what this worker has done with all others
        self._beats, self._ended, self.is_fork = 0, False, False
        self._seen: dict[int, tuple[int, float]] = {}  # the last beat of each worker, and when it was new
        self._last: dict[int, Status] = {}
        self._warned = 0.0
        self._abandoned: tuple[Waiting, float] | None = None  # the wait that was to be ended, and since when
        self._stop = threading.Event()
        self._looking = threading.Lock()
        self._thread = threading.Thread(target=self._keep_looking, name="refdist-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self.look()
        os.register_at_fork(after_in_child=self._leave_to_parent)
        self._thread.start()

    def note(self, what: str, identity: str) -> None:
        """Note something that each worker does by itself, and all of them alike."""
        self._ledger.add(what, identity)

    def begin(self, what: str, site: Site | None = None) -> int:
        """Note that this worker now does something that all do; return how many such things it has done before."""
        number = self._ledger.add(what)
        # As Waiting() would, but without a call of Python, in every step of a loop.
        self.waiting = tuple.__new__(Waiting, (number, what, site, time.monotonic(), threading.get_ident()))
        return number

    def end(self) -> None:
        """Note that it is done."""
        self.waiting = None

    def require_no_failure(self) -> None:
        """Raise what is wrong, if anybody has found that something is."""
        if self.failure is not None:
            raise self.failure.error()

    def explain(self, error: Exception, seconds: float) -> Exception:
        """Say why something that all workers do has failed, with as much patience as it takes to find out."""
        end = time.monotonic() + seconds
        while self.failure is None and time.monotonic() < end:
            self.look()
            self._stop.wait(_EVERY / 4)
        if self.failure is None:
            return error
        found = self.failure.error()
        found.__cause__ = error
        return found

    def fail(self, failure: Failure) -> None:
        """Tell all workers what is wrong, unless another one was first."""
        if not self._store.put(_FAILURE, failure.encoded()):
            said = self._store.look(_FAILURE)
            failure = failure if said is None else Failure.of(said)
        self.failure = failure

    def close(self) -> None:
        """Say that this worker has ended, and watch no longer; a last look finds out whether all did the same."""
        self._ended = True
        self._stop.set()
        self._thread.join()
        known = self.failure is not None
        try:
            self._publish()
            self._read()
            found = None if known else self._compared()
            if found is not None:
                self.fail(found)
        except Exception as error:
            found = None if known else unreachable(self._names[self._index], error)
        if found is not None:
            _leave(f"{found.name}: {found.text}")  # nothing that the program does at its end can be right
        self.failure = self.failure or over(self._names[self._index])

    def _leave_to_parent(self) -> None:
        """Do nothing more in a process that was forked: the worker is still the one that has forked it."""
        self.is_fork, self._ended = True, True
        self.failure = forked(self._names[self._index])

    def others_have_ended(self) -> bool:
        """Say whether all others have ended, or are lost."""
        self._read()
        silent, now = limits().silence_seconds, time.monotonic()
        gone = ended_workers(self._folder)
        return all(
            index in gone or self._last[index].state == "ended" or now - self._seen[index][1] > silent
            for index in self._others()
        )

    def _keep_looking(self) -> None:
        while not self._stop.wait(_EVERY):
            try:
                self.look()
            except Exception as error:  # the thread must live: others take its silence for the worker's
                self.failure = self.failure or unreachable(self._names[self._index], error)

    def look(self) -> None:
        """Publish what this worker does, and see what is wrong where it waits."""
        with self._looking:
            if self._ended:
                return
            self._publish()
            waiting = self.waiting
            if self.failure is None:
                said = self._store.look(_FAILURE)
                if said is not None:
                    self.failure = Failure.of(said)
                elif waiting is not None and time.monotonic() - waiting.since > _PATIENCE:
                    self._read()
                    found = self._judged(waiting)
                    if found is not None and self.waiting is waiting:
                        self.fail(found)
                elif self._beats % _SELDOM == 0:
                    self._read()
                    found = self._compared()
                    if found is not None:
                        self.fail(found)
            if self.failure is not None and waiting is not None:
                self._abandon(waiting, self.failure)

    def _abandon(self, waiting: Waiting, failure: Failure) -> None:
        """End a wait for workers that will not come; one that ends by itself lets the program find the failure in its next step.

        To cut the connections while data moves would be dangerous: gloo forgets a write that fails, and waits for it.
        """
        if self._abandoned is None or self._abandoned[0] is not waiting:
            if time.monotonic() - waiting.since > _PATIENCE:
                self._abandoned = waiting, time.monotonic()
                self.connections.cut()
        elif time.monotonic() - self._abandoned[1] > limits().abandon_seconds and self.waiting is waiting:
            lines = lines_of_thread(waiting.thread) if waiting.site is None else lines_of(waiting.site)
            _leave(
                f"{failure.name}: {failure.text}\n{self._names[self._index]} is still in {waiting.what} at {', '.join(lines)}, "
                f"inside of JAX. Nothing else can end that, so this process ends."
            )

    def rows(self) -> str:
        """Where each worker is, as far as this one knows."""
        self._read()
        return self._rows({})

    def _publish(self) -> None:
        self._beats += 1
        waiting = self.waiting
        if self._ended:
            status = Status(self._beats, "ended", self._ledger.count)
        elif waiting is None:
            status = Status(self._beats, "runs", self._ledger.count, lines=lines_of_thread(self._main))
        else:
            site = waiting.site
            lines = lines_of_thread(waiting.thread) if site is None else lines_of(site)
            seconds = time.monotonic() - waiting.since
            status = Status(self._beats, "waits", waiting.number, waiting.what, lines, seconds)
        status = dataclasses.replace(status, ledger=tuple(self._ledger.entries()))
        self._last[self._index] = status
        self._store.put(f"{_BOARD}{self._index}", status.text(), again=True)

    def _others(self) -> list[int]:
        return [index for index in range(len(self._names)) if index != self._index]

    def _read(self) -> None:
        found, now = self._store.look_below(_BOARD), time.monotonic()
        for index in self._others():
            text = found.get(str(index))
            status = Status(0, "runs") if text is None else Status.of(text)
            if index not in self._seen or self._seen[index][0] != status.beat:
                self._seen[index] = (status.beat, now)
            self._last[index] = status

    def _compared(self) -> Failure | None:
        """What is wrong with what was done, as far as ledgers say; what this worker waits for is not done."""
        waiting = self.waiting
        own = [entry for entry in self._ledger.entries() if waiting is None or entry.number < waiting.number]
        for index in self._others():
            found = first_difference(own, self._last[index].ledger)
            if found is not None:
                return diverged(self._rows_of_ledgers(own, index, *found))
        return None

    def _rows_of_ledgers(self, own: Sequence[Entry], other: int, mine: Entry, others: Entry) -> str:
        number, theirs = mine.number + 1, self._last[other].ledger
        if mine.what != others.what and not (is_assignment(mine) or is_assignment(others)):
            rows = table({self._index: f"did {mine.what}", other: f"did {others.what}"})
            return f"{rows}\n  (at the latest as number {number} of what they did)"
        rows = [
            f"  workers {self._index} and {other}: they differ somewhere in the first {number} things that they did"
        ]
        for index, what in [
            (self._index, assignments_of_one(own, theirs)),
            (other, assignments_of_one(theirs, own)),
        ]:
            rows += [f"  worker {index} did {one}, worker {self._index + other - index} did not" for one in what[:3]]
        return "\n".join(rows)

    def _judged(self, waiting: Waiting) -> Failure | None:
        """What is wrong, if something certainly is."""
        different = self._compared()
        if different is not None:
            return different
        now, limit, gone = time.monotonic(), limits(), ended_workers(self._folder)
        own = self._last[self._index]
        for index in self._others():
            status, (_, heard) = self._last[index], self._seen[index]
            ended = gone.get(index)
            if ended is not None and (ended.code or ended.signal):
                return lost(self._names[index], str(ended), self._rows({index: f"{ended}; it was {status}"}))
            if status.state == "ended" or ended is not None:
                if status.number <= waiting.number:
                    return not_met(len(self._names), self._rows({index: "has ended its program"}))
            elif now - heard > limit.silence_seconds:
                return silent(self._names[index], now - heard, self._rows({index: f"silent; it was {status}"}))
            elif status.state == "waits" and status.number == own.number == waiting.number and status.what != own.what:
                return not_met(len(self._names), self._rows({}))
        return self._stalled(waiting, now - waiting.since)

    def _stalled(self, waiting: Waiting, seconds: float) -> Failure | None:
        limit = limits()
        late = [index for index in self._others() if self._last[index].number < waiting.number + 1]
        late = [index for index in late if self._last[index].state != "waits"]
        if not late:
            return None
        if seconds > limit.stall_limit:
            return stuck(self._names[late[0]], seconds, self._rows({}))
        if seconds > limit.stall_seconds and seconds - self._warned > limit.stall_seconds:
            self._warned = seconds
            sys.stderr.write(
                f"{self._names[self._index]} has been waiting for {seconds:.0f} s:\n{self._rows({})}\nIt goes on waiting.\n"
            )
            sys.stderr.flush()
        elif seconds < self._warned:
            self._warned = 0.0
        return None

    def _rows(self, others: "Mapping[int, str]") -> str:
        return table({index: others.get(index) or str(status) for index, status in self._last.items()})


def _leave(text: str) -> NoReturn:
    """Say why, and end this process without anything else."""
    with contextlib.suppress(Exception):  # such as where nobody reads it
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    os._exit(1)
