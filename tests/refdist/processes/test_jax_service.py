import jax
import pytest

from refdist._core.processes.jax_service import Connection


class Client:
    """What JAX's client does, in this process."""

    def __init__(self):
        self.kept = {}

    def key_value_set_bytes(self, name, value, *, allow_overwrite):
        if name in self.kept and not allow_overwrite:
            raise jax.errors.JaxRuntimeError("ALREADY_EXISTS: config key")
        self.kept[name] = value

    def blocking_key_value_get_bytes(self, name, milliseconds):
        assert milliseconds > 0
        if name not in self.kept:
            raise jax.errors.JaxRuntimeError("DEADLINE_EXCEEDED: GetKeyValue() timed out")
        return self.kept[name]

    def key_value_try_get_bytes(self, name):
        if name not in self.kept:
            raise jax.errors.JaxRuntimeError("NOT_FOUND: config key")
        return self.kept[name]

    def key_value_dir_get_bytes(self, name):
        return [(key, value) for key, value in self.kept.items() if key.startswith(name)]

    def key_value_delete(self, name):
        del self.kept[name]


class Unreachable:
    def __getattr__(self, _):
        def call(*_, **__):
            raise jax.errors.JaxRuntimeError("UNAVAILABLE: failed to connect to all addresses")

        return call


def test_the_first_value_stays_unless_it_is_to_be_replaced():
    connection = Connection(Client())

    assert [True, False, True] == [connection.put("a", b"1"), connection.put("a", b"2"), connection.put("b", b"3")]
    assert b"1" == connection.look("a")
    assert connection.put("a", b"4", again=True)
    assert b"4" == connection.wait_for("a", 0.0)


def test_what_is_not_there_is_none():
    connection = Connection(Client())

    assert (None, None, {}) == (connection.look("a"), connection.wait_for("a", 0.0), connection.look_below("a/"))


def test_names_are_found_below_others_and_forgotten():
    connection = Connection(Client())
    for name in ("a/1", "a/2", "b/1"):
        connection.put(name, name.encode())
    connection.forget("a/2")

    assert {"1": b"a/1"} == connection.look_below("a/")


@pytest.mark.parametrize(
    "ask",
    [
        lambda connection: connection.put("a", b""),
        lambda connection: connection.look("a"),
        lambda connection: connection.wait_for("a", 0.1),
        lambda connection: connection.look_below("a"),
    ],
)
def test_a_service_that_is_gone_is_an_error(ask):
    with pytest.raises(jax.errors.JaxRuntimeError, match="UNAVAILABLE"):
        ask(Connection(Unreachable()))
