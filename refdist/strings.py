"""`tf.strings`: operations on byte strings."""

from refdist._core.ops.byte_strings import to_hash_bucket_fast
from refdist._core.ops.missing_names import lacking as _lacking
from refdist._core.ops.string_functions import (
    as_string,
    join,
    length,
    lower,
    reduce_join,
    regex_full_match,
    regex_replace,
    split,
    strip,
    substr,
    to_number,
    upper,
)

__getattr__ = _lacking("strings")

__all__ = [
    "as_string",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket_fast",
    "to_number",
    "upper",
]
