import socket
import threading

import pytest

from refdist._core.base.errors import WorkerLost
from refdist._core.launching.free_ports import LOOPBACK
from refdist._core.processes.cluster_member import ClusterMember
from refdist._core.processes.lobby import meet, split

LONG, SHORT = 30.0, 0.3  # limits that are not reached, and that are


@pytest.fixture
def address():
    with socket.socket() as free:
        free.bind((LOOPBACK, 0))
        return f"{LOOPBACK}:{free.getsockname()[1]}"


def all_meet(members, limits):
    """Let all come at the same time, and return what each raised."""
    raised = [None] * len(members)

    def come(place):
        try:
            meet(members[place], limits[place])
        except Exception as error:
            raised[place] = error

    threads = [threading.Thread(target=come, args=(place,)) for place in range(len(members))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return raised


@pytest.mark.parametrize("count", [1, 2, 7])
def test_all_go_on_when_all_have_come(address, count):
    members = [ClusterMember(address, index, count) for index in range(count)]

    assert [None] * count == all_meet(members, [LONG] * count)


def test_who_is_missing_is_told_to_those_who_came(address):
    addresses = (address, "10.0.0.1:2", "10.0.0.2:2")
    raised = all_meet([ClusterMember(address, index, 3, addresses) for index in (0, 2)], [SHORT, LONG])

    assert ["Worker 1 of 3 (10.0.0.1:2) did not come within 0 s"] * 2 == [str(one).partition(";")[0] for one in raised]
    assert all(isinstance(one, WorkerLost) for one in raised)


def test_two_workers_of_one_number_are_told_to_all(address):
    raised = all_meet([ClusterMember(address, index, 4) for index in (0, 1, 1)], [LONG] * 3)

    assert all(
        "Two processes say that they are Worker 1 of 4; expected another number for each" in str(one) for one in raised
    )


def test_workers_that_mean_different_clusters_are_told_to_all(address):
    members = [ClusterMember(address, 0, 2, (address, "a:1")), ClusterMember(address, 1, 2, (address, "b:1"))]

    for error in all_meet(members, [LONG] * 2):
        assert "The workers disagree about their cluster: worker 0 says 2 workers at" in str(error)
        assert "a:1" in str(error)
        assert "b:1" in str(error)


def test_a_number_beyond_the_count_of_worker_0_is_told_to_all(address):
    for error in all_meet([ClusterMember(address, 0, 2), ClusterMember(address, 2, 3)], [LONG] * 2):
        assert "worker 0 says 2 workers, worker 2 says 3 workers" in str(error)


def test_without_worker_0_the_address_is_told(address):
    with pytest.raises(
        WorkerLost, match=f"Worker 1 of 2 has waited 0 s for worker 0, and nobody answers at {address}; "
    ):
        meet(ClusterMember(address, 1, 2), SHORT)


def test_an_address_in_use_is_told_at_once(address):
    with (
        socket.create_server(split(address)),
        pytest.raises(RuntimeError, match="where another process listens; expected that"),
    ):
        meet(ClusterMember(address, 0, 2), LONG)


def test_an_address_of_another_machine_is_told_at_once():
    with pytest.raises(RuntimeError, match=r"Worker 0 of 2 was to listen at 192\.0\.2\.1:9, which is not possible"):
        meet(ClusterMember("192.0.2.1:9", 0, 2), LONG)


def test_strangers_are_ignored(address):
    def disturb():
        for words in (b"", b"GET / HTTP/1.1\r\n\r\n", b"[1]\n", b"{}\n"):
            while True:
                try:
                    with socket.create_connection(split(address), timeout=1) as stranger:
                        stranger.sendall(words)
                        break
                except OSError:
                    pass
        all_meet([ClusterMember(address, 1, 2)], [LONG])

    thread = threading.Thread(target=disturb)
    thread.start()
    meet(ClusterMember(address, 0, 2), LONG)
    thread.join(60)


def test_a_worker_that_was_ended_while_it_waited_may_come_again(address):
    members = [ClusterMember(address, index, 3) for index in range(3)]
    raised = []

    def receive():
        raised.append(all_meet(members[:1], [LONG]))

    thread = threading.Thread(target=receive)
    thread.start()
    while True:
        try:
            with socket.create_connection(split(address), timeout=1) as ended:
                ended.sendall(b"[1, 3, []]\n")
                break
        except OSError:
            pass
    assert [None, None] == all_meet(members[1:], [LONG] * 2)
    thread.join(60)
    assert [[None]] == raised


def test_workers_meet_at_an_address_of_ipv6():
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6) as free:
            address = f"[::1]:{free.getsockname()[1]}"
    except OSError:
        pytest.skip("this machine has no IPv6")

    assert [None, None] == all_meet([ClusterMember(address, index, 2) for index in range(2)], [LONG] * 2)


@pytest.mark.parametrize("text", ["", "host", "host:", ":1", "host:x", "host:0", "host:65536"])
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError, match=r"expected a form such as 'host:2222'"):
        split(text)


def test_addresses_are_split():
    assert [("h", 1), ("::1", 2), ("h", 3)] == [split(one) for one in ("h:1", "[::1]:2", "grpc://h:3")]
