"""Where workers come together before JAX does: worker 0 sees who comes, and tells all of them what is wrong.

JAX by itself ends a process, without an error of Python, if a worker is missing, comes twice or means another cluster.
"""

import contextlib
import errno
import json
import socket
import time
from collections.abc import Sequence
from typing import Any

from refdist._core.base.errors import WorkerLost
from refdist._core.processes.cluster_member import ClusterMember

_PAUSE = 0.1  # seconds between two attempts
_LONGEST = 1 << 20  # bytes of what is said


def meet(member: ClusterMember, limit: float) -> None:
    """Wait until all workers have come; raise if one does not, or if they disagree."""
    answer = _received(member, limit) if member.index == 0 else _asked(member, limit)
    if answer:
        raise WorkerLost(answer)


def _received(member: ClusterMember, limit: float) -> str:
    """Wait for the others, as worker 0; return what is wrong."""
    end, guests = time.monotonic() + limit, dict[int, socket.socket]()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(_listening(member))
        server.settimeout(_PAUSE)
        trouble = ""
        while not trouble and len(guests) < member.count - 1:
            if time.monotonic() > end:
                absent = [index for index in range(1, member.count) if index not in guests]
                trouble = missing(member, absent, limit)
                break
            with contextlib.suppress(TimeoutError):
                guest = stack.enter_context(server.accept()[0])
                for index in [index for index, earlier in guests.items() if _has_left(earlier)]:
                    del guests[index]  # ended while it waited, and may be started again
                trouble = _admitted(member, guest, guests)
        for guest in guests.values():
            guest.settimeout(1)
            with contextlib.suppress(OSError):
                guest.sendall(json.dumps([trouble]).encode() + b"\n")
    return trouble


def _admitted(member: ClusterMember, guest: socket.socket, guests: dict[int, socket.socket]) -> str:
    """Let a worker in; return what is wrong."""
    said = _line(guest, 1.0)
    if not isinstance(said, list) or len(said) != 3:
        return ""  # somebody else, such as one who looks which ports are open
    index, count, addresses = said
    if [count, addresses] != [member.count, list(member.addresses)]:
        trouble = (
            f"The workers disagree about their cluster: worker 0 says {_cluster(member.count, member.addresses)}, worker {index} "
            f"says {_cluster(count, addresses)}; expected the same in all of them. Correct {member.told_by}."
        )
    elif index == 0 or index in guests:
        trouble = (
            f"Two processes say that they are {member.name(index)}; expected another number for each. Correct {member.told_by} "
            f"of one of them."
        )
    else:
        guests[index] = guest
        return ""
    with contextlib.suppress(OSError):
        guest.sendall(json.dumps([trouble]).encode() + b"\n")
    return trouble


def _asked(member: ClusterMember, limit: float) -> str:
    """Go to worker 0 and wait for its answer; return what is wrong."""
    end = time.monotonic() + limit
    while True:
        try:
            with socket.create_connection(split(member.coordinator), timeout=_PAUSE * 10) as host:
                host.sendall(json.dumps([member.index, member.count, member.addresses]).encode() + b"\n")
                answer = _line(host, max(0.0, end - time.monotonic()) + 1)  # worker 0 may have started a little later
        except OSError:
            answer = None
        if isinstance(answer, list) and len(answer) == 1:
            return str(answer[0])
        if time.monotonic() > end:
            return (
                f"{member.name(member.index)} has waited {limit:.0f} s for worker 0, and nobody answers at {member.coordinator}; "
                f"expected it to be there at about the same time. Start it, or correct the address in {member.told_by}; "
                f"REFDIST_INITIALIZATION_TIMEOUT sets the limit."
            )
        time.sleep(_PAUSE)


def missing(member: ClusterMember, absent: Sequence[int], limit: float) -> str:
    """Say who has not come."""
    who = ", ".join(member.name(index) for index in absent[:4]) + (", ..." if len(absent) > 4 else "")
    return (
        f"{who} did not come within {limit:.0f} s; expected all {member.count} workers to start at about the same time. Start "
        f"the one that is missing, or correct {member.told_by}; REFDIST_INITIALIZATION_TIMEOUT sets the limit."
    )


def _listening(member: ClusterMember) -> socket.socket:
    try:
        host, port = split(member.coordinator)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        why = (
            "where another process listens; expected that nobody does. If that is another worker 0, give one of them another "
            "number; otherwise choose another port."
            if error.errno == errno.EADDRINUSE
            else f"which is not possible ({error.strerror}); expected an address of this machine. Correct it in {member.told_by}."
        )
        raise RuntimeError(f"{member.name(member.index)} was to listen at {member.coordinator}, {why}") from None


def _has_left(guest: socket.socket) -> bool:
    """Say whether the other side has closed the connection: nobody says anything here but at the beginning."""
    guest.settimeout(0)
    try:
        return not guest.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        return True


def _line(connection: socket.socket, seconds: float) -> Any:
    """What the other side says, in one line; None if it says nothing in time, or something that is not JSON."""
    end, data = time.monotonic() + seconds, b""
    while not data.endswith(b"\n") and len(data) < _LONGEST:
        connection.settimeout(max(0.01, end - time.monotonic()))
        try:
            more = connection.recv(1 << 16)
        except OSError:
            return None
        if not more:
            return None
        data += more
    with contextlib.suppress(ValueError):
        return json.loads(data)
    return None


def split(address: str) -> tuple[str, int]:
    """The host and the port of an address."""
    host, _, port = address.removeprefix("grpc://").rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ValueError(
            f"The address of a worker is {address!r}; expected a form such as 'host:2222', with a port from 1 to 65535. Correct "
            f"it in the cluster."
        )
    return host.strip("[]"), int(port)


def _cluster(count: int, addresses: Sequence[str]) -> str:
    return f"{count} workers{' at ' + ', '.join(addresses) if addresses else ''}"
