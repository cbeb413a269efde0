"""Operations written with JAX: each does what a loop over its definition does."""

import itertools

import numpy as np
import pytest

from refdist._core.compilers import tensor_kernels as kernels

RANDOM = np.random.default_rng(0)
IMAGE = RANDOM.normal(size=(2, 5, 5, 2)).astype(np.float32)
FILTERS = RANDOM.normal(size=(3, 2, 2, 3)).astype(np.float32)
PLAIN = {"strides": (1, 1), "layout": "NHWC", "dilations": (1, 1)}


def near(first, second):
    np.testing.assert_allclose(np.asarray(first), np.asarray(second), rtol=1e-4, atol=1e-5)


def windows(x, size, stride):
    """The windows of a batch of one-dimensional signals that lie inside."""
    return [x[:, start : start + size] for start in range(0, x.shape[1] - size + 1, stride)]


def test_a_convolution_adds_up_products_place_by_place():
    made = np.asarray(kernels.convolved(IMAGE, FILTERS, padding="VALID", **PLAIN))
    expected = np.zeros((2, 3, 4, 3))
    for row, column in itertools.product(range(3), range(4)):
        expected[:, row, column] = np.einsum("nhwi,hwio->no", IMAGE[:, row : row + 3, column : column + 2], FILTERS)

    near(expected, made)


def test_strides_leave_places_out_and_the_layout_says_where_channels_are():
    whole = kernels.convolved(IMAGE, FILTERS, padding="SAME", **PLAIN)
    channels_first = kernels.convolved(
        IMAGE.transpose(0, 3, 1, 2), FILTERS, padding="SAME", **{**PLAIN, "layout": "NCHW"}
    )
    valid = kernels.convolved(IMAGE, FILTERS, padding="VALID", **PLAIN)
    strided = kernels.convolved(IMAGE, FILTERS, padding="VALID", **{**PLAIN, "strides": (2, 3)})

    near(np.asarray(whole).transpose(0, 3, 1, 2), channels_first)
    near(np.asarray(valid)[:, ::2, ::3], strided)


def test_the_transpose_of_a_convolution_has_the_same_inner_product():
    out = kernels.convolved(IMAGE, FILTERS, padding="SAME", **PLAIN)
    change = RANDOM.normal(size=out.shape).astype(np.float32)
    back = kernels.spread(change, FILTERS, output_shape=IMAGE.shape, padding="SAME", **PLAIN)

    near(np.sum(np.asarray(out) * change), np.sum(IMAGE * np.asarray(back)))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_windows_have_their_largest_element(stride, dtype):
    x = (RANDOM.normal(size=(2, 7)) * 9 - 20).astype(dtype)  # below zero, which padding must not win against
    made = kernels.largest_in_windows(x, window=(1, 3), strides=(1, stride), padding="VALID")
    padded = kernels.largest_in_windows(x, window=(1, 3), strides=(1, 1), padding="SAME")

    assert np.stack([one.max(1) for one in windows(x, 3, stride)], 1).tolist() == np.asarray(made).tolist()
    assert x[:, :2].max(1).tolist() == np.asarray(padded)[:, 0].tolist()


def test_the_mean_of_a_window_is_that_of_what_lies_inside():
    x = np.float32([[2, 4, 9]])
    inside = kernels.mean_of_windows(x, window=(1, 2), strides=(1, 1), padding="VALID")
    padded = kernels.mean_of_windows(x, window=(1, 3), strides=(1, 1), padding="SAME")

    assert [[3.0, 6.5]] == np.asarray(inside).tolist()
    assert [[3.0, 5.0, 6.5]] == np.asarray(padded).tolist()


@pytest.mark.parametrize(
    ("how", "expected"),
    [("set", [[0, 0], [7, 8], [5, 6]]), ("add", [[0, 0], [8, 10], [5, 6]]), ("max", [[0, 0], [7, 8], [5, 6]])],
)
def test_slices_are_changed_at_their_indices(how, expected):
    into = np.float32([[0, 0], [1, 2], [0, 0]])
    made = kernels.scattered(
        into=kernels.as_array(into), indices=np.int32([[2], [1]]), updates=np.float32([[5, 6], [7, 8]]), how=how
    )

    assert expected == np.asarray(made).tolist()
    single = kernels.scattered(kernels.as_array(into), np.int32([[1, 1]]), np.float32([9]), how="set")
    assert [[0, 0], [1, 9], [0, 0]] == np.asarray(single).tolist()


@pytest.mark.parametrize(("how", "expected"), [("sum", [5, 0, 7]), ("max", [4, None, 7]), ("prod", [4, 1, 7])])
def test_rows_of_one_number_are_combined(how, expected):
    made = kernels.combined_by_segment(np.float32([1, 4, 7]), np.int32([0, 0, 2]), count=3, how=how)

    assert [one for one in expected if one is not None] == [
        number for number, one in zip(np.asarray(made).tolist(), expected, strict=True) if one is not None
    ]


def test_a_function_is_applied_to_each_row_in_its_order():
    made = kernels.mapped(lambda pair: pair[0] * 10 + pair[1], (np.arange(3), np.arange(3, 6)))

    assert [3, 14, 25] == np.asarray(made).tolist()


def test_numbers_of_64_bits_stay_exact_in_their_block():
    with kernels.exactly():
        assert (2**40 + 1, "int64") == (int(kernels.as_array(2**40 + 1)), kernels.as_array(np.int64(1)).dtype.name)


def test_the_distribution_of_normal_numbers_and_its_inverse_undo_each_other():
    x = np.float32([-1.5, 0.0, 0.5])

    near(x, kernels.ndtri(0.5 * (1 + np.asarray(kernels.erf(x / np.sqrt(2)), np.float32))))
    near(np.ones(3), np.asarray(kernels.erf(x)) + np.asarray(kernels.erfc(x)))
