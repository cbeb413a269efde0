from typing import Any

from refdist._core.base.entropy import set_seed as set_random_seed
from refdist._core.input.input_iterator import ConfigProto as ConfigProto
from refdist._core.ops.program_scopes import name_scope as name_scope
from refdist._core.ops.v1_names import py_func as py_func
from refdist._core.ops.v1_switches import (
    disable_eager_execution as disable_eager_execution,
    disable_v2_behavior as disable_v2_behavior,
    enable_control_flow_v2 as enable_control_flow_v2,
    enable_resource_variables as enable_resource_variables,
    enable_tensor_equality as enable_tensor_equality,
    enable_v2_behavior as enable_v2_behavior,
    enable_v2_tensorshape as enable_v2_tensorshape,
    executing_eagerly_outside_functions as executing_eagerly_outside_functions,
    global_variables_initializer as global_variables_initializer,
    local_variables_initializer as local_variables_initializer,
    placeholder as placeholder,
    tables_initializer as tables_initializer,
)
from refdist._core.replicas.graph import Graph as Graph, GraphDef as GraphDef, Session as Session
from refdist._core.variables.v1_variables import (
    enable_eager_execution as enable_eager_execution,
    fixed_size_partitioner as fixed_size_partitioner,
    get_variable as get_variable,
)
from refdist.compat.v1 import distribute as distribute, logging as logging, train as train

# Most names of v1 are those of v2, and some are old ones: see v1_names.py.
def __getattr__(name: str) -> Any: ...  # pyright: ignore[reportIncompleteStub]

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
