import socket

import pytest

from refdist._core.processes.sockets import Connections


def pair():
    with socket.create_server(("127.0.0.1", 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
    return near, far


def test_connections_made_in_the_block_are_cut_and_no_others():
    connections, before = Connections(), pair()
    with connections.noted():
        noted = pair()
    connections.cut()

    assert b"" == noted[0].recv(1)
    before[0].sendall(b"x")
    assert b"x" == before[1].recv(1)
    for one in (*before, *noted):
        one.close()


def test_what_listens_is_left_alone():
    connections = Connections()
    with connections.noted():
        server = socket.create_server(("127.0.0.1", 0))
    connections.cut()
    with server, socket.create_connection(server.getsockname()) as there:
        there.sendall(b"x")


def test_a_number_that_belongs_to_another_connection_by_now_is_left_alone():
    connections = Connections()
    with connections.noted():
        near, far = pair()
    near.close()
    far.close()
    others = pair()
    connections.cut()
    others[0].sendall(b"x")

    assert b"x" == others[1].recv(1)
    with pytest.raises(OSError, match="Bad file descriptor"):
        near.send(b"x")
    for one in others:
        one.close()
