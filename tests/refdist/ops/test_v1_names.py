import pytest

import refdist as tf

v1 = tf.compat.v1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (lambda: v1.log, lambda: tf.math.log),
        (lambda: v1.reduce_sum, lambda: tf.reduce_sum),
        (lambda: v1.matrix_band_part, lambda: tf.linalg.band_part),
        (lambda: v1.random_normal, lambda: tf.random.normal),
        (lambda: v1.Variable, lambda: tf.Variable),
        (lambda: v1.nn.relu, lambda: tf.nn.relu),
        (lambda: v1.gfile.Exists, lambda: tf.io.gfile.exists),
        (lambda: v1.data.Dataset, lambda: tf.data.Dataset),
    ],
)
def test_a_name_of_v1_that_means_what_v2_means_is_that_of_v2(old, new):
    assert old() is new()


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("where", "use tf.where, which broadcasts"),
        ("variable_scope", "use tf.name_scope"),
        ("trainable_variables", "use "),
        ("layers", "use tf.keras.layers"),
        ("no_such_name", "use what v2 has under such a name"),
    ],
)
def test_a_name_that_is_missing_or_means_something_else_says_what_to_use(name, word):
    with pytest.raises(AttributeError, match=f"no attribute '{name}': refdist has no tf.compat.v1.{name}; {word}"):
        getattr(v1, name)


def test_names_of_its_modules_that_take_other_arguments_say_what_to_use():
    with pytest.raises(
        AttributeError, match=r"tf\.compat\.v1\.nn\.dropout; use tf\.nn\.dropout, whose rate is 1 - keep_prob"
    ):
        v1.nn.dropout  # noqa: B018


def test_division_of_v1_is_that_of_python_2():
    assert int(v1.div(7, 2)) == 3
    assert float(v1.div(7.0, 2.0)) == 3.5
    assert v1.to_float(3).dtype == tf.float32
    assert float(v1.assign_add(tf.Variable(1.0), 2.0)) == 3.0
