"""One attempt of a launch: all workers are started, and watched until none of them is left."""

import math
import pathlib
import signal
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from threading import Event

from refdist._core.launching.coordination_service import coordination_service
from refdist._core.launching.free_ports import reserved_addresses
from refdist._core.launching.keeper import Keeper, end_marked
from refdist._core.launching.launch_plan import (
    AT_ONCE,
    COULD_NOT_START,
    READER_GONE,
    TIMED_OUT,
    Launch,
    Steps,
    Verdict,
)
from refdist._core.launching.launched_worker import LaunchedWorker, signal_name
from refdist._core.launching.output_relay import OutputRelay, prefix_of, wants_colour
from refdist._core.launching.signal_inbox import SignalInbox
from refdist._core.launching.worker_environment import cluster_settings
from refdist._core.processes.end_notices import EndNotices

NAME = "refdist launch"
REQUESTS = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
SECONDS_FOR_LEFTOVERS = 1.0


class Attempt:
    """The workers of one attempt, from their start to the end of the last of them."""

    def __init__(
        self,
        launch: Launch,
        number: int,
        devices: Sequence[Mapping[str, str]],
        signals: SignalInbox,
        deadline: float | None,
    ) -> None:
        self._launch = launch
        self._number = number
        self._devices = devices
        self._signals = signals
        self._deadline = math.inf if deadline is None else deadline
        self._workers: list[LaunchedWorker] = []
        self._relay = OutputRelay(signals.wake)
        self._verdict: Verdict | None = None
        self._steps: deque[tuple[float, signal.Signals]] = deque()
        self._requested = False
        self._forced: list[LaunchedWorker] = []
        self._first: LaunchedWorker | None = None

    def run(self) -> Verdict:
        """Start the workers, wait for their end, and say how it came out; no process is left then, whatever happens."""
        with ExitStack() as held:
            folder = held.enter_context(
                tempfile.TemporaryDirectory(prefix="refdist-launch-", ignore_cleanup_errors=True)
            )
            mark = f"REFDIST_BOARD={folder}"
            keeper = held.enter_context(Keeper(mark, folder))
            service = held.enter_context(coordination_service(self._launch.workers))
            self._notices = EndNotices(pathlib.Path(folder))
            self._relay.start()
            try:
                self._start(keeper, {"REFDIST_COORDINATOR": service, "REFDIST_BOARD": folder})
                self._watch()
            finally:
                self._clear_away(keeper, mark)
        return self._verdict or Verdict()

    def _start(self, keeper: Keeper, settings: Mapping[str, str]) -> None:
        """Start the workers one after the other, unless somebody asks to end meanwhile."""
        launch = self._launch
        shared = {**launch.environment, **settings, "REFDIST_ATTEMPT": str(self._number)}
        with reserved_addresses(launch.workers) as addresses:
            own = [{**cluster_settings(addresses, i), **self._devices[i]} for i in range(launch.workers)]
        for index in range(launch.workers):
            self._obey(self._signals.wait(0))
            if self._verdict is not None:
                return
            try:
                worker = LaunchedWorker(index, launch.command, {**shared, **own[index]})
            except OSError as error:
                sentence = (
                    f"worker {index} of {launch.workers} could not be started: {error}. Look at the limits of processes and "
                    f"open files (ulimit -u, ulimit -n), or start fewer workers."
                )
                self._end(Verdict(COULD_NOT_START, sentence), AT_ONCE)
                return
            keeper.watch(worker.group)
            self._workers.append(worker)
            for pipe, target in ((worker.output, launch.output), (worker.errors, launch.errors)):
                self._relay.add(pipe, prefix_of(index, launch.workers, coloured=wants_colour(target)), target)

    def _watch(self) -> None:
        """Wait until no worker is left, and see to it that it comes to this once there is a verdict."""
        while True:
            self._take_note()
            if all(worker.ended for worker in self._workers):
                return
            self._keep_time()
            self._obey(self._signals.wait(self._seconds_until_something_is_due()))

    def _take_note(self) -> None:
        """Look at all workers, tell the others what has changed, and judge the first failure."""
        ended: list[LaunchedWorker] = []
        for worker in self._workers:
            ended_before, stopped_before = worker.ended, worker.stopped
            worker.look()
            if worker.ended and not ended_before:
                self._notices.publish_end(worker.index, worker.facts())
                ended.append(worker)
            elif worker.stopped and not stopped_before:
                self._notices.publish_stop(worker.index, worker.facts())
                self._say(
                    f"worker {worker.index} is stopped ({worker.stopped}); kill -CONT {worker.group} lets it go on."
                )
            elif stopped_before and not worker.stopped:
                self._notices.withdraw_stop(worker.index)
        failed = [worker for worker in ended if worker.ended and worker.ended.code]
        if failed and self._verdict is None:
            self._judge(min(failed, key=_most_telling))
        if self._relay.abandoned and self._verdict is None:
            self._end(
                Verdict(READER_GONE, "nobody reads the output any more; the workers were ended."),
                self._launch.politely(),
            )

    def _judge(self, worker: LaunchedWorker) -> None:
        """Make the first failure the result of the attempt."""
        assert worker.ended is not None
        launch = self._launch
        stopped = "".join(
            f", while worker {each.index} was stopped ({each.stopped})" for each in self._workers if each.stopped
        )
        self._first = worker
        self._end(self._blaming(worker, stopped), launch.after_a_failure())
        if not all(each.ended for each in self._workers):
            self._say(
                f"worker {worker.index} failed: {worker.ended}; the others have {launch.grace_seconds:g} s to end "
                f"by themselves."
            )

    def _blaming(self, worker: LaunchedWorker, why: str) -> Verdict:
        assert worker.ended is not None
        return Verdict(
            worker.ended.exit_code,
            f"worker {worker.index} of {self._launch.workers} failed first: {worker.ended}{why}.",
            may_try_again=self._number < self._launch.restarts,
        )

    def _look_for_the_cause(self) -> None:
        """Blame the worker that had an error of its own, if the first that ended did so because of it."""
        error = self._notices.first_error()
        if self._first is None or error is None or error.at > self._first.ended_at:
            return
        cause = self._workers[error.worker]
        if cause.ended and cause.ended.code and self._verdict is not None:
            found = self._blaming(cause, f", {error.text}")
            self._verdict = replace(found, may_try_again=self._verdict.may_try_again)

    def _obey(self, numbers: Iterable[int]) -> None:
        """Do what signals to the launcher ask for; asked twice, it does not wait for anybody."""
        for number in numbers:
            if number not in REQUESTS:
                continue
            name = signal_name(number)
            again, self._requested = self._requested, True
            self._end(
                Verdict(128 + number, f"ended by {name}."), AT_ONCE if again else self._launch.after_a_request(number)
            )
            if not again:
                self._say(f"{name} is passed on to the workers; once more ends them at once.")

    def _keep_time(self) -> None:
        """Send the signals whose time has come, and end everything at the deadline."""
        now = time.monotonic()
        if self._verdict is None and now >= self._deadline:
            sentence = f"timed out: not done after {self._launch.timeout_seconds:g} s (--timeout)."
            self._end(Verdict(TIMED_OUT, sentence), self._launch.politely())
        left = [worker for worker in self._workers if not worker.ended]
        if self._steps and all(worker.stopped for worker in left):
            # They do nothing with the time that they are given, so the next step comes now, and the others come earlier, too.
            early = max(self._steps[0][0] - now, 0)
            self._steps = deque((moment - early, number) for moment, number in self._steps)
        while self._steps and self._steps[0][0] <= now:
            _, number = self._steps.popleft()
            if number is signal.SIGKILL:
                self._forced = left
            for worker in left:
                worker.send(number)

    def _seconds_until_something_is_due(self) -> float:
        due = [moment for moment, _ in self._steps] or [math.inf if self._verdict else self._deadline]
        return due[0] - time.monotonic()

    def _end(self, verdict: Verdict, steps: Steps) -> None:
        """Begin to end the workers; the first verdict stands, but who is asked to end does not try again."""
        self._verdict = replace(self._verdict, may_try_again=False) if self._verdict else verdict
        self._steps.clear()
        moment = time.monotonic()
        for seconds, number in steps:
            moment += seconds
            self._steps.append((moment, number))

    def _clear_away(self, keeper: Keeper, mark: str) -> None:
        """End what the workers have left running, pass on their last lines, and say how it came out."""
        for worker in self._workers:
            if not worker.ended:  # an error of our own brought us here
                worker.send(signal.SIGKILL)
        for number in (signal.SIGTERM, signal.SIGKILL):
            # What a worker leaves behind may need a moment to clean up; as long as it does, it holds the output open.
            if self._wait_for(self._relay.closed, time.monotonic() + SECONDS_FOR_LEFTOVERS):
                break
            for worker in self._workers:
                worker.send(number)
        for worker in self._workers:
            worker.send(signal.SIGKILL)
            keeper.forget(worker.group)
            worker.reap()
        end_marked(mark)
        self._look_for_the_cause()
        farewell = self._farewell()
        self._relay.finish(self._launch.errors, farewell and f"{NAME}: {farewell}")
        # Whoever reads the output may take the time, unless we are to end: then a terminal on hold must not keep us.
        patience = self._launch.seconds_to_obey
        until = time.monotonic() if self._requested else max(self._deadline, time.monotonic())
        if not self._wait_for(self._relay.finished, until + patience):
            self._relay.silent = True

    def _wait_for(self, event: Event, until: float) -> bool:
        """Wait for something that the relay does; False if it takes too long, or somebody asks to end."""
        while not event.is_set():
            left = until - time.monotonic()
            if left <= 0 or REQUESTS.intersection(self._signals.wait(left)):
                return False
        return True

    def _farewell(self) -> str:
        verdict = self._verdict or Verdict()
        forced = ", ".join(str(worker.index) for worker in self._forced)
        parts = [verdict.sentence]
        if forced and verdict.sentence:
            parts.append(f"Had to be killed: worker {forced}.")
        if verdict.may_try_again:
            parts.append(f"All start again (restart {self._number + 1} of {self._launch.restarts}).")
        return " ".join(parts)

    def _say(self, text: str) -> None:
        self._relay.say(self._launch.errors, f"{NAME}: {text}")


def _most_telling(worker: LaunchedWorker) -> tuple[bool, int]:
    """Of those that ended at the same moment, the killed one is the cause and the others noticed."""
    assert worker.ended is not None
    return worker.ended.code > 0, worker.index
