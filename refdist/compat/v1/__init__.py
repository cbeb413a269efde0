"""`tf.compat.v1`: what v1 programs need around a strategy."""

from refdist._core.input.input_iterator import ConfigProto
from refdist._core.ops.tensor_functions import py_func
from refdist._core.replicas.graph import Graph, GraphDef, Session
from refdist._core.variables.v1_variables import enable_eager_execution, fixed_size_partitioner, get_variable
from refdist.compat.v1 import distribute

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
