from refdist._core.ops.operation_table import (
    bitwise_and as bitwise_and,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
)

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor"]
