"""Real bugs around programs and checkpoints: a Python value that is frozen, names that nobody saved, counters that shrink."""

import warnings

import pytest

import refdist as tf
from tests.lines import line_of
from tests.zoo.ways import both_ways, mirrored, number, replica, runner


def at(comment):
    return rf"test_programs_and_files\.py:{line_of(__file__, comment)}"


@both_ways
def test_buffer_reassigned_not_updated(way):
    strategy = mirrored(2)

    class Model:
        def step(self):
            self.count = self.count + number()  # binds a tensor
            return self.count

    model = Model()
    with strategy.scope():
        model.count = kept = tf.Variable(0.0)

    with pytest.raises(
        RuntimeError, match=r"'self.count', the variable .* was replaced by a tensor in replica 0"
    ) as raised:
        runner(strategy, way)(model.step)

    raised.match(at("# binds a tensor"))
    assert model.count is kept


def test_retrace_on_every_new_length():
    double = tf.function(lambda x: x * 2)

    for length in range(1, 5):
        double(tf.zeros([length]))
    with pytest.warns(RuntimeWarning, match=r"traced 5 times.*: x was float32\[1\], float32\[2\].*float32\[5\]"):
        double(tf.zeros([5]))


def test_a_python_number_that_changes_in_every_step():
    scale = tf.function(lambda x, step: x * step)

    for step in range(4):
        scale(tf.zeros([2]), step)
    with pytest.warns(RuntimeWarning, match="step was 0, 1, 2, 3, 4"):
        scale(tf.zeros([2]), 4)


@pytest.mark.parametrize(
    "options", [{"input_signature": [tf.TensorSpec([None], tf.float32)]}, {"reduce_retracing": True}]
)
def test_lengths_that_were_declared_as_open_are_not_told(options):
    double = tf.function(lambda x: x * 2, **options)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for length in range(1, 8):
            double(tf.zeros([length]))
    assert double.experimental_get_tracing_count() <= 2


def test_lengths_that_come_back_are_not_told():
    double = tf.function(lambda x: x * 2)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for length in [1, 2, 1, 2, 3, 1, 4, 5, 6, 1]:
            double(tf.zeros([length]))


def _seen():
    on_read, total = tf.VariableSynchronization.ON_READ, tf.VariableAggregation.SUM
    return tf.Variable(0, dtype=tf.int64, synchronization=on_read, aggregation=total)


@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("value", [7, -7, 0])
def test_integer_counter_changes_on_restore(tmp_path, replicas, value):
    strategy = mirrored(2)
    with strategy.scope():
        seen = _seen()
    seen.assign(value)
    assert value == int(seen)
    path = tf.train.Checkpoint(seen=seen).save(str(tmp_path / "check"))

    strategy = mirrored(replicas)
    with strategy.scope():
        restored = _seen()
    tf.train.Checkpoint(seen=restored).restore(path).assert_consumed()

    assert value == int(restored)
    restored_in_function = tf.function(lambda: restored.assign(value))
    restored_in_function()
    assert value == int(restored)


def test_optimizer_slots_not_restored(tmp_path):
    path = tf.train.Checkpoint(model=tf.Variable(1.0)).save(str(tmp_path / "check"))

    with pytest.warns(UserWarning, match=r"found no value for net, .* which has model") as warned:
        tf.train.Checkpoint(net=tf.Variable(5.0)).restore(path)  # another name

    assert str(line_of(__file__, "# another name")) in str(warned[0].message)


@pytest.mark.parametrize("ask", ["expect_partial", "none_missing"])
def test_a_status_that_is_asked_is_silent(tmp_path, ask):
    path = tf.train.Checkpoint(model=tf.Variable(1.0)).save(str(tmp_path / "check"))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if ask == "expect_partial":
            tf.train.Checkpoint(net=tf.Variable(5.0)).restore(path).expect_partial()
        else:
            tf.train.Checkpoint(model=tf.Variable(5.0)).restore(path)


@both_ways
def test_gather_and_reduce_in_a_replica(way):
    strategy = mirrored(2)

    for call in (
        lambda: strategy.reduce("SUM", number(), axis=None),
        lambda: strategy.gather(tf.constant([1.0]), axis=0),
    ):
        with pytest.raises(RuntimeError, match="was called in replica 0; expected cross-replica context"):
            runner(strategy, way)(call)
    assert replica() is not None


def test_the_warning_of_retracing_is_at_the_line_of_the_call():
    double = tf.function(lambda x: x * 2)

    for length in range(1, 5):
        double(tf.zeros([length]))
    with pytest.warns(RuntimeWarning, match="traced 5 times") as warned:
        double(tf.zeros([5]))  # another length

    assert (__file__, line_of(__file__, "# another length")) == (warned[0].filename, warned[0].lineno)


@both_ways
def test_an_optimizer_made_in_each_step_is_told_with_the_line_of_the_program(way):
    strategy = mirrored(2)
    with strategy.scope():
        v = tf.Variable(1.0)

    def step():
        optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)  # its own
        optimizer.apply_gradients([(tf.constant(1.0), v)])

    with pytest.raises(ValueError, match=rf"Variable\(\) .*{at('# its own')}.*with strategy\.scope\(\)"):
        for _ in range(2):
            runner(strategy, way)(step)


def test_a_variable_made_by_each_trace_is_told_with_its_line():
    @tf.function
    def step(x):
        return tf.Variable(0.0) + x  # a new one

    with pytest.raises(ValueError, match=rf"made the variable 'Variable:0' at .*{at('# a new one')}"):
        step(tf.constant(1.0))
