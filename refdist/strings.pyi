from refdist._core.ops.byte_strings import to_hash_bucket_fast as to_hash_bucket_fast
from refdist._core.ops.string_functions import (
    as_string as as_string,
    join as join,
    length as length,
    lower as lower,
    reduce_join as reduce_join,
    regex_full_match as regex_full_match,
    regex_replace as regex_replace,
    split as split,
    strip as strip,
    substr as substr,
    to_number as to_number,
    upper as upper,
)

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
