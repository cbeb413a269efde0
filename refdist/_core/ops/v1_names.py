"""Names of `tf.compat.v1` that are names of v2: most of them the same, some of them old ones."""

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from refdist._core.ops.missing_names import lacking
from refdist._core.ops.operation_table import divide, floordiv
from refdist._core.ops.tensor_functions import cast, convert_to_tensor

_OLD = {
    "math": """
        accumulate_n angle betainc ceil conj cumprod digamma div_no_nan:divide_no_nan erf erfc expm1 floordiv floormod igamma
        igammac imag invert_permutation is_finite is_inf is_nan lbeta lgamma log log1p log_sigmoid logical_xor mod:floormod
        polygamma real reciprocal rint rsqrt segment_max
        segment_mean segment_min segment_prod segment_sum squared_difference unsorted_segment_max
        unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sum zeta count_nonzero bincount
        confusion_matrix
    """,
    "linalg": """
        cholesky cholesky_solve cross diag:tensor_diag diag_part:tensor_diag_part global_norm matrix_band_part:band_part
        matrix_determinant:det matrix_diag:diag matrix_diag_part:diag_part matrix_inverse:inv matrix_set_diag:set_diag
        matrix_solve:solve matrix_transpose matrix_triangular_solve:triangular_solve qr svd trace
    """,
    "io": """
        FixedLenFeature FixedLenSequenceFeature VarLenFeature decode_base64 encode_base64 matching_files parse_example
        parse_single_example parse_single_sequence_example parse_tensor read_file serialize_tensor write_file
    """,
    "random": """
        random_gamma:gamma random_normal:normal random_shuffle:shuffle random_uniform:uniform truncated_normal
    """,
    "image": "random_crop",
    "strings": "regex_replace string_join:join string_strip:strip string_to_hash_bucket_fast:to_hash_bucket_fast",
    "errors": "OpError",
    "debugging": "check_numerics assert_near assert_greater_equal assert_less_equal assert_positive assert_non_negative",
    "sparse": "sparse_reorder:reorder sparse_tensor_to_dense:to_dense sparse_tensor_dense_matmul:sparse_dense_matmul",
    "nn": "depth_to_space space_to_depth",
}
_OLD_FILES = {
    "Copy": "copy",
    "DeleteRecursively": "rmtree",
    "Exists": "exists",
    "FastGFile": "GFile",
    "GFile": "GFile",
    "Glob": "glob",
    "IsDirectory": "isdir",
    "ListDirectory": "listdir",
    "MakeDirs": "makedirs",
    "MkDir": "mkdir",
    "Open": "GFile",
    "Remove": "remove",
    "Rename": "rename",
    "Stat": "stat",
    "Walk": "walk",
}
_MODULES = """
    autograph bitwise config data debugging errors image initializers io keras linalg lookup math nest nn random saved_model sparse
    strings tpu
"""
_OTHERWISE = {  # what would silently compute something else, and what to use
    "where": "tf.where, which broadcasts",
    "nn.dropout": "tf.nn.dropout, whose rate is 1 - keep_prob",
    "nn.in_top_k": "tf.nn.in_top_k, which takes the targets first",
    "math.in_top_k": "tf.math.in_top_k, which takes the targets first",
    "random.poisson": "tf.random.poisson, which takes the shape first",
    "strings.split": "tf.strings.split, which returns a ragged tensor",
    "image.resize": "tf.image.resize, which has other corners",
    "saved_model.load": "tf.saved_model.load, without a session",
}
_PATHS = {
    name: f"{module}.{new or name}"
    for module, names in _OLD.items()
    for name, _, new in (entry.partition(":") for entry in names.split())
}


def _casting(dtype: str) -> Callable[..., Any]:
    return lambda x, name=None: cast(x, dtype)


def py_func(func: Any, inp: Sequence[Any], Tout: Any, stateful: bool = True, name: Any = None) -> Any:  # noqa: N803
    """Call a Python function with numpy arrays, and make a tensor of what it returns."""
    result = func(*[np.asarray(convert_to_tensor(value))[()] for value in inp])
    return cast(convert_to_tensor(result), Tout)


def div(x: Any, y: Any, name: Any = None) -> Any:
    """Divide as Python 2 did: integers become integers."""
    first = convert_to_tensor(x)
    return (floordiv if first.dtype.kind in "iu" else divide)(first, y)


_OWN: dict[str, Callable[..., Any]] = {
    "div": div,
    "to_bfloat16": _casting("bfloat16"),
    "to_complex64": _casting("complex64"),
    "to_complex128": _casting("complex128"),
    "to_double": _casting("float64"),
    "to_float": _casting("float32"),
    "to_int32": _casting("int32"),
    "to_int64": _casting("int64"),
    "assign": lambda ref, value, validate_shape=None, use_locking=None, name=None: ref.assign(value),
    "assign_add": lambda ref, value, use_locking=None, name=None: ref.assign_add(value),
    "assign_sub": lambda ref, value, use_locking=None, name=None: ref.assign_sub(value),
}


def v1_names(v2: ModuleType) -> Callable[[str], Any]:
    """Make what Python asks for names that `tf.compat.v1` does not have by itself.

    >>> import refdist as tf
    >>> print(tf.compat.v1.to_float(tf.compat.v1.div(7, 2)))
    tf.Tensor(3.0, shape=(), dtype=float32)
    """
    missing = lacking("compat.v1")

    def named(name: str) -> Any:
        if name in _OTHERWISE:
            raise _otherwise("compat.v1", name)
        if name.startswith("__"):
            return missing(name)
        if name in _OWN:
            return _OWN[name]
        if name == "gfile":
            return _Module("gfile", v2.io.gfile, _OLD_FILES)
        if name in _MODULES.split():
            return _Module(name, getattr(v2, name), {})
        found: Any = v2
        for part in _PATHS.get(name, name).split("."):
            found = found if found is None else _part(found, part)
        return missing(name) if found is None or isinstance(found, ModuleType) else found

    return named


def _part(whole: Any, name: str) -> Any:
    try:
        return getattr(whole, name)
    except AttributeError:
        return None


def _otherwise(module: str, name: str) -> AttributeError:
    word = _OTHERWISE[f"{module}.{name}".removeprefix("compat.v1.")]
    text = f"module 'refdist.{module}' has no attribute {name!r}: refdist has no tf.{module}.{name}; use {word}."
    return AttributeError(text, name=name)


class _Module:
    """A module of v1 that is one of v2, but for names that mean something else."""

    def __init__(self, name: str, module: Any, old: dict[str, str]) -> None:
        self.__name__, self._module, self._old = name, module, old

    def __getattr__(self, name: str) -> Any:
        if f"{self.__name__}.{name}" in _OTHERWISE:
            raise _otherwise(f"compat.v1.{self.__name__}", name)
        return getattr(self._module, self._old.get(name, name))

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._module), *self._old})
