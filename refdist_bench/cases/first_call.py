"""`python -m refdist_bench.cases.first_call staged 2` prints how many seconds the first call takes in a new process."""

import sys
import time


def main(way: str, replicas: int) -> None:
    """Make the step, and call it once."""
    import refdist as tf
    from refdist_bench.cases.by_hand import sharded_step
    from refdist_bench.cases.training_cases import trained_step
    from refdist_bench.devices_at_hand import ask_for_host_devices, jax_options

    ask_for_host_devices(replicas)
    tf.use("jax", **jax_options())  # as programs do; else a call outside of the strategy's scope opens the simulator
    step = trained_step("mlp", "jax", replicas, True) if way == "staged" else sharded_step("mlp", replicas)
    before = time.perf_counter()
    step()
    print(time.perf_counter() - before)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
