"""The lines of the table: what every operation made from it does alike, and the laws between them."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.base.errors import DtypeError
from refdist._core.ops import operation_table
from refdist._core.ops.operation_table import beside, pair, require
from tests.generators import values
from tests.refdist.ops.answers import answers_of, expressions_of
from tests.refdist.ops.comparison import differences, evaluated, staged_together

MODES = pytest.mark.parametrize("mode", [lambda step: step, tf.function], ids=["eager", "staged"])
UNARY = [
    "abs",
    "ceil",
    "cos",
    "exp",
    "floor",
    "is_finite",
    "is_inf",
    "is_nan",
    "log",
    "log1p",
    "logical_not",
    "negative",
    "round",
    "rsqrt",
    "sigmoid",
    "sign",
    "sin",
    "sqrt",
    "tan",
    "tanh",
]
BINARY = [
    "divide",
    "divide_no_nan",
    "equal",
    "floordiv",
    "floormod",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "not_equal",
    "pow",
    "subtract",
]
REDUCTIONS = ["reduce_all", "reduce_any", "reduce_max", "reduce_min", "reduce_prod"]
OPERATIONS = {name: getattr(operation_table, name) for name in [*UNARY, *BINARY, *REDUCTIONS]}


@pytest.fixture(autouse=True)
def host():
    with tf.using("host", gpus=2):
        yield


def called(name, tensor):
    return OPERATIONS[name](tensor, tensor) if name in BINARY else OPERATIONS[name](tensor)


def test_every_operation_has_the_name_and_the_parameters_of_its_line():
    for names, parameters in [
        (UNARY, ["x", "name"]),
        (BINARY, ["x", "y", "name"]),
        (REDUCTIONS, ["input_tensor", "axis", "keepdims", "name"]),
    ]:
        made = [OPERATIONS[name] for name in names]
        assert names == [one.__name__ for one in made]
        assert [parameters] * len(made) == [list(inspect.signature(one).parameters) for one in made]
        assert all(one.__name__ in one.__doc__ for one in made)


@pytest.mark.parametrize("name", sorted(set(OPERATIONS) - {"equal", "not_equal"}))
def test_text_is_refused_by_name(name):
    with pytest.raises(
        DtypeError, match=rf"^{name}\(\) got a tensor of dtype string; expected .*\. Convert it with tf.cast"
    ):
        called(name, tf.constant(["a"]))


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_truth_values_are_taken_by_what_is_about_them_alone(name):
    if name.startswith("logical") or name in ("equal", "not_equal", "reduce_all", "reduce_any"):
        assert np.bool_ == called(name, tf.constant([True, False])).dtype
    else:
        with pytest.raises(DtypeError, match=rf"{name}\(\) got a tensor of dtype bool"):
            called(name, tf.constant([True, False]))


@pytest.mark.parametrize("name", UNARY)
@given(array=values(np.dtype("float32")))
@settings(max_examples=8)
def test_an_operation_on_each_element_keeps_the_shape(name, array):
    operand = array > 0 if name == "logical_not" else array

    assert array.shape == OPERATIONS[name](tf.constant(operand)).shape


@pytest.mark.parametrize("name", [one for one in BINARY if not one.startswith("logical")])
def test_an_operation_on_two_tensors_broadcasts(name):
    column, row = tf.constant([[1.0], [2.0]]), tf.constant([1.0, 2.0, 4.0])

    assert (2, 3) == OPERATIONS[name](column, row).shape
    assert (
        OPERATIONS[name](tf.constant([3.0, 3.0]), 2).tolist() == OPERATIONS[name](tf.constant([3.0, 3.0]), 2.0).tolist()
    )


def test_what_is_no_number_is_said_without_a_warning():
    assert np.isnan([tf.sqrt(-1.0).item(), tf.math.log(-1.0).item(), tf.divide(0.0, 0.0).item()]).all()
    assert [-np.inf, np.inf] == [tf.math.log(0.0).item(), tf.exp(1000.0).item()]


@given(x=generators.integers(-50, 50), y=generators.integers(-9, 9).filter(bool))
@settings(max_examples=30)
def test_a_quotient_and_a_rest_make_up_the_number(x, y):
    quotient, rest = tf.math.floordiv(tf.constant(x), y), tf.math.floormod(tf.constant(x), y)

    assert x == int(quotient) * y + int(rest)
    assert 0 <= int(rest) < y if y > 0 else y < int(rest) <= 0


@given(x=values(np.dtype("float32"), (3,)), y=values(np.dtype("float32"), (3,)))
@settings(max_examples=30)
def test_comparisons_contradict_each_other_where_they_should(x, y):
    less, equal, greater = (
        OPERATIONS[name](tf.constant(x), tf.constant(y)).numpy() for name in ("less", "equal", "greater")
    )

    assert (less.astype(int) + equal + greater == 1).all()
    assert ((less | equal) == OPERATIONS["less_equal"](x, y).numpy()).all()
    assert ((greater | equal) == OPERATIONS["greater_equal"](x, y).numpy()).all()
    assert (~equal == OPERATIONS["not_equal"](x, y).numpy()).all()


@MODES
def test_division_without_nan_gives_zero_where_it_would_divide_by_zero(mode):
    divided = mode(tf.math.divide_no_nan)(tf.constant([1.0, 0.0, 6.0]), tf.constant([0.0, 0.0, 2.0]))

    assert [0.0, 0.0, 3.0] == np.asarray(divided).tolist()


@MODES
def test_integers_have_no_negative_powers(mode):
    power = mode(tf.pow)

    assert [1, 8, 0, 1] == np.asarray(power(tf.constant([1, 2, 0, 7]), tf.constant([5, 3, 2, 0]))).tolist()
    assert 0.5 == float(power(tf.constant(2.0), tf.constant(-1.0)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="integers and a negative exponent"):
        power(tf.constant([1, 2]), tf.constant([1, -1]))


@pytest.mark.parametrize(
    ("name", "dtype", "expected"),
    [
        ("reduce_max", "float32", -np.inf),
        ("reduce_min", "float32", np.inf),
        ("reduce_max", "int8", -128),
        ("reduce_min", "int8", 127),
        ("reduce_min", "uint8", 255),
        ("reduce_prod", "int32", 1),
        ("reduce_all", "bool", True),
        ("reduce_any", "bool", False),
    ],
)
def test_what_nothing_is_reduced_to_changes_no_other(name, dtype, expected):
    nothing = tf.constant(np.zeros((0, 2), dtype))

    assert (expected, dtype) == (OPERATIONS[name](nothing).item(), OPERATIONS[name](nothing).dtype)
    assert [expected] * 2 == OPERATIONS[name](nothing, axis=0).tolist()


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(("axis", "shape"), [(None, ()), (0, (3,)), (-1, (2,)), ([0, 1], ())])
def test_reductions_take_an_axis_away_or_keep_it_with_size_one(name, axis, shape):
    array = np.array([[1, 0, 2], [3, 4, 5]], bool if name in ("reduce_all", "reduce_any") else np.int16)
    reduced, kept = OPERATIONS[name](array, axis), OPERATIONS[name](array, axis, keepdims=True)

    assert (shape, array.dtype) == (reduced.shape, reduced.dtype)
    assert 2 == len(kept.shape)
    assert reduced.numpy().ravel().tolist() == kept.numpy().ravel().tolist()


class TestPair:
    """Two operands become tensors of one dtype."""

    @pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int64"])
    def test_a_number_takes_the_dtype_of_the_tensor_on_either_side(self, dtype):
        tensor = tf.constant(np.ones(2, dtype))

        assert [dtype] * 4 == [one.dtype for both in (pair(tensor, 2, "f"), pair(2, tensor, "f")) for one in both]

    def test_of_two_numbers_the_first_decides(self):
        assert ["float32"] * 2 == [one.dtype for one in pair(1.5, 2, "f")]
        with pytest.raises(TypeError, match="expected one that becomes int32"):
            pair(1, 2.5, "f")

    def test_a_number_that_would_lose_something_is_refused(self):
        with pytest.raises(TypeError, match="without losing"):
            pair(tf.constant([1, 2]), 1.5, "f")

    def test_tensors_of_two_dtypes_are_refused_with_both(self):
        with pytest.raises(DtypeError, match=r"f\(\) got tensors of the dtypes float32 and int32; expected one dtype"):
            pair(tf.constant(1.0), tf.constant(1), "f")

    def test_an_array_of_numpy_takes_the_dtype_of_the_tensor_where_nothing_is_lost(self):
        assert "float64" == beside(np.float32([1]), np.float64).dtype
        with pytest.raises(TypeError, match="without losing"):
            beside(np.float32([1]), np.int32)

    def test_a_variable_and_a_mirrored_value_count_as_their_values(self):
        with (strategy := tf.distribute.MirroredStrategy()).scope():
            variable = tf.Variable([1.0, 2.0])
        mirrored = strategy.extended.broadcast_to(tf.constant([3.0, 4.0]), variable)

        assert [[1.0, 2.0], [3.0, 4.0]] == [one.tolist() for one in pair(variable, mirrored, "f")]


@MODES
def test_what_is_required_is_told_at_once_or_when_the_program_runs(mode):
    @mode
    def checked(x):
        require((x > 0).all(), "expected more.")
        return x

    assert 1.0 == float(checked(tf.constant(1.0)))
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected more"):
        checked(tf.constant(-1.0))


def test_complex_numbers_are_computed_as_by_tensorflow():
    answers = answers_of("complex_numbers")
    staged = [one for one in answers if "matmul" in one or ".abs(" in one or ".exp(" in one or "norm(" in one]
    with tf.using("simulator", gpus=1):
        found = differences(answers, lambda expression: evaluated(expression, tf.constant), False)

        assert set(expressions_of("complex_numbers")) == set(answers)
        assert [] == list(filter(None, found))
        compiled = staged_together(staged)
        assert [] == list(filter(None, differences({one: answers[one] for one in staged}, compiled.__getitem__, False)))


@pytest.mark.parametrize("name", ["divide_no_nan", "multiply_no_nan", "xlogy", "maximum", "pow"])
def test_a_number_beside_what_a_trace_of_jax_has_is_taken(any_backend, name):
    import jax

    operation = getattr(tf.math, name)
    found = jax.jit(lambda x: operation(2.0, x))(np.float32([1, 4]))

    np.testing.assert_allclose(found, np.asarray(operation(2.0, tf.constant([1.0, 4.0]))), rtol=1e-6)
