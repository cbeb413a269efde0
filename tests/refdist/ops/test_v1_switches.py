import pytest

import refdist as tf

v1 = tf.compat.v1


def test_what_holds_anyway_is_accepted():
    for name in dir(v1):
        if name.startswith("enable_") or name.endswith("_initializer"):
            assert getattr(v1, name)() is None
    assert v1.executing_eagerly_outside_functions()


@pytest.mark.parametrize(
    "call", [v1.disable_eager_execution, v1.disable_v2_behavior, lambda: v1.placeholder(tf.float32, [2])]
)
def test_graphs_of_v1_are_refused_with_a_word(call):
    with pytest.raises(RuntimeError, match=r"expected .*@tf.function"):
        call()
