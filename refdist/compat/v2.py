"""`tf.compat.v2`, which is `tf` itself, for programs that write `import refdist.compat.v2 as tf`."""

import sys as _sys

_sys.modules[__name__] = _sys.modules["refdist"]
