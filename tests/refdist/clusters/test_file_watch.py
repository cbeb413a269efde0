"""Files that several workers write, told where `watch="python"` asks for it."""

import os
import warnings

import numpy as np
import pytest

import refdist as tf

WRITERS = {
    "open": lambda path: open(path, "w").close(),
    "append": lambda path: open(path, "a").close(),
    "os.open": lambda path: os.close(os.open(path, os.O_WRONLY | os.O_CREAT)),
    "np.save": lambda path: np.save(path, np.zeros(2)),
    "gfile": lambda path: tf.io.gfile.GFile(path, "w").close(),
}


def run(program, **options):
    with tf.using("simulator", gpus=1, **options):
        tf.cluster.run_workers(program, 2)


@pytest.mark.parametrize("writer", WRITERS)
def test_a_file_that_two_workers_write_is_told(tmp_path, writer):
    def program(worker):
        del worker
        if writer == "gfile":
            with tf.io.gfile.GFile(str(tmp_path / "f"), "w") as file:
                file.write("x")
        else:
            WRITERS[writer](str(tmp_path / "f"))

    with pytest.warns(tf.errors.HostEffectWarning, match=r"Workers 0 and 1 both write the file .*Let the chief"):
        run(program, watch="python")


@pytest.mark.parametrize(
    "program",
    [
        lambda folder, worker: open(f"{folder}/{worker}", "w").close(),
        lambda folder, worker: open(f"{folder}/chief", "w").close() if worker == 0 else None,
        lambda folder, worker: [open(f"{folder}/own{worker}", "w").close() for _ in range(2)],
        lambda folder, worker: open(os.devnull, "w").close(),
        lambda folder, worker: open(__file__).close(),
    ],
    ids=["own name", "chief alone", "twice by one", "the null device", "reading"],
)
def test_what_workers_may_do_is_silent(tmp_path, program):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(lambda worker: program(tmp_path, worker), watch="python")


def test_files_are_not_watched_outside_of_workers_or_unless_asked_for(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(lambda worker: open(tmp_path / "f", "w").close())
        open(tmp_path / "f", "w").close()
