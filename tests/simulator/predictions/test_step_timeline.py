"""Kernels may take longer while an exchange runs beside them."""

import pytest
from hypothesis import given
from hypothesis import strategies as generators

from simulator import libraries, predict_all_to_all, predict_scaled_step, presets
from simulator.libraries.library import Launch
from simulator.predictions.step_timeline import Exchange, timeline
from simulator.predictions.step_work import Work


def work_of(gradient_bytes):
    """A kernel, an exchange of what it makes, and a kernel that does not wait for that."""
    return [
        Work("first", "compute", 0.0, 0.0, "", True, (), 0.0),
        Work("gradients", "all_reduce", 0.0, gradient_bytes, "", True, (0,), 0.0),
        Work("second", "compute", 0.0, 0.0, "", True, (0,), 0.0),
    ]


def seconds(exchanged, slowdown, overlap=True):
    def exchange(kind, size):
        return Exchange(exchanged, "ring", 0.0)

    return timeline(
        work_of(8.0), [1.0, 0.0, 4.0], exchange, overlap=overlap, bucket_bytes=1.0, overlap_slowdown=slowdown
    ).compute_seconds


@pytest.mark.parametrize(
    ("exchanged", "slowdown", "computed"),
    [
        (2.0, 0.0, 5.0),
        (2.0, 1.0, 6.0),  # beside the exchange, 2 s are enough for half of what they would do
        (8.0, 1.0, 9.0),  # all of the second kernel is beside it
        (100.0, 0.25, 6.0),
    ],
)
def test_a_kernel_is_slower_as_long_as_an_exchange_runs_beside_it(exchanged, slowdown, computed):
    assert computed == pytest.approx(seconds(exchanged, slowdown))


def test_without_overlap_nothing_runs_beside_a_kernel():
    assert 5.0 == pytest.approx(seconds(2.0, 1.0, overlap=False))


@given(generators.floats(0, 2), generators.floats(0, 2))
def test_a_step_is_not_shorter_where_kernels_lose_more(one, other):
    less, more = sorted([one, other])
    cluster = presets.dgx_h100(2)

    def step(slowdown):
        return predict_scaled_step(
            0.1, 1e9, cluster=cluster, library=libraries.nccl(), overlap_slowdown=slowdown
        ).seconds

    assert step(less) <= step(more) * (1 + 1e-12)


@pytest.mark.parametrize("slowdown", [-0.1, float("nan"), float("inf"), "much"])
def test_a_slowdown_that_is_none_is_refused(slowdown):
    with pytest.raises(ValueError, match="overlap_slowdown"):
        predict_scaled_step(0.1, 1e9, cluster=presets.dgx_h100(1), library=libraries.nccl(), overlap_slowdown=slowdown)


def test_each_message_of_an_all_to_all_takes_a_start():
    cluster, library, launch = presets.dgx_h100(1), libraries.nccl(), Launch(gpus_per_process=8)

    found = predict_all_to_all(cluster, 8, library=library, launch=launch)

    messages = 16 * library.message_microseconds  # whose starts take longer than the work itself
    assert 8 * (library.launch_microseconds + messages) * 1e-6 == pytest.approx(found.seconds)
