"""`tf.io.gfile`: the files of this machine under the documented names."""

import contextlib
import glob as globs
import os
import shutil
from collections.abc import Generator, Iterator
from typing import Any, NamedTuple

from refdist._core.base.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnimplementedError,
)
from refdist._core.ops.byte_strings import byte_string, byte_strings, string_tensor, text
from refdist._core.seam.draft import leave_draft_for_data

_MODES = ("r", "w", "a", "r+", "w+", "a+")


class FileStatistics(NamedTuple):
    """What `stat` says about a file."""

    length: int
    mtime_nsec: int
    is_directory: bool


class GFile:
    """A file of this machine, opened when it is first read or written."""

    def __init__(self, name: Any, mode: str = "r") -> None:
        if mode.replace("b", "") not in _MODES:
            raise InvalidArgumentError(
                f"GFile() got mode={mode!r}; expected one of {', '.join(_MODES)}, and b. Use one of these."
            )
        self._name, self._mode, self._file = name, mode, None
        self._binary = "b" in mode

    @property
    def name(self) -> Any:
        """The name that it was made with."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode that it was made with."""
        return self._mode

    def read(self, n: int = -1) -> Any:
        """Read so many bytes or characters; all without a number."""
        with _told(self._name):
            return self._text(self._opened(reading=True).read(n))

    def readline(self) -> Any:
        """Read a line with its end."""
        with _told(self._name):
            return self._text(self._opened(reading=True).readline())

    def readlines(self) -> list[Any]:
        """Read all lines that are left."""
        return list(self)

    def write(self, file_content: Any) -> None:
        """Write text or bytes."""
        data = file_content.encode() if isinstance(file_content, str) else byte_string(file_content, "write()")
        with _told(self._name):
            self._opened(reading=False).write(data)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go to a place in the file."""
        self._opened(reading=True).seek(position if position is not None else offset or 0, whence)

    def tell(self) -> int:
        """Say how far the file has been read or written."""
        return self._opened(reading=None).tell()

    def size(self) -> int:
        """Count the bytes of the file."""
        return stat(self._name).length

    def seekable(self) -> bool:
        """Say that one can go to any place."""
        return True

    def flush(self) -> None:
        """Pass what was written on to the operating system."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _opened(self, reading: bool | None) -> Any:
        plain = self._mode.replace("b", "")
        allowed = reading is None or "+" in plain or (plain == "r") == reading
        if not allowed:
            raise PermissionDeniedError(
                f"The file {self._name!r} was opened with mode={self._mode!r} and was to be {'read' if reading else 'written'}; "
                f"expected the other. Open it with another mode."
            )
        if self._file is None:
            # In bytes, so that a number of them is what it is in TensorFlow.
            self._file = open(_path(self._name), f"{plain}b")  # noqa: SIM115
        return self._file

    def _text(self, data: bytes) -> Any:
        return data if self._binary else data.decode()

    def __enter__(self) -> "GFile":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        while line := self.readline():
            yield line

    def __del__(self) -> None:
        with contextlib.suppress(AttributeError):
            self.close()


def exists(path: Any) -> bool:
    """Say whether there is a file or a folder."""
    return os.path.exists(_path(path))


def isdir(path: Any) -> bool:
    """Say whether there is a folder."""
    return os.path.isdir(_path(path))


def mkdir(path: Any) -> None:
    """Make a folder in one that exists; one that is there stays."""
    with _told(path), contextlib.suppress(FileExistsError):
        os.mkdir(_path(path))


def makedirs(path: Any) -> None:
    """Make a folder and those around it."""
    with _told(path):
        os.makedirs(_path(path), exist_ok=True)


def listdir(path: Any) -> list[str]:
    """List the names in a folder, sorted."""
    with _told(path):
        return sorted(os.listdir(_path(path)))


def glob(pattern: Any) -> list[str]:
    """List the files that match one pattern or several, sorted."""
    patterns = [pattern] if isinstance(pattern, (str, bytes, os.PathLike)) else list(pattern)
    return [name for one in patterns for name in sorted(globs.glob(_path(one)))]


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file."""
    _require_new(dst, overwrite)
    with _told(src):
        shutil.copyfile(_path(src), _path(dst))


def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Rename or move a file."""
    _require_new(dst, overwrite)
    with _told(src):
        os.replace(_path(src), _path(dst))


def remove(path: Any) -> None:
    """Delete a file."""
    with _told(path):
        os.remove(_path(path))


def rmtree(path: Any) -> None:
    """Delete a folder with all that is in it."""
    with _told(path):
        shutil.rmtree(_path(path))


def stat(path: Any) -> FileStatistics:
    """The size of a file, and when it was written."""
    with _told(path):
        found = os.stat(_path(path))
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(_path(path)))


def walk(top: Any, topdown: bool = True, onerror: Any = None) -> Generator[tuple[str, list[str], list[str]]]:
    """Deliver each folder under one with the names in it, sorted."""
    for folder, folders, files in os.walk(_path(top), topdown, onerror):
        folders.sort()
        yield folder, folders, sorted(files)


def join(path: Any, *paths: Any) -> str:
    """Put parts of a name together.

    >>> join("logs", "train", "events")
    'logs/train/events'
    """
    return os.path.join(os.fsdecode(path), *map(os.fsdecode, paths))


def get_registered_schemes() -> list[str]:
    """The kinds of names that are known: those of this machine."""
    return ["", "file"]


def read_file(filename: Any, name: Any = None) -> Any:
    """Read a whole file as a byte string."""
    leave_draft_for_data()
    path = text(filename, "read_file()")
    with _told(path), open(_path(path), "rb") as file:
        return string_tensor(file.read())


def write_file(filename: Any, contents: Any, name: Any = None) -> None:
    """Write a byte string to a file, and make the folders that it needs."""
    leave_draft_for_data()
    path, data = text(filename, "write_file()"), byte_string(contents, "write_file()")
    with _told(path):
        os.makedirs(os.path.dirname(_path(path)) or ".", exist_ok=True)
        with open(_path(path), "wb") as file:
            file.write(data)


def matching_files(pattern: Any, name: Any = None) -> Any:
    """List the files that match patterns, as byte strings in order."""
    leave_draft_for_data()
    patterns = [os.fsdecode(one) for one in byte_strings(pattern, "matching_files()").flat]
    return string_tensor(sorted(os.fsencode(one) for one in glob(patterns)))


def _path(path: Any) -> str:
    name = text(path, "tf.io.gfile")
    scheme, there, rest = name.partition("://")
    if not there:
        return name
    if scheme == "file":
        return rest
    raise UnimplementedError(
        f"The file {name!r} is in a {scheme!r} file system; expected one of this machine. Copy it, or mount that file system."
    )


def _require_new(path: Any, overwrite: bool) -> None:
    if not overwrite and exists(path):
        raise AlreadyExistsError(
            f"The file {_path(path)!r} exists; expected a new name. Pass overwrite=True to replace it."
        )


@contextlib.contextmanager
def _told(path: Any) -> Generator[None]:
    """Raise the documented errors in place of those of the operating system."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise NotFoundError(
            f"{_path(path)!r} was asked for ({error.strerror}); expected something that exists. Correct the name."
        ) from error
    except IsADirectoryError as error:
        raise FailedPreconditionError(
            f"{_path(path)!r} is a folder; expected a file. Use tf.io.gfile.rmtree() to delete folders."
        ) from error
    except PermissionError as error:
        raise PermissionDeniedError(
            f"{_path(path)!r} may not be used ({error.strerror}); expected a file of yours. Change its permissions."
        ) from error
