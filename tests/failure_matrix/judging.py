"""Whether what came of a run is what has to come of it."""

import dataclasses
import re

from tests.failure_matrix.running import Outcome
from tests.failure_matrix.ways import AT_THE_START, OF_THE_LAUNCHER, SLOW

TIMED_OUT = 124


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What is wrong with a run, how long the workers took to raise their error, and which it was."""

    complaints: tuple[str, ...]
    seconds: tuple[float, ...]
    kinds: tuple[str, ...]


def judge(outcome: Outcome) -> Verdict:
    """Say what is wrong with a run: nothing, if it is as it should be."""
    complaints = []
    if TIMED_OUT in outcome.exit_codes:
        complaints.append("it hung")
    if outcome.left:
        complaints.append(f"{len(outcome.left)} processes were left behind")
    if outcome.way in OF_THE_LAUNCHER:
        return Verdict((*complaints, *_of_the_launcher(outcome)), (outcome.seconds,), ())
    if outcome.way == SLOW:
        return Verdict((*complaints, *_slow(outcome)), (), ())
    raised = outcome.notes["raised"]
    kinds = tuple(sorted({one["kind"] for one in raised if _has_to_raise(outcome, one["worker"])}))
    seconds = tuple(one["at"] - _moment(outcome, one) for one in raised if _has_to_raise(outcome, one["worker"]))
    complaints += _raised(outcome, seconds)
    if outcome.way in AT_THE_START:
        complaints += [f"a process was ended by {code}" for code in outcome.exit_codes if code < 0]
    else:
        complaints += _same(outcome)
        complaints += [] if outcome.exit_codes[0] else ["the launcher's exit code is 0"]
    return Verdict(tuple(complaints), seconds, kinds)


def _has_to_raise(outcome: Outcome, worker: int) -> bool:
    return outcome.way.everyone or worker != outcome.index


def _moment(outcome: Outcome, one: dict) -> float:
    """When it went wrong; at the start, when this process began to join."""
    if outcome.way in AT_THE_START:
        return next(other["at"] for other in outcome.notes["joining"] if other["pid"] == one["pid"])
    return min((other["at"] for other in outcome.notes["moment"]), default=float("nan"))


def _raised(outcome: Outcome, seconds: tuple[float, ...]) -> list[str]:
    complaints = []
    by_pid = {one["pid"]: one for one in outcome.notes["raised"]}
    for process in outcome.notes["started"]:
        if not _has_to_raise(outcome, process["worker"]):
            continue
        one = by_pid.get(process["pid"])
        if one is None and outcome.way.name == "twice" and _other_was_told(outcome, process):
            continue
        if one is None:
            complaints.append(f"worker {process['worker']} raised nothing")
        elif one["kind"] not in outcome.way.kind.split("|"):
            complaints.append(f"worker {process['worker']} raised {one['kind']}: {one['text'][:200]}")
        elif outcome.way in AT_THE_START and not re.search(r"127\.0\.0\.1:\d+", one["text"]):
            complaints.append(f"worker {process['worker']} named no address: {one['text'][:200]}")
    if not all(each <= outcome.way.seconds for each in seconds):
        complaints.append(f"it took {max(seconds):.1f} s, more than {outcome.way.seconds:g}")
    return complaints


def _other_was_told(outcome: Outcome, process: dict) -> bool:
    """One of two processes with one index has to go; the rest may be a whole cluster, and work."""
    told = any(one["worker"] == outcome.index for one in outcome.notes["raised"])
    return told and any(one["pid"] == process["pid"] for one in outcome.notes["finished"])


def _same(outcome: Outcome) -> list[str]:
    """All raise the same error, which says which worker it was, and where the others are."""
    texts = {one["text"] for one in outcome.notes["raised"] if _has_to_raise(outcome, one["worker"])}
    complaints = [f"{len(texts)} different errors"] if len(texts) > 1 else []
    if "ValueError" in {one["kind"] for one in outcome.notes["raised"]}:
        return complaints  # as in lockstep: about replicas, where all of them are known
    for text in sorted(texts):
        if not re.search(rf"workers?[ \d,]* {outcome.index}\b", text, re.IGNORECASE):
            complaints.append(f"worker {outcome.index} is not named: {text[:200]}")
        if outcome.way.name != "killed-joining" and not re.search(r"worker_program\.py:\d+", text):
            complaints.append(f"no line is named: {text[:200]}")
    return complaints


def _of_the_launcher(outcome: Outcome) -> list[str]:
    expected = {"SIGINT": 130, "SIGTERM": 143, "SIGKILL": -9}[outcome.way.name]
    complaints = [] if expected == outcome.exit_codes[0] else [f"exit code {outcome.exit_codes[0]}, not {expected}"]
    if outcome.seconds > outcome.way.seconds:
        complaints.append(f"it took {outcome.seconds:.1f} s")
    return complaints


def _slow(outcome: Outcome) -> list[str]:
    """Waiting for a slow worker is no error; where it is comes to be told."""
    complaints = [] if outcome.exit_codes == (0,) else [f"exit code {outcome.exit_codes[0]}, not 0"]
    if outcome.workers > 1 and not re.search(r"waiting for \d+ s[\s\S]*worker_program\.py:\d+", outcome.output):
        complaints.append("nobody said where the slow worker is")
    return complaints
