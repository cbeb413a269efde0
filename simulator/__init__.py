"""Virtual devices in one process, with exact numerics: choose them with `refdist.use("simulator", gpus=8)`."""

from simulator.backend import ledger
from simulator.folding import fold
from simulator.ledger import Delivery, Ledger

__all__ = ["Delivery", "Ledger", "fold", "ledger"]
