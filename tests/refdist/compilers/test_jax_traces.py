import collections

import jax
import pytest

from refdist._core.compilers import jax_traces

Pair = collections.namedtuple("Pair", "left right")


def test_a_trace_is_open_inside_of_transformations_and_a_program_is_made_in_some():
    seen = {}

    def look(name):
        def body(x):
            seen[name] = (jax_traces.tracing(), jax_traces.staging(), jax_traces.writing_a_program())
            return x

        return body

    jax.jit(look("jit"))(1.0)
    jax.grad(look("grad"))(1.0)
    jax.vmap(look("vmap"))(jax.numpy.ones(2))

    assert {"jit": (True, True, True), "grad": (True, False, False), "vmap": (True, False, False)} == seen
    assert (False, False) == (jax_traces.tracing(), jax_traces.staging())


def test_no_cache_has_seen_an_unseen_trace():
    calls = []
    inner = jax.jit(lambda x: calls.append(x) or x)
    for _ in range(2):
        with jax_traces.unseen_trace():
            jax.make_jaxpr(inner)(1.0)

    assert 2 == len(calls)


def test_a_known_index_beyond_the_end_is_an_error():
    with jax_traces.checked_indices(), pytest.raises(IndexError):
        jax.numpy.ones(2)[5]


def test_the_parts_of_a_container_have_names():
    @jax.tree_util.register_pytree_node_class
    class Unnamed:
        def tree_flatten(self):
            return (1, 2), None

        @classmethod
        def tree_unflatten(cls, beside, parts):
            return cls()

    assert ["left", "right"] == jax_traces.part_names(Pair(1, [2, 3]))
    assert ["a", "b"] == jax_traces.part_names({"b": None, "a": 1})
    assert 2 == len(set(jax_traces.part_names(Unnamed())))
    assert Unnamed in jax_traces.pytree_registry()


def test_a_random_key_is_made_again_from_its_numbers():
    key = jax.random.key(3)

    assert key == jax_traces.key_of(*jax_traces.key_data(key))


def test_a_tensor_is_made_from_those_that_lead_to_it():
    found = []

    def body(x, y):
        z = jax.numpy.sin(x + 1) * 2
        found.extend([jax_traces.made_from(z, x), jax_traces.made_from(z, y), jax_traces.made_from(3, y)])
        return z + y

    jax.make_jaxpr(body)(1.0, 2.0)

    assert [True, False, False] == found


def test_a_tensor_of_a_loop_is_made_from_those_around_it():
    found = []

    def body(x, y):
        def turn(_, z):
            found.extend([jax_traces.made_from(x * z, x), jax_traces.made_from(y * z, x)])
            return z

        return jax.lax.fori_loop(0, 3, turn, y)

    jax.make_jaxpr(body)(1.0, 2.0)

    assert [True, False] == found
