"""What tests of a program may ask beyond the documentation: ours, not documented."""

from refdist._core.input.distributed_dataset import stages_of

__all__ = ["stages_of"]
