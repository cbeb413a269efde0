import pytest

import refdist as tf

Dataset = tf.data.Dataset


def test_options_about_speed_are_kept():
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.threading.private_threadpool_size = 4
    options.experimental_threading.max_intra_op_parallelism = 1
    options.experimental_deterministic = False
    options.experimental_slack = True

    assert (False, 4, 1) == (
        options.deterministic,
        options.threading.private_threadpool_size,
        options.threading.max_intra_op_parallelism,
    )
    assert Dataset.range(2).with_options(options).with_options(tf.data.Options()).options().experimental_slack
    assert options.dataset_name is None
    assert not tf.data.Options().merge(options).deterministic


def test_other_options_are_told():
    options = tf.data.Options()
    for wrong in (lambda: setattr(options, "xyz", 1), lambda: options.xyz, lambda: setattr(options.autotune, "xyz", 1)):
        with pytest.raises(AttributeError, match=r"xyz.*expected one of"):
            wrong()
