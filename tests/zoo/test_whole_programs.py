"""Whole programs, written for TensorFlow, compute the same on one replica and on two, or are told rightly that they do not."""

import pathlib
import re
import types

import pytest

from refdist.testing import ReplicasDiffer, assert_same_on
from tests.thorough import examples

PROGRAMS = pathlib.Path(__file__).parents[1] / "programs"


def whole(name):
    """A program as a function of the strategy that it makes."""
    text = (PROGRAMS / f"{name}.py").read_text().replace("import tensorflow as tf\n", "import refdist as tf\n")
    text = re.sub(r"^    cpu = .*\n    tf\.config\.set_logical.*\n", "\n\n", text, flags=re.M)
    text, count = re.subn(r"tf\.distribute\.MirroredStrategy\(.*\)$", "GIVEN", text, flags=re.M)
    assert count == 1

    def program(strategy):
        module = types.ModuleType(f"program_{name}")
        module.__dict__["GIVEN"] = strategy
        exec(compile(text, str(PROGRAMS / f"{name}.py"), "exec"), module.__dict__)
        return module.__dict__["main"]()

    return program


@pytest.mark.parametrize("name", ["sparse_embeddings", "variables_loop", "custom_training"][: examples(0, 3)])
def test_a_correct_program_is_told_nothing(name):
    assert_same_on(whole(name), replicas=(1, 2))


def test_a_sum_of_norms_of_local_gradients_is_told():
    with pytest.raises(ReplicasDiffer) as caught:
        assert_same_on(whole("contrastive"), replicas=(1, 2))

    assert caught.value.what == "reduce(SUM)"
    assert "not linear" in caught.value.meaning
    assert {one.what for one in caught.value.others} == {f"the returned value[{place}]" for place in (2, 5, 8, 11)}
    assert_same_on(whole("contrastive"), replicas=(1, 2), except_for=("2", "5", "8", "11"))
