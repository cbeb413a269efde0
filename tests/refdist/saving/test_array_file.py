import contextlib
import os
import pathlib
import stat
import threading

import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as generators
from hypothesis.extra import numpy as array_generators

from refdist._core.saving.array_file import read_arrays, write_arrays

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "complex64",
    ml_dtypes.bfloat16,
]  # fmt: skip


@pytest.fixture
def file(tmp_path):
    return tmp_path / "a.safetensors"


def packed(arrays):
    return {name: (array.dtype, array.shape, array.tobytes()) for name, array in arrays.items()}


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (3, 2)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: np.dtype(dtype).name)
def test_arrays_of_every_dtype_and_shape_are_read_as_they_were_written(file, dtype, shape):
    array = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
    write_arrays(file, {"a": array})
    read = read_arrays(file)["a"]

    assert (array.dtype, array.shape) == (read.dtype, read.shape)
    assert array.tobytes() == read.tobytes()


@given(
    generators.dictionaries(
        generators.text(generators.characters(exclude_categories=["Cs"])).filter(lambda name: name != "__metadata__"),
        array_generators.arrays(np.float32, array_generators.array_shapes(min_dims=0, min_side=0)),
    )
)
def test_whatever_their_names_are(tmp_path_factory, arrays):
    file = tmp_path_factory.mktemp("names") / "a.safetensors"
    write_arrays(file, arrays)
    read = read_arrays(file)

    assert packed(arrays) == packed(read)


@pytest.mark.parametrize("array", [np.ones(2, "complex128"), np.array(["text"]), np.ones(2, ">f4")], ids=str)
def test_what_the_file_cannot_hold_is_refused_before_anything_is_written(file, array):
    write_arrays(file, {"a": np.ones(2)})
    with pytest.raises(TypeError, match=r"'b' has dtype .* Nothing was written"):
        write_arrays(file, {"a": np.zeros(2), "b": array})

    assert [1.0, 1.0] == read_arrays(file)["a"].tolist()


def test_a_name_that_the_file_needs_for_itself_is_refused(file):
    with pytest.raises(ValueError, match="Rename the variable"):
        write_arrays(file, {"__metadata__": np.ones(2)})

    assert not file.exists()


def test_a_flipped_bit_is_told_or_changes_nothing(file):
    arrays = {"kernel": np.array([[1.0, 2.0], [3.0, 4.0]]), "bias": np.array([5, 6], "int16")}
    write_arrays(file, arrays)
    good, untold = file.read_bytes(), 0
    for bit in range(0, 8 * len(good), 3):
        damaged = bytearray(good)
        damaged[bit // 8] ^= 1 << bit % 8
        file.write_bytes(damaged)
        with contextlib.suppress(ValueError):
            assert packed(arrays) == packed(read_arrays(file))
            untold += 1
    for byte in range(len(good) - 36, len(good)):
        damaged = bytearray(good)
        damaged[byte] ^= 1
        file.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"The array '(kernel|bias)' in the file .* is damaged"):
            read_arrays(file)

    assert untold < len(good) / 6  # such as a bit that makes another name of the names of all checksums


def test_an_older_file_without_checksums_is_read(file):
    file.write_bytes(safetensors.numpy.save({"a": np.ones(2)}))

    assert [1.0, 1.0] == read_arrays(file)["a"].tolist()


def test_a_dtype_that_we_do_not_know_is_told(file):
    file.write_bytes(safetensors.numpy.save({"a": np.ones(2, ml_dtypes.float8_e5m2)}))
    with pytest.raises(ValueError, match="F8_E5M2"):
        read_arrays(file)


def test_two_writers_of_one_name_do_not_share_what_is_unfinished(file, monkeypatch):
    # The second one writes everything while the first is about to publish.
    original = os.replace

    def replace(source, target):
        monkeypatch.setattr(os, "replace", original)
        write_arrays(file, {"a": np.zeros(3)})
        original(source, target)

    monkeypatch.setattr(os, "replace", replace)
    write_arrays(file, {"a": np.ones(3)})

    assert [1.0, 1.0, 1.0] == read_arrays(file)["a"].tolist()
    assert [file.name] == os.listdir(file.parent)


def test_threads_that_write_one_name_all_succeed(file):
    def write(number):
        for _ in range(20):
            write_arrays(file, {"a": np.full(1000, number)})

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    failed = []
    monitored = threading.excepthook
    threading.excepthook = lambda arguments: failed.append(arguments.exc_value)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        threading.excepthook = monitored

    assert [] == failed
    assert 1 == len(set(read_arrays(file)["a"].tolist()))
    assert [file.name] == os.listdir(file.parent)


def test_the_file_is_on_the_disk_before_it_has_its_name_and_then_the_name(file, monkeypatch):
    calls = []
    synchronize, replace = os.fsync, os.replace
    monkeypatch.setattr(
        os, "fsync", lambda number: (calls.append(stat.S_IFMT(os.fstat(number).st_mode)), synchronize(number))
    )
    monkeypatch.setattr(os, "replace", lambda *names: (calls.append("replace"), replace(*names)))
    write_arrays(file, {"a": np.ones(2)})

    assert [stat.S_IFREG, "replace", stat.S_IFDIR] == calls


def test_what_a_killed_writer_has_left_is_removed_when_it_is_old(file):
    old, young, other = (
        file.parent / name for name in (".refdist-1.unfinished", ".refdist-2.unfinished", "3.unfinished")
    )
    for piece in (old, young, other):
        piece.write_bytes(b"half")
    for piece in (old, other):
        os.utime(piece, (0, 0))
    write_arrays(file, {"a": np.ones(2)})

    assert sorted([file.name, young.name, other.name]) == sorted(os.listdir(file.parent))


def test_a_new_file_has_the_rights_that_files_have(file):
    write_arrays(file, {"a": np.ones(2)})
    (file.parent / "plain").touch()

    assert (file.parent / "plain").stat().st_mode == file.stat().st_mode


@pytest.mark.parametrize(
    "name",
    ["file/inside.safetensors", "folder", "a\0b.safetensors", "n" * 300 + ".safetensors"],
    ids=["below a file", "a folder", "a null byte", "too long"],
)
def test_a_place_where_nothing_can_be_written_is_told_and_left_as_it_is(tmp_path, name):
    (tmp_path / "file").write_text("text")
    (tmp_path / "folder").mkdir()
    with pytest.raises((OSError, ValueError)):
        write_arrays(tmp_path / name, {"a": np.ones(2)})

    assert ["file", "folder"] == sorted(os.listdir(tmp_path))
    assert "text" == (tmp_path / "file").read_text()


@pytest.mark.parametrize("name", ["a.safetensors", "new/a.safetensors"])
def test_a_folder_that_may_not_be_written_to_is_told(name):
    folder = pathlib.Path("/proc/self")  # forbidden to everybody
    with pytest.raises(OSError):
        write_arrays(folder / name, {"a": np.ones(2)})


def test_an_error_says_which_file_was_to_be_written(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError) as raised:
        write_arrays(tmp_path / "folder", {"a": np.ones(2)})

    assert [
        f"raised while {tmp_path / 'folder'} was written; the file is as it was, or complete."
    ] == raised.value.__notes__


@pytest.mark.parametrize(
    "name", ["ü ñ.safetensors", "new\nline.safetensors", "-f.safetensors", ".hidden.safetensors", "n" * 240]
)
def test_odd_names_are_names(tmp_path, name):
    write_arrays(tmp_path / name, {"a": np.ones(2)})

    assert [name] == os.listdir(tmp_path)
    assert [1.0, 1.0] == read_arrays(tmp_path / name)["a"].tolist()
