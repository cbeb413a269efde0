import pytest

import refdist as tf

threading = tf.config.threading


@pytest.mark.parametrize("kind", ["inter", "intra"])
def test_a_number_of_threads_is_accepted_and_told_again(kind):
    get = getattr(threading, f"get_{kind}_op_parallelism_threads")
    put = getattr(threading, f"set_{kind}_op_parallelism_threads")
    assert 0 == get()
    put(2)
    try:
        assert 2 == get()
    finally:
        put(0)
    for wrong in (-1, "2", True):
        with pytest.raises(ValueError, match="expected an int"):
            put(wrong)
