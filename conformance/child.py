"""The process in which an implementation runs: `python -m conformance.child`, started by the runner.

It reads one JSON object from its input: implementation, checks (the place of the function that returns them),
timeout in seconds, and cases, a list of [id, replicas]. It writes one JSON object per line: {"event": "ready"}
when the implementation is open, and for each case, in order, {"event": "start", "id", "replicas", "error_bytes"},
where the last says how much is already in the file of its error output, and {"event": "done", "id", "replicas",
"status", "detail", "seconds"}.
"""

import faulthandler
import json
import os
import sys
from types import FunctionType
from typing import Any

from conformance.case import run_case
from conformance.implementations import find, locate
from conformance.isolation import apart


def main() -> None:
    """Run the cases that the input asks for, one after another."""
    request = json.load(sys.stdin)
    # What checks and libraries print must not come between the lines of the protocol.
    protocol = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    faulthandler.enable()

    def tell(event: str, **fields: Any) -> None:
        print(json.dumps({"event": event, **fields}), file=protocol, flush=True)

    implementation = find(request["implementation"])
    checks = locate(request["checks"], FunctionType)()
    implementation.open()
    tell("ready")

    def run(id: str, replicas: int) -> None:
        # Shows where a check hangs; the runner ends the process a moment later.
        faulthandler.dump_traceback_later(request["timeout"])
        result = run_case(implementation, checks[id], replicas)
        faulthandler.cancel_dump_traceback_later()
        outcome = {"status": result.status.value, "detail": result.detail, "seconds": result.seconds}
        tell("done", id=id, replicas=replicas, **outcome)

    for id, replicas in request["cases"]:
        tell("start", id=id, replicas=replicas, error_bytes=os.fstat(sys.stderr.fileno()).st_size)
        if implementation.isolate:
            apart(run, id, replicas)
        else:
            run(id, replicas)


if __name__ == "__main__":
    main()
