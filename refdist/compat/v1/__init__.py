"""`tf.compat.v1`: what v1 programs need around a strategy."""

from refdist._core.base.entropy import set_seed as set_random_seed
from refdist._core.input.input_iterator import ConfigProto
from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.ops.program_scopes import name_scope
from refdist._core.ops.tensor_functions import py_func
from refdist._core.ops.v1_switches import (
    disable_eager_execution,
    disable_v2_behavior,
    enable_control_flow_v2,
    enable_resource_variables,
    enable_tensor_equality,
    enable_v2_behavior,
    enable_v2_tensorshape,
    executing_eagerly_outside_functions,
    global_variables_initializer,
    local_variables_initializer,
    placeholder,
    tables_initializer,
)
from refdist._core.replicas.graph import Graph, GraphDef, Session
from refdist._core.variables.v1_variables import enable_eager_execution, fixed_size_partitioner, get_variable
from refdist.compat.v1 import distribute, logging, train

__getattr__ = _lacking("compat.v1")

__all__ = [
    "ConfigProto",
    "Graph",
    "GraphDef",
    "Session",
    "disable_eager_execution",
    "disable_v2_behavior",
    "distribute",
    "enable_control_flow_v2",
    "enable_eager_execution",
    "enable_resource_variables",
    "enable_tensor_equality",
    "enable_v2_behavior",
    "enable_v2_tensorshape",
    "executing_eagerly_outside_functions",
    "fixed_size_partitioner",
    "get_variable",
    "global_variables_initializer",
    "local_variables_initializer",
    "logging",
    "name_scope",
    "placeholder",
    "py_func",
    "set_random_seed",
    "tables_initializer",
    "train",
]
