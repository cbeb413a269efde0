"""`tf.io.gfile` as in TensorFlow 2.21."""

import pathlib

import pytest

import refdist as tf

gfile, errors = tf.io.gfile, tf.errors


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gfile.makedirs("g/x/y")
    with gfile.GFile("g/a.txt", "w") as file:
        file.write("hello\nworld\n")
    return tmp_path


def test_a_file_is_read_in_parts():
    with gfile.GFile("g/a.txt") as file:
        assert "hel" == file.read(3)
        assert 3 == file.tell()
        assert "lo\n" == file.readline()
        assert ["world\n"] == file.readlines()
        assert (12, "g/a.txt", "r", True) == (file.size(), file.name, file.mode, file.seekable())
        file.seek(6)
        assert "world\n" == file.read()


def test_a_file_is_read_as_bytes_or_as_lines():
    assert b"hello\nworld\n" == gfile.GFile("g/a.txt", "rb").read()
    assert ["hello\n", "world\n"] == list(gfile.GFile("g/a.txt"))


def test_text_and_bytes_are_written_and_appended():
    with gfile.GFile("g/a.txt", "a") as file:
        file.write(b"more")
        file.flush()

    assert "hello\nworld\nmore" == gfile.GFile("g/a.txt", "r+").read()


def test_a_file_is_opened_when_it_is_used():
    missing = gfile.GFile("g/no")

    with pytest.raises(errors.NotFoundError):
        missing.read()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: gfile.GFile("g/a.txt", "x"), errors.InvalidArgumentError),
        (lambda: gfile.GFile("g/a.txt").write("x"), errors.PermissionDeniedError),
        (lambda: gfile.GFile("g/q.txt", "w").read(), errors.PermissionDeniedError),
        (lambda: gfile.mkdir("g/u/v"), errors.NotFoundError),
        (lambda: gfile.listdir("g/no"), errors.NotFoundError),
        (lambda: gfile.listdir("g/a.txt"), errors.NotFoundError),
        (lambda: gfile.copy("g/a.txt", "g/a.txt"), errors.AlreadyExistsError),
        (lambda: gfile.rename("g/a.txt", "g/a.txt"), errors.AlreadyExistsError),
        (lambda: gfile.rename("g/no", "g/b.txt"), errors.NotFoundError),
        (lambda: gfile.copy("g/no", "g/b.txt"), errors.NotFoundError),
        (lambda: gfile.remove("g/no"), errors.NotFoundError),
        (lambda: gfile.remove("g/x"), errors.FailedPreconditionError),
        (lambda: gfile.stat("g/no"), errors.NotFoundError),
        (lambda: gfile.rmtree("g/no"), errors.NotFoundError),
        (lambda: gfile.exists("foo://bucket/x"), errors.UnimplementedError),
        (lambda: tf.io.read_file("g/no"), errors.NotFoundError),
    ],
)
def test_errors_are_those_of_tensorflow(call, error):
    with pytest.raises(error):
        call()


def test_files_and_folders_are_listed():
    assert [True, True, False] == [gfile.exists(name) for name in ("g/a.txt", "g", "g/no")]
    assert [True, False, False] == [gfile.isdir(name) for name in ("g", "g/a.txt", "g/no")]
    assert ["a.txt", "x"] == gfile.listdir("g")
    assert ["g/a.txt"] == gfile.glob("g/*.txt")
    assert ["g/x", "g/a.txt"] == gfile.glob(["g/x*", "g/a*"])
    assert [] == gfile.glob("g/zz*")
    assert [("g", ["x"], ["a.txt"]), ("g/x", ["y"], []), ("g/x/y", [], [])] == list(gfile.walk("g"))
    assert ["g/x/y", "g/x", "g"] == [folder for folder, _, _ in gfile.walk("g", topdown=False)]
    assert (12, False) == gfile.stat("g/a.txt")[::2]
    assert gfile.stat("g").is_directory
    assert "file" in gfile.get_registered_schemes()


def test_files_are_copied_renamed_and_deleted(folder):
    gfile.mkdir("g")
    gfile.copy("g/a.txt", "g/b.txt")
    gfile.copy(pathlib.Path("g/a.txt"), "g/b.txt", overwrite=True)
    gfile.rename("g/b.txt", f"file://{folder}/g/c.txt")
    gfile.rename("g/a.txt", "g/c.txt", overwrite=True)
    gfile.rmtree("g/x")

    assert ["c.txt"] == gfile.listdir("g")
    gfile.remove("g/c.txt")
    assert [] == gfile.listdir("g")


def test_names_are_joined():
    assert ["a/b", "/b", "gs://x/y", "a/b", "a"] == [
        gfile.join(*parts) for parts in (("a", "b"), ("a", "/b"), ("gs://x", "y"), ("a/", "b"), ("a",))
    ]


def test_a_whole_file_is_read_and_written():
    tf.io.write_file("g/d/e/f.txt", "abc")

    assert b"abc" == tf.io.read_file(tf.constant("g/d/e/f.txt")).numpy()
    assert [b"g/a.txt"] == tf.io.matching_files("g/*.txt").tolist()
    with pytest.raises(ValueError, match="single one"):
        tf.io.write_file("g/b.txt", ["abc"])


def test_a_function_reads_a_file_in_each_call():
    @tf.function
    def size():
        return tf.size(tf.io.decode_raw(tf.io.read_file("g/a.txt"), tf.uint8))

    sizes = [int(size())]
    tf.io.write_file("g/a.txt", "abc")

    assert [12, 3] == [*sizes, int(size())]
