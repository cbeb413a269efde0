"""The documented `tf.distribute.Strategy` API, made again small: `import refdist as tf`."""

from refdist import (
    cluster,
    compat,
    config,
    data,
    distribute,
    errors,
    io,
    nest,
    random,
    saved_model,
    testing,
    tpu,
    train,
)
from refdist._core.backends.choosing import use, using
from refdist._core.base.dtypes import (
    bfloat16,
    bool,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
)
from refdist._core.base.enums import VariableAggregation, VariableSynchronization
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.ops.tensor_functions import (
    add,
    cast,
    concat,
    constant,
    convert_to_tensor,
    device,
    device_name,
    identity,
    matmul,
    ones,
    range,
    reduce_mean,
    reduce_sum,
    shape,
    size,
    square,
    stack,
    zeros,
)
from refdist._core.replicas.context import variable_creator_scope
from refdist._core.replicas.graph import Graph
from refdist._core.replicas.specs import TensorSpec
from refdist._core.saving.module import Module
from refdist._core.seam.draft import executing_eagerly
from refdist._core.staging.function import function
from refdist._core.strategies.logical_devices import logical_pieces
from refdist._core.variables.variable import Variable
from refdist._core.wiring import install as _install
from refdist._core.wiring import loaded_when_asked_for as __getattr__  # noqa: F401, Python asks it for what is not here

_install()

__all__ = [
    "Graph",
    "IndexedSlices",
    "Module",
    "TensorSpec",
    "Variable",
    "VariableAggregation",
    "VariableSynchronization",
    "add",
    "bfloat16",
    "bool",
    "cast",
    "cluster",
    "compat",
    "concat",
    "config",
    "constant",
    "convert_to_tensor",
    "data",
    "device",
    "device_name",
    "distribute",
    "errors",
    "executing_eagerly",
    "float16",
    "float32",
    "float64",
    "function",
    "identity",
    "int8",
    "int16",
    "int32",
    "int64",
    "io",
    "logical_pieces",
    "matmul",
    "nest",
    "ones",
    "random",
    "range",
    "reduce_mean",
    "reduce_sum",
    "saved_model",
    "shape",
    "size",
    "square",
    "stack",
    "string",
    "testing",
    "tpu",
    "train",
    "uint8",
    "use",
    "using",
    "variable_creator_scope",
    "zeros",
]
