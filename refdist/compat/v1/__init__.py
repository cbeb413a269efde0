"""`tf.compat.v1`: what v1 programs need around a strategy."""

from refdist.compat.v1 import distribute
from refdist.compat.v1.variables import enable_eager_execution, fixed_size_partitioner, get_variable
from refdist.graph import Graph, GraphDef, Session
from refdist.input_iterator import ConfigProto
from refdist.ops import py_func

__all__ = [
    "ConfigProto",
    "Graph",
    "GraphDef",
    "Session",
    "distribute",
    "enable_eager_execution",
    "fixed_size_partitioner",
    "get_variable",
    "py_func",
]
