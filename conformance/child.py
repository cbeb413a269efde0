"""The process in which an implementation runs, started by the supervisor.

Both sides speak in lines of JSON. The first line of its input says what to do. {"describe": NAME} imports an
implementation, and is answered by {"accepted": what is known of it}. {"implementation", "checks" (the place of the
function that returns them), "faults" (likewise, or null), "deep" (a seed or null)} opens one, and is answered by
{"accepted": true}. A failure to import or open is answered by {"refused": the reason, "usage": whether the
command line is wrong}. Each further line asks for one case, {"id", "replicas", "fault"}, and is answered by {"result"}.
At the end of its input it ends.
"""

import faulthandler
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from types import FunctionType
from typing import Any

from conformance.case import run_case, run_with_fault, short_traceback
from conformance.checks import Check
from conformance.deepening import deepened
from conformance.faults import Fault
from conformance.implementations import BrokenModule, Implementation, UsageError, find, locate
from conformance.isolation import apart
from conformance.printable import shortened
from conformance.supervisor import SHOW_PLACE


def main() -> None:
    """Describe or open the implementation, and run the cases that arrive, one after another."""
    # What checks and libraries print must not get between the lines of the protocol, nor may they read from it.
    requests = os.fdopen(os.dup(sys.stdin.fileno()), encoding="utf-8")
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    faulthandler.enable()
    # Prints where the process hangs; then the signal ends it, as it would by default.
    faulthandler.register(SHOW_PLACE, chain=True)

    def tell(message: Mapping[str, Any]) -> None:
        print(json.dumps(message), file=answers, flush=True)

    request = json.loads(requests.readline())
    try:
        if "describe" in request:
            tell({"accepted": find(request["describe"]).description.to_dict()})
            return
        implementation, checks, faults = _opened(request)
    except (UsageError, BrokenModule) as error:
        tell({"refused": shortened(str(error)), "usage": isinstance(error, UsageError)})
        return
    except (Exception, SystemExit) as error:
        tell({"refused": shortened(short_traceback(error)), "usage": False})
        return
    tell({"accepted": True})

    def run(case: Mapping[str, Any]) -> None:
        check, replicas = checks[case["id"]], case["replicas"]
        if case["fault"]:
            result = run_with_fault(implementation, check, replicas, faults[case["fault"]])
        else:
            result = run_case(implementation, check, replicas)
        # The implementation could change the clock of this process; the runner has its own.
        tell({"result": replace(result, seconds=0.0).to_dict()})

    for line in requests:
        if implementation.isolate:
            apart(run, json.loads(line))
        else:
            run(json.loads(line))


def _opened(request: Mapping[str, Any]) -> tuple[Implementation, Mapping[str, Check], Mapping[str, Fault]]:
    """Open the implementation; return it with the checks and the faults."""
    implementation = find(request["implementation"])
    faults = locate(request["faults"], FunctionType)() if request["faults"] else {}
    checks = deepened(locate(request["checks"], FunctionType)(), request["deep"])
    implementation.open()
    return implementation, checks, faults
