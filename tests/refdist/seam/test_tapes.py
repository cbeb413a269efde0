"""Functions reach tapes through what is installed here."""

import pytest

import refdist as tf
from refdist._core.base.where import HERE
from refdist._core.seam.tapes import NeedsBodyTape, body_tape


def test_the_tape_of_a_body_records_what_is_computed_in_it():
    x = tf.constant(3.0)
    with body_tape([x]) as tape:
        assert HERE.get().tapes.tapes == (tape,)
        y = x * x

    assert 6.0 == float(tape.gradient(y, x))


def test_the_tape_of_a_part_tells_that_of_the_body_nothing():
    x = tf.constant(3.0)
    tape = body_tape([x])
    with tape:
        y = x * x
    inner = tape.inner()
    with inner:
        z = y * x

    assert 27.0 == float(inner.gradient(z, x))
    assert tape.gradient(z, x) is None


def test_the_end_of_a_draft_says_which_tensors_are_sources():
    with pytest.raises(NeedsBodyTape) as ended:
        raise NeedsBodyTape(["x"])

    assert ("x",) == ended.value.sources
