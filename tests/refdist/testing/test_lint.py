"""lint() is silent on correct programs, and changes nothing."""

import inspect
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.backends import choosing
from tests.refdist.testing.linted_programs import linted
from tests.test_programs import ANSWERS, LINTED, changed
from tests.thorough import examples


@pytest.mark.parametrize("name", LINTED)
def test_nothing_is_found_in_the_programs_of_tensorflow_nor_changed(name, tmp_path, monkeypatch):
    monkeypatch.setenv("REFDIST_BACKEND", "simulator")
    monkeypatch.setattr(choosing, "_used", False)
    monkeypatch.setattr(choosing, "_virtual_cpus", None)
    program = changed(name, tmp_path, monkeypatch)
    with linted(monkeypatch) as reports:
        losses = program.main()

    # These clip the gradients of each replica, as Keras does: what they compute does depend on how many there are.
    expected = {"bent-before-reduce"} if name in ("fine_tuning", "keras_fit") else set()

    assert reports
    assert expected == {finding.kind for report in reports for finding in report.findings}
    np.testing.assert_allclose(losses, ANSWERS[name], rtol=1e-5, atol=1e-6)


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=3):
        yield tf.distribute.MirroredStrategy()


def maker(strategy):
    """Make steps with one mistake, or none."""
    with strategy.scope():
        w = tf.Variable(tf.ones((5, 2)))

    def make(function, reduction, penalty, clipped, mistake):
        rows = 4

        def step(x):
            context = tf.distribute.get_replica_context()
            count = strategy.num_replicas_in_sync
            with tf.GradientTape() as tape:
                rows_of_it = function(x @ w)
                if mistake == "local-mean-summed" or reduction == "MEAN":
                    loss = tf.reduce_mean(rows_of_it)
                else:
                    loss = tf.reduce_sum(rows_of_it) / (rows * count)
                if penalty:
                    scale = 1 if reduction == "MEAN" or mistake == "equal-term-summed" else count
                    loss = loss + 0.01 * tf.reduce_sum(w**2) / scale
            gradient = tape.gradient(loss, w)
            if mistake == "bent-before-reduce":
                gradient = tf.clip_by_norm(gradient, 1.0)
            if mistake != "unreduced-state":
                gradient = context.all_reduce(reduction, gradient)
            if mistake == "reduced-twice":
                gradient = context.all_reduce("SUM", gradient)
            w.assign_sub(0.1 * (tf.clip_by_norm(gradient, 1.0) if clipped else gradient))
            return loss

        return step

    return make


MISTAKES = {
    "local-mean-summed": "context.all_reduce(reduction",
    "equal-term-summed": "tape.gradient(",
    "bent-before-reduce": "tf.clip_by_norm(gradient, 1.0)",
    "unreduced-state": "w.assign_sub",
    "reduced-twice": 'context.all_reduce("SUM", gradient)',
}
FUNCTIONS = generators.sampled_from([tf.square, tf.tanh, tf.nn.relu, tf.nn.softmax, tf.exp, tf.identity])


@given(
    function=FUNCTIONS,
    reduction=generators.sampled_from(["SUM", "MEAN"]),
    penalty=generators.booleans(),
    clipped=generators.booleans(),
    mistake=generators.sampled_from([None, *MISTAKES]),
)
@settings(max_examples=examples(10, 25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_planted_mistake_is_found_at_its_line_and_nothing_else(
    strategy, function, reduction, penalty, clipped, mistake
):
    if mistake in ("local-mean-summed", "equal-term-summed"):
        reduction, penalty = "SUM", mistake == "equal-term-summed"
    made = maker(strategy)(function, reduction, penalty, clipped, mistake)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = tf.testing.lint(made, tf.TensorSpec([4, 5], tf.float32), strategy=strategy)
    lines = inspect.getsource(
        inspect.getmodule(test_a_planted_mistake_is_found_at_its_line_and_nothing_else)
    ).splitlines()

    assert ([] if mistake is None else [mistake]) == [finding.kind for finding in report.findings]
    assert mistake is None or MISTAKES[mistake] in lines[report.findings[0].place.line - 1]


def test_nothing_changes_and_nothing_is_counted_as_a_trace(strategy):
    with strategy.scope():
        total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def main(x):
        strategy.run(lambda piece: total.assign_add(tf.reduce_sum(piece)), (x,))

    x = strategy.experimental_distribute_values_from_function(lambda _: tf.ones((2,)))
    report = tf.testing.lint(main, x)

    assert not report
    assert total.numpy() == 0.0
    assert main.experimental_get_tracing_count() == 0


def test_a_step_on_one_replica_says_that_nothing_differs():
    with tf.using("simulator", gpus=1):
        report = tf.testing.lint(tf.reduce_sum, tf.TensorSpec([2]), strategy=tf.distribute.MirroredStrategy())

    assert not report
    assert "two or more" in str(report)


def test_what_is_no_step_or_strategy_is_refused():
    with pytest.raises(TypeError, match=r"lint\(\) got None, a NoneType; expected a function"):
        tf.testing.lint(None)
    with pytest.raises(TypeError, match=r"lint\(\) got strategy='x'; expected a strategy, or None"):
        tf.testing.lint(lambda: 1.0, strategy="x")
