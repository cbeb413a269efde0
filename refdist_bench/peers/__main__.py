"""Run steps of TensorFlow as another process asks for them: a line of JSON in, a line of JSON out.

`{"make": {"step": "train", ...}}` makes a step, calls it, and answers with the seconds and the result; `{"calls": 5}` calls it so
often and answers with the seconds; `{"versions": true}` answers what is measured. Only one step exists at a time.
"""

import json
import os
import sys
import time
from typing import Any


def _answers() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed here is no answer
    from tensorflow_steps import STEPS, tf  # pyright: ignore[reportMissingImports]

    step: Any = None
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            if "versions" in asked:
                answer: dict[str, Any] = {"tensorflow": tf.__version__, "python": sys.version.split()[0]}
            elif "make" in asked:
                step = None
                wanted = dict(asked["make"])
                step = STEPS[wanted.pop("step")](**wanted)
                before = time.perf_counter()
                value = step()
                answer = {"seconds": time.perf_counter() - before, "value": value if isinstance(value, float) else None}
            else:
                before = time.perf_counter()
                for _ in range(asked["calls"]):
                    step()
                answer = {"seconds": time.perf_counter() - before}
        except Exception as error:  # the other process says what went wrong, beside the case
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    _answers()
