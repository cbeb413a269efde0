"""Reductions judged against float64: what `numerics="check"` says, and about what it is silent."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.base.enums import ReduceOp
from refdist._core.strategies.numerics import judge

SITE = ()


def judged(rows: Any, op: ReduceOp = ReduceOp.SUM, dtype: Any = np.float32) -> None:
    judge(np.array(rows, dtype).reshape(len(rows), -1), op, None, SITE)


@given(
    rows=generators.lists(
        generators.lists(generators.floats(0.5, 2.0, width=32), min_size=3, max_size=3), min_size=2, max_size=16
    ),
    dtype=generators.sampled_from([np.float16, np.float32, np.float64, tf.bfloat16]),
    op=generators.sampled_from(ReduceOp),
)
def test_numbers_of_one_scale_and_sign_are_never_told(rows: list[list[float]], dtype: Any, op: ReduceOp) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judged(rows, op, dtype)


@given(value=generators.floats(1.0, 1e6, width=32))
def test_gradients_that_cancel_are_not_told_as_long_as_no_operand_is_lost(value: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        judged([value, -np.nextafter(np.float32(value), np.float32(0))])


def test_a_sum_that_stands_still_in_bfloat16_is_told_with_the_size_of_the_loss() -> None:
    with pytest.warns(tf.errors.NumericsWarning, match=r"loses 75\.0% .* is 256, and 1024 in float64"):
        judged(np.ones(1024), dtype=tf.bfloat16)


def test_small_operands_lost_between_large_ones_are_told_with_other_orders() -> None:
    with pytest.warns(tf.errors.NumericsWarning, match=r"depends on the order"):
        judged([1e8, 1.0, -1e8, 1.0])


def test_an_integer_sum_that_wraps_around_is_an_error() -> None:
    with pytest.raises(
        tf.errors.NumericsError, match=r"SUM of int32.*reaches 2147483648|2\.147484e\+09 with replica 1"
    ):
        judged([2**30] * 4, dtype=np.int32)


def test_the_mean_of_integers_is_not_an_overflow() -> None:
    judged([2**30] * 4, ReduceOp.MEAN, np.int32)


def test_infinities_are_allowed_in_a_block_and_not_after_it() -> None:
    with tf.testing.allow_nonfinite():
        judged([1.0, np.inf])
        judged([60000.0, 60000.0], dtype=np.float16)
    with pytest.raises(tf.errors.NumericsError, match="replica 1 brings inf"):
        judged([1.0, np.inf])


def test_a_block_inside_the_replicas_function_allows_infinities_too() -> None:
    def step() -> Any:
        with tf.testing.allow_nonfinite():
            return tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(np.inf))

    with tf.using("simulator", gpus=2, numerics="check"):
        strategy = tf.distribute.MirroredStrategy()

        assert np.isinf(strategy.experimental_local_results(strategy.run(step))[0])
        assert np.isinf(strategy.experimental_local_results(tf.function(lambda: strategy.run(step))())[0])


def test_every_tensor_of_a_nest_is_judged() -> None:
    def step(x: Any) -> Any:
        return tf.distribute.get_replica_context().all_reduce(
            "SUM", {"a": tf.constant(1.0), "b": x, "c": tf.constant(2.0)}
        )

    with tf.using("simulator", gpus=2, numerics="check"):
        strategy = tf.distribute.MirroredStrategy()
        x = strategy.experimental_distribute_values_from_function(
            lambda c: tf.constant([1.0, np.nan][c.replica_id_in_sync_group])
        )
        for run in (strategy.run, tf.function(strategy.run)):
            with pytest.raises(tf.errors.NumericsError, match="replica 1 brings nan"):
                run(step, (x,))


def test_nothing_is_judged_unless_asked_for() -> None:
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        result = strategy.run(lambda: tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(np.nan)))

        assert np.isnan(strategy.experimental_local_results(result)[0])


@pytest.mark.parametrize("option", ["numerics", "watch"])
def test_an_unknown_word_is_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} is 'yes'; expected 'off' or"), tf.using("host", **{option: "yes"}):
        pass


def test_judging_does_not_change_random_numbers() -> None:
    def drawn(**options: str) -> Any:
        with tf.using("simulator", gpus=2, **options):
            tf.random.set_seed(1)
            strategy = tf.distribute.MirroredStrategy()

            def step() -> Any:
                tf.distribute.get_replica_context().all_reduce("SUM", tf.constant(1.0))
                return tf.random.uniform(())

            return [float(x) for x in strategy.experimental_local_results(tf.function(lambda: strategy.run(step))())]

    assert drawn() == drawn(numerics="check")


def test_the_environment_can_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from refdist._core.backends import choosing

    assert choosing._from_text("simulator:gpus=4,numerics=check,watch=python") == (
        "simulator",
        {"gpus": 4, "numerics": "check", "watch": "python"},
    )
