"""`tf.compat.v1`: what v1 programs need around a strategy; most of its names are those of v2, and are not listed."""

import sys as _sys

from refdist._core.ops.late_names import late_names as _late_names
from refdist._core.ops.v1_names import v1_names as _v1_names

__getattr__, __dir__ = _late_names(__name__, __spec__, _v1_names(_sys.modules["refdist"]))
