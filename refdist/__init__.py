"""The documented `tf.distribute.Strategy` API, made again small: `import refdist as tf`.

What it has is listed in `__init__.pyi`, for type checkers and for Python, and is loaded when it is asked for.
"""

from refdist._core.ops.late_names import late_names as _late_names
from refdist._core.wiring import install as _install

_install()

__getattr__, __dir__ = _late_names(__name__, __spec__)

__version__ = "0.2.0"
