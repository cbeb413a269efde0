"""`tf.distribute`: strategies, and what programs use with them.

A strategy runs a function on several *replicas*, keeps the variables made in its scope, and combines what the
replicas compute. See `StrategyExtended` for the words per-replica, mirrored, replica context and cross-replica
context, and `Strategy.reduce` for reductions.
"""

from refdist._core.ops.late_names import late_names as _late_names

__getattr__, __dir__ = _late_names(__name__, __spec__)
