"""How traces are counted."""

import pytest

from refdist._core.staging.trace_count import Signature, Traces


@pytest.mark.parametrize(
    ("relax", "shapes", "counts"),
    [
        (False, [(1,), (2,), (1,)], [1, 2, 2]),
        (False, [(None,), (2,), (2, 2)], [1, 1, 2]),
        (False, [None, (2,), (2, 2)], [1, 1, 1]),
        (False, [(2,), (None,), (3,)], [1, 2, 2]),
        (True, [(1,), (2,), (3,)], [1, 2, 2]),
        (True, [(1,), (2, 2), (3, 3, 3)], [1, 2, 2]),
        (True, [(1, 2), (3, 2), (4, 2), (4, 3), (5, 5)], [1, 2, 2, 3, 3]),
    ],
)
def test_a_shape_counts_unless_an_earlier_one_covers_it(relax, shapes, counts):
    traces, found = Traces(relax=relax), []
    for shape in shapes:
        traces.note(Signature("kind", (shape,)))
        found.append(traces.count)

    assert counts == found


def test_what_differs_in_more_than_shapes_is_never_relaxed():
    traces = Traces(relax=True)
    for kind in ("float", "int"):
        assert traces.note(Signature(kind, ((1,),)))
        assert traces.note(Signature(kind, ((2,),)))
        assert not traces.note(Signature(kind, ((3,),)))

    assert 4 == traces.count
