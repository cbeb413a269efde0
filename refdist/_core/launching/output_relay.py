"""Passing on what the workers print: whole lines, each with the name of its worker in front."""

import contextlib
import os
import re
import select
import selectors
import threading
from collections import deque
from collections.abc import Callable
from typing import IO

CHUNK_BYTES = 1 << 16
# gloo says so on standard output, for every device and every group of them; several threads do at once, and mix these pieces.
GLOO_BEGINS = b"[Gloo] Rank "
GLOO_PIECES = re.compile(
    rb"(?:\[Gloo\] Rank |is connected to|peer ranks\.|Expected number of connected peer ranks is :|\d+|\s)*"
)
COLOURS = (36, 33, 32, 35, 34, 31)


def prefix_of(worker: int, workers: int, *, coloured: bool) -> bytes:
    """Return what stands before each line of a worker.

    >>> prefix_of(3, 16, coloured=False)
    b'[worker  3] '
    """
    name = f"[worker {worker:{len(str(workers - 1))}}]"
    colour = COLOURS[worker % len(COLOURS)]
    return (f"\x1b[{colour}m{name}\x1b[0m " if coloured else f"{name} ").encode()


def wants_colour(target: int) -> bool:
    """Say whether a file descriptor is a terminal whose user has not asked for plain text."""
    return os.isatty(target) and not os.environ.get("NO_COLOR")


class OutputRelay(threading.Thread):
    """Reads the pipes of all workers and writes to the launcher's output.

    It is a thread, so that a slow reader of the output (a pager, a terminal on hold) never keeps the launcher from seeing that a
    worker has died. `notify` is called when the last pipe is closed, when a reader of the output is gone, and at the end. Who does
    not wait for the end makes it `silent`.
    """

    def __init__(self, notify: Callable[[], None]) -> None:
        super().__init__(daemon=True, name="refdist output relay")
        self.closed = threading.Event()
        self.finished = threading.Event()
        self.abandoned = False
        self.silent = False
        self._notify = notify
        self._farewell = 2, b""
        self._selector = selectors.DefaultSelector()
        self._inbox: deque[_Source | tuple[int, bytes] | None] = deque()
        self._wake_reading, self._wake_writing = os.pipe()
        os.set_blocking(self._wake_reading, False)
        # Its thread may read an order before the pipe was written to that wakes it up, and end: then nothing must be written there.
        self._waking, self._is_over = threading.RLock(), False
        self._sources: set[_Source] = set()
        self._broken: set[int] = set()
        self.closed.set()

    def add(self, pipe: IO[bytes], prefix: bytes, target: int) -> None:
        """Pass on what comes from a pipe, until it is closed."""
        self.closed.clear()
        self._post(_Source(pipe, prefix, target))

    def say(self, target: int, text: str) -> None:
        """Write a line of our own, after what was read so far."""
        self._post((target, text.encode(errors="replace") + b"\n"))

    def finish(self, target: int, farewell: str) -> None:
        """Pass on what is in the pipes now, and end, even if somebody still holds them open; a farewell is the last line."""
        self._farewell = target, farewell.encode(errors="replace") + b"\n" if farewell else b""
        self._post(None)

    def _post(self, item: "_Source | tuple[int, bytes] | None") -> None:
        with self._waking:
            self._inbox.append(item)
            if not self._is_over:
                os.write(self._wake_writing, b"\0")

    def run(self) -> None:
        """Do what the inbox says, and pass on what comes, until `finish`."""
        self._selector.register(self._wake_reading, selectors.EVENT_READ)
        while self._take_orders():
            for key, _ in self._selector.select():
                if key.data is not None:
                    self._pass_on(key.data)
        for source in tuple(self._sources):
            while self._pass_on(source):
                pass
            self._close(source)
        self._write(*self._farewell)
        self._selector.close()
        with self._waking:
            self._is_over = True
            os.close(self._wake_reading)
            os.close(self._wake_writing)
        self.finished.set()
        self._notify()

    def _take_orders(self) -> bool:
        """Empty the inbox; False at the end."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_reading, CHUNK_BYTES)
        while self._inbox:
            match self._inbox.popleft():
                case None:
                    return False
                case _Source() as source:
                    self._sources.add(source)
                    self._selector.register(source.pipe, selectors.EVENT_READ, source)
                case (target, line):
                    self._write(target, line)
        return True

    def _pass_on(self, source: "_Source") -> bool:
        """Pass on what can be read at once; False if there is nothing more for now, or for ever."""
        try:
            data = os.read(source.pipe.fileno(), CHUNK_BYTES)
        except BlockingIOError:
            return False
        if data:
            self._write(source.target, source.lines(data))
            return True
        self._close(source)
        return False

    def _close(self, source: "_Source") -> None:
        if source not in self._sources:
            return
        self._write(source.target, source.last_line())
        self._sources.remove(source)
        self._selector.unregister(source.pipe)
        source.pipe.close()
        if not self._sources:
            self.closed.set()
            self._notify()

    def _write(self, target: int, data: bytes) -> None:
        """Write everything; if nobody reads it any more, say so once and drop the rest."""
        if self.silent or target in self._broken:
            return
        try:
            write_whole(target, data)
        except OSError:
            self._broken.add(target)
            self.abandoned = True
            self._notify()


class _Source:
    """A pipe, and the beginning of a line of which the end has not come yet."""

    def __init__(self, pipe: IO[bytes], prefix: bytes, target: int) -> None:
        os.set_blocking(pipe.fileno(), False)
        self.pipe = pipe
        self.prefix = prefix
        self.target = target
        self._started = bytearray()
        self._gloo_lines = 0  # which gloo has begun and not ended

    def lines(self, data: bytes) -> bytes:
        """Return the lines that are whole now, as they are written."""
        whole, newline, rest = data.rpartition(b"\n")
        if not newline:
            self._started += data
            return b""
        block = bytes(self._started) + whole
        self._started = bytearray(rest)
        return b"".join(self._named(line) for line in block.split(b"\n") if not self._is_of_gloo(line))

    def last_line(self) -> bytes:
        """Return the line that nobody will end any more, if there is one."""
        rest, self._started = bytes(self._started), bytearray()
        return self._named(rest) if rest and not self._is_of_gloo(rest) else b""

    def _is_of_gloo(self, line: bytes) -> bool:
        """Say whether a line is gloo's alone: it begins one, or it is a mixture of its pieces.

        Where lines are mixed, a number or nothing may be left on a line of its own. Each line that gloo begins it also ends, so
        that such a rest is known as long as an end is missing.
        """
        begun = line.count(GLOO_BEGINS)
        mixed = GLOO_PIECES.fullmatch(line) and (self._gloo_lines > 0 or b"peer ranks" in line)
        if not (line.startswith(GLOO_BEGINS) or mixed):
            return False
        self._gloo_lines = max(0, self._gloo_lines + begun - 1)
        return True

    def _named(self, line: bytes) -> bytes:
        return self.prefix + line.decode("utf-8", "replace").encode() + b"\n"


def write_whole(target: int, data: bytes) -> None:
    """Write all bytes to a file descriptor, also to one that does not block because somebody else has set it so.

    Not by `sys.stdout`: its buffer has a lock, which a thread that waits for a slow terminal would hold at exit.
    """
    rest = memoryview(data)
    while rest:
        with contextlib.suppress(BlockingIOError):
            rest = rest[os.write(target, rest) :]
            continue
        waiting = select.poll()
        waiting.register(target, select.POLLOUT)
        waiting.poll()
