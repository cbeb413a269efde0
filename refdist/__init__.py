"""The documented `tf.distribute.Strategy` API, made again small: `import refdist as tf`."""

from refdist import (
    cluster,
    compat,
    config,
    data,
    distribute,
    errors,
    io,
    math,
    nest,
    nn,
    random,
    saved_model,
    testing,
    tpu,
    train,
    version,
)
from refdist._core.backends.choosing import use, using
from refdist._core.base.api_version import newaxis
from refdist._core.base.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool,
    complex64,
    complex128,
    double,
    float16,
    float32,
    float64,
    half,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)
from refdist._core.base.enums import VariableAggregation, VariableSynchronization
from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.base.tensor_shape import TensorShape
from refdist._core.ops.late_names import late_names as _late_names
from refdist._core.ops.neural_functions import (
    reduce_logsumexp,
)
from refdist._core.ops.operation_table import (
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    divide,
    equal,
    exp,
    floor,
    greater,
    greater_equal,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    pow,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_min,
    reduce_prod,
    round,
    sigmoid,
    sign,
    sin,
    sinh,
    sqrt,
    subtract,
    tan,
    tanh,
    truncatediv,
    truncatemod,
)
from refdist._core.ops.program_scopes import (
    control_dependencies,
    get_current_name_scope,
    group,
    init_scope,
    name_scope,
    no_op,
    print,
    timestamp,
)
from refdist._core.ops.shape_functions import (
    add_n,
    argmax,
    argmin,
    clip_by_value,
    expand_dims,
    eye,
    fill,
    gather,
    linspace,
    one_hot,
    ones_like,
    pad,
    rank,
    reshape,
    split,
    squeeze,
    tile,
    transpose,
    unstack,
    where,
    zeros_like,
)
from refdist._core.ops.tensor_functions import (
    Tensor,
    add,
    cast,
    concat,
    constant,
    convert_to_tensor,
    device,
    device_name,
    identity,
    is_tensor,
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
from refdist._core.tape.custom_gradient import custom_gradient, recompute_grad, stop_gradient
from refdist._core.tape.gradient_tape import GradientTape, UnconnectedGradients
from refdist._core.tape.graph_gradients import gradients, hessians
from refdist._core.variables.variable import Variable
from refdist._core.wiring import install as _install
from refdist._core.wiring import loaded_when_asked_for as _loaded_when_asked_for

_install()

# What takes time to load, and not every program needs, by where it is.
_LATE = {
    "refdist._core.ops.operation_table": "complex realdiv:divide truediv:divide",
    "refdist._core.ops.string_functions": "as_string",
    "refdist._core.ops.assertions": """
        Assert assert_equal assert_greater assert_less assert_rank ensure_shape
    """,
    "refdist._core.ops.flow_functions": """
        case cond foldl foldr map_fn scan switch_case vectorized_map while_loop
    """,
    "refdist._core.ops.index_functions": """
        argsort boolean_mask broadcast_to cumsum gather_nd histogram_fixed_width meshgrid repeat reverse
        roll scatter_nd searchsorted sequence_mask slice:slice_ sort strided_slice tensor_scatter_nd_add
        tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update unique
    """,
    "refdist._core.ops.linear_algebra": """
        clip_by_global_norm clip_by_norm einsum norm tensordot
    """,
    "refdist._core.ops.logger": """
        get_logger
    """,
    "refdist._core.ops.initializers": """
        constant_initializer ones_initializer random_normal_initializer random_uniform_initializer zeros_initializer
    """,
    "refdist._core.ops.python_functions": "numpy_function py_function",
    "refdist._core.input.ragged_rows": "RaggedTensorSpec",
    "refdist._core.input.sparse_rows": "SparseTensorSpec",
    "refdist._core.ops.ragged_tensor": """
        RaggedTensor
    """,
    "refdist._core.ops.sparse_tensor": """
        SparseTensor
    """,
    "refdist._core.ops.rearranging": """
        broadcast_dynamic_shape broadcast_static_shape dynamic_partition dynamic_stitch get_static_value
        histogram_fixed_width_bins identity_n reverse_sequence saturate_cast scalar_mul unique_with_counts unravel_index
    """,
    "refdist._core.ops.tensor_array": """
        TensorArray
    """,
    "refdist._core.saving.variable_tree": """
        VariableTree
    """,
}
_MODULES = (
    "autograph bitwise debugging dtypes image launch linalg lookup profiler ragged signal sparse strings summary test"
)
__getattr__, __dir__ = _late_names("", globals(), _LATE, _MODULES, _loaded_when_asked_for)

__version__ = "0.1.0"

# fmt: off
__all__ = [
    "DType", "GradientTape", "Graph", "IndexedSlices", "Module", "Tensor", "TensorShape", "TensorSpec",
    "UnconnectedGradients", "Variable", "VariableAggregation", "VariableSynchronization", "abs", "acos", "acosh",
    "add", "add_n", "argmax", "argmin", "as_dtype", "asin", "asinh", "atan", "atan2", "atanh", "bfloat16", "bool",
    "cast", "clip_by_value", "cluster", "compat", "complex64", "complex128", "concat", "config", "constant",
    "control_dependencies", "convert_to_tensor", "cos", "cosh", "custom_gradient", "data", "device", "device_name",
    "distribute", "divide", "double", "equal", "errors", "executing_eagerly", "exp", "expand_dims", "eye", "fill",
    "float16", "float32", "float64", "floor", "function", "gather", "get_current_name_scope", "gradients",
    "greater", "greater_equal", "group", "half", "hessians", "identity", "init_scope", "int8", "int16", "int32", "int64", "io",
    "is_tensor", "less", "less_equal", "linspace", "logical_and", "logical_not", "logical_or", "logical_pieces",
    "math", "matmul", "maximum", "minimum", "multiply", "name_scope", "negative", "nest", "newaxis", "nn", "no_op",
    "not_equal", "one_hot", "ones", "ones_like", "pad", "pow", "print", "random", "range", "rank", "recompute_grad",
    "reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod",
    "reduce_sum", "reshape", "round", "saved_model", "shape", "sigmoid", "sign", "sin", "sinh", "size", "split",
    "sqrt", "square", "squeeze", "stack", "stop_gradient", "string", "subtract", "tan", "tanh", "testing", "tile",
    "timestamp", "tpu", "train", "transpose", "truncatediv", "truncatemod", "uint8", "uint16", "uint32", "uint64",
    "unstack", "use", "using", "variable_creator_scope", "version", "where", "zeros", "zeros_like",
]
# fmt: on
