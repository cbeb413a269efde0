"""Make a record of a report: `python -m conformance.recorded REPORT.json >RECORD.json`."""

import pathlib
import sys

from conformance.recorded import compact
from conformance.report import Report

if __name__ == "__main__":
    print(compact(Report.from_json(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))), end="")
