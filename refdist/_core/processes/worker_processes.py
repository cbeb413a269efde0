"""The workers of a cluster, each in a process of its own: how they exchange values, and agree on what they do.

Small things go through the coordination service, with the check that all workers are at the same call; large ones by a
collective of JAX, after that check.
"""

import contextlib
import json
import math
import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from refdist._core.base.call_sites import Site, call_site
from refdist._core.base.where import HERE
from refdist._core.base.writes_of_one_worker import OwnWrites, listed
from refdist._core.processes.board import lines_of, table
from refdist._core.processes.common_ledger import ASSIGNMENT
from refdist._core.processes.failure import Failure, not_met, other_programs, too_late
from refdist._core.processes.jax_service import Connection
from refdist._core.processes.watch import Watch
from refdist._core.processes.wire import packed, unpacked

_SMALL = 1 << 16  # bytes that go through the coordination service
_SLICE = 0.3  # seconds between two looks at whether something is wrong, and at Ctrl-C
_LENGTH = struct.Struct("<I")
_FOUND_OUT = 15.0  # seconds in which it is known why a collective has failed


class _Message(NamedTuple):
    """What one worker brings to an exchange."""

    what: str
    lines: tuple[str, ...]
    size: int  # of the data
    data: bytes  # empty where it comes by a collective

    def __str__(self) -> str:
        return f"waiting in {self.what} at {', called from '.join(self.lines) or 'the program'}"

    def place(self) -> tuple[str, list[str]]:
        """What must be the same on all workers: folders may differ between machines."""
        return self.what, [os.path.basename(line) for line in self.lines]

    def encoded(self) -> bytes:
        header = json.dumps([self.what, self.lines, self.size]).encode()
        return _LENGTH.pack(len(header)) + header + self.data

    @staticmethod
    def of(data: bytes) -> "_Message":
        start = _LENGTH.size + _LENGTH.unpack_from(data)[0]
        what, lines, size = json.loads(data[_LENGTH.size : start])
        return _Message(what, tuple(lines), size, data[start:])


class Processes:
    """All workers of a cluster, seen from one of them."""

    def __init__(self, connection: Connection, index: int, names: Sequence[str], watch: Watch) -> None:
        self.index, self.count, self.names = index, len(names), names
        self._connection, self.watch, self.own_writes = connection, watch, OwnWrites()
        self._turn = threading.RLock()
        self._old: list[str] = []  # the names under which others have found what they wanted
        self._gather: Callable[..., Any] | None = None

    def exchange(self, kind: str, payloads: Sequence[Any], timeout_seconds: float | None = None) -> list[Any]:
        """Send the payloads of this worker's replicas to all workers, and return those of all replicas, in order."""
        outline, data = packed(payloads, jax.Array)
        site = HERE.get().called_from or call_site()
        answers = self._exchanged(f"{kind}{f' of {outline}' if outline != 'None' else ''}", site, data, timeout_seconds)
        rows = [payloads if i == self.index else unpacked(a, payloads[0], jnp.asarray) for i, a in enumerate(answers)]
        return [payload for row in rows for payload in row]

    def agree(self, what: str, text: str, otherwise: Callable[[], str]) -> bool:
        """Say whether all workers say the same; raise if they do not say the same otherwise, either, or nothing."""
        site = call_site()
        said = self._said(what, site, text)
        if len(set(said)) == 1:
            return True
        loosely = self._said(f"{what} with numbers of its own", site, otherwise())
        if len(set(loosely)) == 1 and loosely[0]:
            return False
        raise self._failed(other_programs(table(dict(enumerate(said))), ", called from ".join(lines_of(site))))

    def _said(self, what: str, site: Site, text: str) -> list[str]:
        return [answer.decode() for answer in self._exchanged(what, site, text.encode())]

    def run(self, program: Callable[..., Any], what: str, values: Sequence[Any]) -> Any:
        """Run a program that is spread over all workers."""
        watch = self.watch
        with self._turn:  # one at a time, although threads come: others must see the same order
            if watch.failure is not None:  # a call less than asking the watch, in every step
                watch.require_no_failure()
            if self.own_writes:
                self._note_own_writes()
            watch.begin(what)
            try:
                return program(*values)
            except Exception as error:
                raise watch.explain(error, _FOUND_OUT) from error
            finally:
                watch.waiting = None

    def _note_own_writes(self) -> None:
        """Have the ledgers tell where other workers have not written the same."""
        if written := self.own_writes.taken():
            identity = ", ".join(one.identity() for one in written)
            self.watch.note(f"{ASSIGNMENT}: {listed(written)}", identity)

    def first_run(self) -> AbstractContextManager[Any]:
        """Surround the first run of a program, in which JAX connects the processes."""
        return self.watch.connections.noted()

    def _exchanged(self, what: str, site: Site, data: bytes, limit: float | None = None) -> list[bytes]:
        """What all workers bring to an exchange, after the check that they are at the same one."""
        with self._turn:
            self.watch.require_no_failure()
            self._note_own_writes()
            small = len(data) <= _SMALL
            own = _Message(what, lines_of(site), len(data), data if small else b"")
            number = self.watch.begin(what, site)
            try:
                self._connection.put(name := f"refdist/exchange/{number}/{self.index}", own.encoded())
                end = time.monotonic() + limit if limit else math.inf
                messages = [own if i == self.index else self._received(number, i, end) for i in range(self.count)]
                self._require_same(messages)
                self._forget_all_but(name)
                if all(message.size == len(message.data) for message in messages):
                    return [message.data for message in messages]
                return self._gathered(data, [message.size for message in messages])
            except jax.errors.JaxRuntimeError as error:
                raise self.watch.explain(error, _FOUND_OUT) from error
            finally:
                self.watch.end()

    def _received(self, number: int, index: int, end: float) -> _Message:
        while True:
            data = self._connection.wait_for(f"refdist/exchange/{number}/{index}", _SLICE)
            if data is not None:
                return _Message.of(data)
            self.watch.require_no_failure()
            if time.monotonic() > end:
                raise self._failed(too_late(self.names[index], self.watch.rows()))

    def _require_same(self, messages: Sequence[_Message]) -> None:
        if any(message.place() != messages[0].place() for message in messages):
            rows = {index: str(message) for index, message in enumerate(messages)}
            raise self._failed(not_met(self.count, table(rows)))

    def _failed(self, failure: Failure) -> Exception:
        self.watch.fail(failure)
        return failure.error()

    def _forget_all_but(self, name: str) -> None:
        """Remove what nobody needs: all have come here, so they have found what this worker has sent before."""
        for old in self._old:
            self._connection.forget(old)
        self._old = [name]

    def _gathered(self, data: bytes, sizes: Sequence[int]) -> list[bytes]:
        """What all workers bring, by a collective; padded, so that few programs have to be compiled."""
        length = 1 << (max(sizes) - 1).bit_length()
        own = np.zeros(length, np.uint8)
        own[: len(data)] = np.frombuffer(data, np.uint8)
        everything = np.asarray(self._gather_program()(own))
        return [everything[index, :size].tobytes() for index, size in enumerate(sizes)]

    def _gather_program(self) -> Callable[[Any], Any]:
        if self._gather is None:
            firsts: dict[int, Any] = {}
            for device in jax.devices():
                firsts.setdefault(device.process_index, device)
            mesh = Mesh(np.array([firsts[index] for index in range(self.count)], object), ("worker",))
            spread, here = NamedSharding(mesh, PartitionSpec("worker")), firsts[self.index]

            @jax.jit
            @jax.shard_map(mesh=mesh, in_specs=PartitionSpec("worker"), out_specs=PartitionSpec(), check_vma=False)
            def gather(part: Any) -> Any:
                return jax.lax.all_gather(part, "worker", tiled=True)

            def gathered(own: Any) -> Any:
                part = jax.device_put(own[None], here)
                whole = jax.make_array_from_single_device_arrays((self.count, *own.shape), spread, [part])
                with self.watch.connections.noted():
                    return gather(whole).addressable_data(0)

            self._gather = gathered
        return self._gather

    def say_goodbye(self, hosts: bool) -> None:
        """End this worker's part: others that wait for it learn that it will not come."""
        if self.watch.is_fork:
            return
        self.watch.close()
        with contextlib.suppress(Exception):  # such as where it is closed
            sys.stdout.flush()
        while hosts and not self.watch.others_have_ended():  # they could not go on without the service in this process
            threading.Event().wait(_SLICE)
