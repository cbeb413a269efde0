"""Fitting a library to a machine."""

import dataclasses

import pytest

from simulator import libraries, presets
from simulator.libraries.calibration import pairs_of
from simulator.predictions.prediction import predict_all_reduce

SIZES = [8 * 2**power for power in range(28)]


def measured(library, launch):
    return [
        (size, predict_all_reduce(presets.dgx_a100(), size, library=library, launch=launch).seconds) for size in SIZES
    ]


@pytest.mark.parametrize("gpus_per_process", [1, 8])
def test_a_machine_that_differs_is_found_again(gpus_per_process, tmp_path):
    launch = libraries.Launch(gpus_per_process)
    other = dataclasses.replace(
        libraries.nccl(), latency_scale=1.7, bandwidth_scales=(0.6, 0.8, 0.9), launch_microseconds=5.0
    )
    rows = measured(other, launch)
    plain = libraries.nccl()
    fitted = plain.calibrated(presets.dgx_a100(), rows, launch=launch)

    def error(library):
        times = [predict_all_reduce(presets.dgx_a100(), size, library=library, launch=launch).seconds for size in SIZES]
        return sum(abs(time / real - 1) for time, (_, real) in zip(times, rows, strict=True)) / len(rows)

    assert error(plain) > 0.1
    assert error(fitted) == pytest.approx(fitted.calibration.mean_error)
    assert fitted.calibration.mean_error < 0.02
    assert fitted.calibration.held_out_error < 0.04
    assert len(rows) == fitted.calibration.rows
    fitted.save(str(tmp_path / "box.json"))
    assert fitted == libraries.load(str(tmp_path / "box.json"))
    assert "held out" in repr(fitted)


def test_the_output_of_nccl_tests_is_read_as_it_is():
    text = """
# nThread 1 nGpus 8 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    38.89    0.00    0.00      0    38.75    0.00    0.00      0
        1024           256     float     sum      -1    42.05    0.02    0.04    N/A    39.01    0.03    0.05    N/A
     1048576         16384      half    none      -1      131   68.21  113.7       0    30.01    0.03    0.05      0
# Out of bounds values : 0 OK
"""

    assert [(8, 38.89), (1024, 42.05), (1048576, 131.0)] == [
        (size, round(time * 1e6, 2)) for size, time in pairs_of(text)
    ]


def test_what_is_no_sweep_says_what_to_give(tmp_path):
    library, box = libraries.nccl(), presets.dgx_a100()

    with pytest.raises(ValueError, match="all_reduce_perf"):
        library.calibrated(box, "nothing")
    with pytest.raises(ValueError, match="expected at least 5"):
        library.calibrated(box, [(8, 1e-5)])
    with pytest.raises(ValueError, match="expected both above 0"):
        library.calibrated(box, [(8, -1e-5)] * 9)
    with pytest.raises(ValueError, match="expected one of all_reduce"):
        library.calibrated(box, [(8, 1e-5)] * 9, collective="sum")
    (tmp_path / "no.json").write_text("[1]")
    with pytest.raises(ValueError, match="no library"):
        libraries.load(str(tmp_path / "no.json"))
