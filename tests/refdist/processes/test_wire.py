import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from refdist._core.base.indexed_slices import IndexedSlices
from refdist._core.processes.wire import packed, unpacked

PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.complex_numbers(allow_nan=False),
)
DTYPES = st.sampled_from(
    ["float32", "float64", "int8", "uint16", "int64", "bool", "complex64", ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]
)
ARRAYS = DTYPES.flatmap(
    lambda dtype: hnp.arrays(np.uint8, hnp.array_shapes(min_dims=0, min_side=0, max_side=3)).map(
        lambda a: a.astype(dtype)
    )
)
NESTS = st.recursive(
    PLAIN | ARRAYS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3) | st.tuples(inner, inner)
    ),
)


class NoTensor:
    pass


def through(payloads, tensor_type=NoTensor, to_tensor=None):
    outline, data = packed(payloads, tensor_type)
    return unpacked(data, payloads[0], to_tensor), outline


def same(one, other):
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and (one.dtype, one.shape, one.tobytes()) == (
            other.dtype,
            other.shape,
            other.tobytes(),
        )
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return type(one) is type(other) and one == other


@given(NESTS)
def test_what_was_packed_comes_back_as_it_was(nest):
    (back,), _ = through([nest])

    assert same(nest, back)


def test_each_replica_has_a_payload_of_its_own():
    back, _ = through([[1, np.float32([2.0])], [3, np.float32([])]])

    assert [1, 3] == [one[0] for one in back]
    assert [(1,), (0,)] == [one[1].shape for one in back]


def test_tensors_become_tensors_of_the_receiver():
    class Tensor(np.ndarray):
        pass

    (back,), _ = through([np.arange(3).view(Tensor)], Tensor, lambda array: ("tensor", array.tolist()))

    assert ("tensor", [0, 1, 2]) == back


def test_slices_stay_slices_and_text_stays_text():
    slices = IndexedSlices(np.float32([[1.0]]), np.array([4]), np.array([9, 1]))
    (back,), _ = through([[slices, np.array([["a", b"b"]], object), np.float16(2.5)]])

    assert [[1.0]] == back[0].values.tolist()
    assert [4] == back[0].indices.tolist()
    assert [9, 1] == back[0].dense_shape.tolist()
    assert [["a", b"b"]] == back[1].tolist()
    assert np.float16 is type(back[2])
    assert 2.5 == back[2]


def test_nests_of_different_structure_have_different_outlines():
    outlines = [packed([nest], list)[0] for nest in (1, [1], [1, 2], {"a": 1}, {"b": 1}, [2])]

    assert 5 == len(set(outlines))


def test_what_is_no_value_is_refused():
    with pytest.raises(
        TypeError, match=r"A object .* was to be sent to other workers; expected tensors, arrays, numbers or text"
    ):
        packed([object()], np.ndarray)
