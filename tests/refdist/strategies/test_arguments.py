"""What is given to `run` and the like is checked before anything happens."""

import functools

import pytest

import refdist as tf


def generator(x=1):
    yield x


async def coroutine(x=1):
    return x


class Callable:
    def __call__(self, x=1):
        yield x


NEVER_RUN = [
    generator,
    coroutine,
    functools.partial(generator, x=2),
    functools.partial(functools.partial(coroutine), x=2),
    Callable(),
    Callable().__call__,
    functools.partial(Callable(), x=2),
]
USES = [
    lambda strategy, fn: strategy.run(fn),
    lambda strategy, fn: tf.function(fn),
    lambda strategy, fn: strategy.distribute_datasets_from_function(fn),
    lambda strategy, fn: strategy.experimental_distribute_values_from_function(fn),
    lambda strategy, fn: tf.data.Dataset.range(2).map(fn),
    lambda strategy, fn: tf.data.Dataset.range(2).filter(fn),
    lambda strategy, fn: tf.data.Dataset.range(2).flat_map(fn),
]


@pytest.mark.parametrize("fn", NEVER_RUN)
@pytest.mark.parametrize("use", USES)
def test_a_function_whose_body_would_never_run_is_refused(fn, use):
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
    with pytest.raises(TypeError, match="its body would never run"):
        use(strategy, fn)


def test_a_partial_of_an_ordinary_function_runs():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()

    assert 3 == strategy.run(functools.partial(lambda x: x + 1, 2))
