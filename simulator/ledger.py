"""Who got which sample: what a program asks, on the simulator as on every other backend."""

from refdist._core.input.ledger_findings import Delivery, Finding
from refdist._core.input.sample_ledger import Ledger, LedgerError, ledger

__all__ = ["Delivery", "Finding", "Ledger", "LedgerError", "ledger"]
