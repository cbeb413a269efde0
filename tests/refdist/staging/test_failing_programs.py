"""Programs that fail while they run, long after they were traced: nothing of them is written."""

import jax
import numpy as np
import pytest

import refdist as tf
from tests.refdist import staged_programs
from tests.refdist.staged_programs import ctx

names = staged_programs.names  # a fixture


@pytest.mark.parametrize("count", [1, 2])
def test_a_program_that_fails_while_it_runs_writes_nothing(names, count):
    strategy = tf.distribute.MirroredStrategy(names[:count])
    with strategy.scope():
        weight = tf.Variable(1.0)
    broken = []

    def measured(x):
        if broken:
            raise OSError("the sensor is gone")
        return np.asarray(x)

    def replica():
        seen = jax.pure_callback(measured, jax.ShapeDtypeStruct((), np.float32), weight.read_value())
        weight.assign_add(ctx().all_reduce("MEAN", seen))

    step = tf.function(lambda: strategy.run(replica))
    step()
    assert 2.0 == float(weight)

    broken.append(True)
    with pytest.raises(Exception, match="the sensor is gone"):
        step()
    assert 2.0 == float(weight)

    broken.clear()
    step()
    assert 4.0 == float(weight)
