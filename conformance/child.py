"""The process in which an implementation runs: `python -m conformance.child`, started by a worker.

Both sides speak in lines of JSON. The first line of its input says what to open: implementation, checks (the place of
the function that returns them), faults (likewise, or null), timeout in seconds, and deep, a seed or null. It answers
{"event": "ready"}. Each further line asks for one case, {"id", "replicas", "fault"}, and is answered by {"event":
"done", "result"}. At the end of its input it ends.
"""

import faulthandler
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any

from conformance import last
from conformance.case import run_case, run_with_fault
from conformance.checks import Check
from conformance.implementations import find, locate
from conformance.isolation import apart


def main() -> None:
    """Open the implementation, and run the cases that come, one after another."""
    # What checks and libraries print must not come between the lines of the protocol, nor may they read from it.
    requests = os.fdopen(os.dup(sys.stdin.fileno()), encoding="utf-8")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    faulthandler.enable()

    def tell(event: str, **fields: Any) -> None:
        print(json.dumps({"event": event, **fields}), file=answers, flush=True)

    request = json.loads(requests.readline())
    implementation = find(request["implementation"])
    checks = _checks(request)
    faults = locate(request["faults"], FunctionType)() if request["faults"] else {}
    implementation.open()
    tell("ready")

    def run(case: Mapping[str, Any]) -> None:
        # Shows where a check hangs; the worker ends the process a moment later.
        faulthandler.dump_traceback_later(request["timeout"])
        check, replicas = checks[case["id"]], case["replicas"]
        if case["fault"]:
            result = run_with_fault(implementation, check, replicas, faults[case["fault"]])
        else:
            result = run_case(implementation, check, replicas)
        faulthandler.cancel_dump_traceback_later()
        tell("done", result=result.to_dict())

    for line in requests:
        if implementation.isolate:
            apart(run, json.loads(line))
        else:
            run(json.loads(line))


def _checks(request: Mapping[str, Any]) -> Mapping[str, Check]:
    """Return the checks, in deep mode each with its law if it has one."""
    checks: Mapping[str, Check] = locate(request["checks"], FunctionType)()
    if request["deep"] is None:
        return checks
    # Otherwise hypothesis makes a folder in the current one.
    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(last.cache() / "hypothesis"))
    from conformance.deep import laws

    found = laws()
    return {
        id: replace(check, law=found[id].bound(request["deep"])) if id in found else check
        for id, check in checks.items()
    }


if __name__ == "__main__":
    main()
