import json

import jax
import numpy as np
import pytest

import refdist as tf
from tests.refdist.ops.answers import FIXTURES, answers_of, expressions_of
from tests.refdist.ops.comparison import differences, evaluated, staged

TRIED = ["gamma", "poisson", "binomial"]  # which have tests of their own
ANSWERS = {one: answer for one, answer in answers_of("random_draws").items() if not any(name in one for name in TRIED)}
RECORDED = json.loads((FIXTURES / "function_draws.json").read_text())
WIDE = {one for one in ANSWERS if "tf.int64" in one or "2**40" in one or "create_rng_state" in one}  # JAX has no room
# In a function, what has no seed of its own gets one from its graph; and variables are made only once.
OWN_SEED = {one for one, answer in ANSWERS.items() if "stateless" in one or "seed=" in one or isinstance(answer, dict)}
OWN_SEED |= {"tf.random.split(t([1, 2]), 3)", "tf.random.fold_in(t([1, 2]), 5)"}


def test_the_answers_are_those_of_the_expressions():
    assert set(expressions_of("random_draws")) == set(answers_of("random_draws"))


def test_numbers_are_those_of_tensorflow(any_backend):
    narrow = any_backend.name == "jax"
    answers = {one: answer for one, answer in ANSWERS.items() if not (narrow and one in WIDE)}
    found = differences(answers, lambda expression: evaluated(expression, tf.constant), narrow)

    assert [] == list(filter(None, found))


def test_numbers_with_seeds_of_their_own_are_those_of_tensorflow_in_a_function_too():
    answers = {one: answer for one, answer in ANSWERS.items() if one in OWN_SEED and "[tf" not in one}

    with tf.using("simulator", gpus=1):
        assert [] == list(filter(None, differences(answers, staged, False)))


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_an_operation_with_a_seed_continues_where_it_has_ended_until_a_seed_is_set(any_backend, around):
    draw = around(lambda: tf.random.normal([2], seed=4))
    tf.random.set_seed(5)
    found = [np.asarray(draw()).tolist() for _ in range(2)]
    tf.random.set_seed(5)

    # What TensorFlow draws, eagerly and in a function.
    assert np.allclose([[-0.13512394, 0.57511264], [-0.7034366, 1.2803315]], found, atol=1e-6)
    assert found[0] == np.asarray(draw()).tolist()


def test_functions_act_as_programs_of_their_own_when_a_seed_is_set(any_backend):
    first, second = (tf.function(lambda: (tf.random.uniform([2]), tf.random.uniform([2]))) for _ in range(2))
    tf.random.set_seed(1234)
    texts = [[np.asarray(one).tobytes() for one in draw()] for draw in (first, first, second)]

    assert texts[0] == texts[2]
    assert 4 == len({*texts[0], *texts[1]})


def functions_that_draw(tf, strategy, chosen=slice(None)):
    """Functions, and what they draw in two runs after a seed; TensorFlow has run this too, on three CPUs (see RECORDED)."""
    draw = tf.random.uniform
    local = strategy.experimental_local_results
    inner = tf.function(lambda: draw([]))

    def replica():
        first = draw([])
        total = tf.distribute.get_replica_context().all_reduce("sum", first)
        return first, total, draw([])

    @tf.function
    def several():
        return draw([]), draw([], seed=3), draw([]), tf.random.normal([]), tf.random.shuffle(tf.range(5))

    @tf.function
    def nested():
        return inner(), draw([]), inner()

    @tf.function
    def replicas():
        parts = strategy.run(replica)
        return [one for part in parts for one in local(part)] + [draw([])]

    @tf.function
    def replicas_of_function():
        return [*local(strategy.run(inner)), draw([])]

    @tf.function
    def loop(n):
        total = 0.0
        for _ in tf.range(n):
            total = total * 10 + draw([])
        return [total]

    def found(function, *args):
        tf.random.set_seed(5)
        return [np.hstack([np.ravel(one) for one in function(*args)]).tolist() for _ in range(2)]

    calls = [(one,) for one in (replicas, nested, replicas_of_function, several)]
    # One turn, because in TensorFlow turns may draw before those that come first.
    calls += [(loop, tf.constant(1))]
    return [found(*call) for call in calls[chosen]]


@pytest.mark.parametrize(("backend", "chosen"), [("simulator", slice(None)), ("jax", slice(1))])
def test_a_function_draws_what_tensorflow_draws_after_a_seed(backend, chosen):
    with tf.using(backend, **({"cpus": 3} if backend == "jax" else {"gpus": 3})):
        strategy = tf.distribute.MirroredStrategy([f"{'CPU' if backend == 'jax' else 'GPU'}:{n}" for n in range(3)])
        seen = functions_that_draw(tf, strategy, chosen)

    for recorded, found in zip(RECORDED[chosen], seen, strict=True):
        assert np.allclose(recorded, found, rtol=1e-6, atol=1e-6), (recorded, found)


def test_what_datasets_call_draws_what_tensorflow_draws_after_a_seed():
    tf.random.set_seed(5)
    draw = tf.random.uniform
    data = tf.data.Dataset.range(2).map(lambda _: (draw([]), draw([]), draw([], seed=1))).repeat(2)
    kept = tf.data.Dataset.range(6).filter(lambda _: draw([]) < 0.5)
    found = [[np.hstack(one).tolist() for one in data.as_numpy_iterator()] for _ in range(2)]

    assert np.allclose(
        [
            [0.18286479, 0.3875184, 0.3875184],
            [0.6730766, 0.98592305, 0.98592305],
            [0.9363872, 0.9647, 0.9647],
            [0.3876406, 0.8333188, 0.8333188],
        ],
        found[0],
    )
    assert found[0] == found[1], "a new loop begins at the beginning"
    assert [0, 3, 4, 5] == list(kept.as_numpy_iterator())
    first = draw([])
    tf.random.set_seed(5)
    assert float(draw([])) == float(first), "what is drawn outside is not touched"


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_a_seed_of_its_own_draws_the_same_numbers_on_all_replicas(any_backend, names, around):
    strategy = tf.distribute.MirroredStrategy(names[:2])
    step = around(lambda: strategy.run(lambda: tf.random.uniform([2], seed=7)))
    one, other = [np.asarray(each).tolist() for each in strategy.experimental_local_results(step())]

    assert one == other


@pytest.mark.parametrize("around", [lambda step: step, tf.function], ids=["eager", "staged"])
def test_a_shuffle_keeps_rows_together(any_backend, around):
    found = np.asarray(around(tf.random.shuffle)(tf.constant([[1, 1], [2, 2], [3, 3]])))

    assert [[1, 1], [2, 2], [3, 3]] == sorted(found.tolist())


def test_the_frequencies_of_classes_are_their_probabilities():
    draw = tf.function(lambda: tf.random.categorical(tf.constant([[0.0, np.log(3.0)]]), 2000, dtype=tf.int32))

    assert 0.7 < np.asarray(draw()).mean() < 0.8


def test_what_is_refused_says_what_to_do():
    with pytest.raises(ValueError, match="expected 'philox'"):
        tf.random.stateless_uniform([1], [1, 2], alg="threefry")


@pytest.mark.parametrize(("dtype", "least", "most"), [("float32", -1, 1), ("int32", 3, 6)])
def test_numbers_lie_within_their_bounds(dtype, least, most):
    numbers = np.asarray(tf.random.uniform([200], least, most, getattr(tf, dtype)))

    assert np.dtype(dtype) == numbers.dtype
    assert least <= numbers.min() <= numbers.max() < most
    assert () == tf.random.uniform(()).shape


@pytest.fixture(params=["simulator", "jax"])
def strategy(request):
    kind, options = ("CPU", {"cpus": 3}) if request.param == "jax" else ("GPU", {"gpus": 3})
    with tf.using(request.param, **options):
        yield tf.distribute.MirroredStrategy([f"{kind}:{number}" for number in range(3)])


@pytest.mark.parametrize("once", [False, True])
def test_a_function_draws_new_numbers_in_each_run_and_on_each_replica(strategy, once):
    @tf.function(trace_once=once)
    def draw():
        each = strategy.run(lambda: (tf.random.uniform([4]), tf.random.uniform([4])))
        return each, tf.random.uniform([4])

    found = []
    for _ in range(2):
        each, outside = draw()
        found += [outside, *(value for one in each for value in one.values)]
    texts = {np.asarray(value).tobytes() for value in found}

    assert (14, 1) == (len(texts), draw.experimental_get_tracing_count())


def test_a_seed_makes_the_numbers_of_a_function_repeatable(strategy):
    draw = tf.function(lambda: tf.random.uniform([3], 2, 9, dtype=tf.int32))

    def twice():
        tf.random.set_seed(5)
        return [np.asarray(draw()).tolist() for _ in range(2)]

    first = twice()

    assert first == twice()
    assert all(2 <= number < 9 for one in first for number in one)


def test_numbers_drawn_inside_a_loop_of_jax_are_refused(strategy):
    loop = tf.function(lambda: jax.lax.scan(lambda c, _: (c + tf.random.uniform([]), None), 0.0, None, length=3)[0])
    gradient = tf.function(lambda x: jax.grad(lambda w: w * tf.random.uniform([]))(x))

    with pytest.raises(RuntimeError, match="jit, scan or cond"):
        loop()
    assert 0.0 <= float(gradient(tf.constant(1.0))) < 1.0
