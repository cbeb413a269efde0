"""Virtual devices in one process, with exact numerics: choose them with `refdist.use("simulator", gpus=8)`."""

from simulator.folding import fold

__all__ = ["fold"]
