"""Compiling in less time, for tests."""

import importlib.metadata
import os

# Tests compile thousands of programs and run each of them once or twice, so that code which is written quickly is better than
# quick code. XLA needs 14 ms instead of 53 for a small program on one device, and 23 instead of 40 for one over a mesh.
_QUICK = (
    "--xla_backend_optimization_level=0",
    "--xla_cpu_parallel_codegen_split_count=1",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_llvm_disable_expensive_passes=true",
)


def quick_flags() -> str:
    """The XLA_FLAGS of a process that compiles more than it computes."""
    if not importlib.metadata.version("jaxlib").startswith("0.10."):
        return ordinary_flags()  # an unknown flag aborts the process, and other versions may not know these
    return " ".join((ordinary_flags(), *_QUICK)).strip()


def ordinary_flags() -> str:
    """The XLA_FLAGS that this process was started with; a process that runs tests may have inherited the quick ones."""
    return " ".join(flag for flag in os.environ.get("XLA_FLAGS", "").split() if flag not in _QUICK)
