"""Steps of a trainer on replicas: whose values are written, how they are combined, and what replicas without rows add."""

import numpy as np
import pytest

import refdist as tf
from refdist._core.keras.keras_steps import STEP, Step, Steps, summed, taking, write
from tests.refdist import staged_programs
from tests.refdist.keras.models import INPUTS, TARGETS, compiled, made

names = staged_programs.names  # fixture

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # of Keras itself


@pytest.fixture
def strategy():
    with tf.using("simulator", gpus=2):
        yield tf.distribute.MirroredStrategy()


def test_a_step_of_ones_own_runs_on_the_replicas(names):
    import jax

    class Own(tf.keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = tf.keras.layers.Dense(1, kernel_initializer="ones")
            self.mean = tf.keras.metrics.Mean(name="mean")

        def call(self, x):
            return self.dense(x)

        metrics = property(lambda self: [self.mean])

        def train_step(self, state, data):
            weights, others, slots, totals = state
            gradient = jax.value_and_grad(self.compute_loss_and_updates, has_aux=True)
            (_, (loss, *_)), gradients = gradient(
                weights, others, totals, *data, None, training=True, optimizer_variables=slots
            )
            weights, slots = self.optimizer.stateless_apply(slots, gradients, weights)
            totals = self.mean.stateless_update_state(totals, loss, sample_weight=len(data[0]))
            return {"own": loss}, (weights, others, slots, totals)

    def trained(count):
        model = made(tf.distribute.MirroredStrategy(names[:count]), Own)
        model.compile(optimizer="sgd", loss="mse")
        history = model.fit(INPUTS, TARGETS, batch_size=8, shuffle=False, verbose=0).history
        return [history["own"], model.mean.result(), *model.get_weights()]

    for one, two in zip(trained(1), trained(2), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-4)


@pytest.mark.parametrize("batch", [4, 5])
def test_an_error_in_a_step_changes_no_weight(strategy, batch):
    class Failing(tf.keras.layers.Layer):
        failing = False

        def call(self, x, training=False):
            if self.failing and training:
                raise ZeroDivisionError
            return x * 1.0

    with strategy.scope():
        layer = Failing()
        model = compiled(layer)
    before = model.get_weights()
    layer.failing = True
    with pytest.raises(ZeroDivisionError):
        model.fit(INPUTS, TARGETS, batch_size=batch, verbose=0)
    layer.failing = False

    for was, now in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(was, now)
    model.fit(INPUTS, TARGETS, batch_size=batch, verbose=0)


def test_replicas_that_do_not_sum_their_gradients_are_told_so(strategy):
    class Forgetful(tf.keras.Sequential):
        def train_step(self, state, data):
            weights = [weight + data[0].sum() for weight in state[0]]
            return {}, (weights, *state[1:])

    with strategy.scope():
        model = Forgetful([tf.keras.Input((3,)), tf.keras.layers.Dense(1)])
    model.compile(optimizer="sgd", loss="mse")

    for batch in (4, 5):
        with pytest.raises(ValueError, match="different values"):
            model.fit(INPUTS, TARGETS, batch_size=batch, verbose=0)


def variable(strategy, value, **options):
    """A variable of Keras in the scope of a strategy, and the variable that holds its value."""
    from refdist._core.keras.keras_variables import held

    with strategy.scope():
        made = tf.keras.Variable(np.asarray(value), **options)
    return made, held(made)


def after_a_step(strategy, name, start, change, shares=(0.75, 0.25), **options):
    """The copies of a variable after each replica has had another value for it, given its number."""
    keras, held = variable(strategy, start, **options)

    def replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        was = held.read_value().__array__()
        write({name: [keras]}, [[was]], [[change(was, number)]], shares[number])

    strategy.run(replica)
    return [np.asarray(copy).tolist() for copy in strategy.experimental_local_results(held)]


def test_what_layers_keep_track_of_is_averaged_by_the_rows_that_replicas_have(strategy):
    values = after_a_step(strategy, "non_trainable", 8.0, lambda was, number: np.float32([4, 12][number]))

    assert [0.75 * 4 + 0.25 * 12] * 2 == values


def test_a_replica_without_rows_changes_nothing_whatever_it_has_computed(strategy):
    values = after_a_step(
        strategy, "non_trainable", 8.0, lambda was, number: np.float32([4, np.nan][number]), shares=(1.0, 0.0)
    )

    assert [4.0] * 2 == values


def test_sums_add_what_each_replica_has_added(strategy):
    values = after_a_step(
        strategy, "metrics", 10.0, lambda was, number: was + np.float32(number + 1), aggregation="sum"
    )

    assert [13.0] * 2 == values


def test_weights_have_to_be_equal_on_all_replicas(strategy):
    assert [5.0] * 2 == after_a_step(strategy, "trainable", 1.0, lambda was, number: np.float32(5))
    with pytest.raises(ValueError, match="different values"):
        after_a_step(strategy, "trainable", 1.0, lambda was, number: np.float32(number))


def test_a_value_that_a_step_has_left_alone_is_not_written(strategy):
    def unchanged(was, number):
        return was

    assert [3.0] * 2 == after_a_step(strategy, "trainable", 3.0, unchanged)


def test_sums_over_replicas_leave_out_those_without_a_share(strategy):
    def replica():
        number = tf.distribute.get_replica_context().replica_id_in_sync_group
        return summed([np.float32([1, 2]) if number == 0 else np.float32([np.nan, 7])], [1.0, 0.0][number])[0]

    totals = strategy.experimental_local_results(strategy.run(replica))

    assert [[1.0, 2.0]] * 2 == [np.asarray(total).tolist() for total in totals]
    assert None is strategy.run(lambda: None if summed([], 1.0) == [] else 1), "nothing is no meeting"


def test_a_step_is_current_inside_of_its_block_only():
    outer, inner = Step(0.5), Step(0.25)
    seen = []
    with taking(outer):
        with pytest.raises(KeyError), taking(inner):
            seen.append(STEP.get())
            raise KeyError
        with taking(None):
            seen.append(STEP.get())
        seen.append(STEP.get())

    assert [inner, None, outer] == seen
    assert STEP.get() is None


def test_one_execution_takes_as_many_steps_as_the_model_says_and_ends_with_the_data(strategy):
    model = made(strategy, lambda: compiled(steps_per_execution=2))
    steps = Steps(model, "predict", custom=False)
    batches = iter([(INPUTS[:4],), (INPUTS[4:7],), (INPUTS[7:],)])
    rows = [len(steps("state", batches)[0]) for _ in range(2)]

    assert [7, 3] == rows
    with pytest.raises(StopIteration):
        steps("state", batches)


def test_the_state_that_keras_hands_round_is_not_touched(strategy):
    state = object()

    assert state is Steps(made(strategy), "predict", custom=False)(state, iter([(INPUTS,)]))[1]
