"""The training steps that are compared: ours is the program that people write by hand, so that only calls of it can differ."""

import re

import jax
import pytest

import refdist as tf
from refdist_bench.cases.by_hand import sharded_program, single_program
from refdist_bench.cases.training_cases import written_step
from refdist_bench.devices_at_hand import strategy_on

if len(jax.local_devices()) < 2:
    pytest.skip("needs two devices", allow_module_level=True)


def instructions(text):
    """The instructions of a compiled program, with numbers for names, and without where they come from."""
    kept = [line for line in text.splitlines() if re.match(r"\s|%|ENTRY|}", line)]
    plain = re.sub(r" (metadata|sharding|frontend_attributes)=\{.*|^ENTRY.*", "", "\n".join(kept), flags=re.MULTILINE)
    names = {}
    return re.sub(r"%[\w.\-]+", lambda name: names.setdefault(name[0], f"%{len(names)}"), plain.replace(",\n", "\n"))


@pytest.mark.parametrize("count", [1, 2])
def test_a_staged_step_becomes_the_program_that_is_written_by_hand(count):
    step, _, x, y = written_step("mlp", strategy_on("jax", count))
    ours = tf.function(step).experimental_get_compiler_ir(x, y)("optimized_hlo")
    program, *given = (single_program if count == 1 else sharded_program)("mlp", count)
    by_hand = program.lower(*given).compile().as_text()

    assert instructions(by_hand) == instructions(ours)
    assert (count > 1) == instructions(ours).count("all-reduce(")
    assert 100 < len(instructions(ours).splitlines())
