"""What may differ between replicas, followed through branches and loops; and meetings where replicas may part."""

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from refdist._core.base.errors import MeetingError
from refdist._core.compilers.meshes import AXIS
from refdist._core.compilers.varying import varying_outputs


def varying(program, *differs):
    jaxpr = jax.make_jaxpr(program, axis_env=[(AXIS, 2)])(*[1.0] * len(differs))
    return varying_outputs(jaxpr.jaxpr, differs)[0]


def summed(x):
    return lax.psum(x, AXIS)


def carried(own, same):
    return lax.fori_loop(0, 3, lambda i, s: (s[0] + s[2], s[1] * 2, s[1] + s[2], s[2]), (own, same, same, same))[:3]


PROGRAMS = {
    "each its own": (lambda own, same: (own + 1, same + 1, own * same), [True, False, True]),
    "a sum": (lambda own, same: (summed(own), summed(same)), [False, False]),
    "who": (lambda own, same: (lax.axis_index(AXIS), same), [True, False]),
    "a call": (lambda own, same: jax.jit(lambda a, b: (b, summed(a), a))(own, same), [False, False, True]),
    "a loop": (lambda own, same: carried(own, same), [True, False, False]),
    "an own condition": (lambda own, same: (lax.cond(own > 0, lambda: same, lambda: -same),), [True]),
    "a shared condition": (lambda own, same: (lax.cond(same > 0, lambda: same, lambda: own),), [True]),
    "sums in a shared branch": (lambda own, same: (lax.cond(same > 0, summed, summed, own),), [False]),
    "as often as all": (lambda own, same: (lax.while_loop(lambda x: x < 9, lambda x: x + 1, same),), [False]),
    "as often as each": (lambda own, same: (lax.while_loop(lambda x: x < own, lambda x: x + 1, same),), [True]),
    "sums in a loop": (lambda own, same: (lax.while_loop(lambda x: x < 9, lambda x: x + summed(own), same),), [False]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_may_differ(name):
    program, expected = PROGRAMS[name]

    assert expected == varying(program, True, False)


PARTING = {
    "branch": lambda own, same: lax.cond(own > 0, summed, lambda x: x, same),
    "loop": lambda own, same: lax.while_loop(lambda x: x < own, lambda x: x + summed(same), same),
    "branch in a loop": lambda own, same: lax.fori_loop(
        0, 3, lambda i, x: lax.cond(x > 0, lambda: x + summed(jnp.float32(1)), lambda: x), own
    ),
}


@pytest.mark.parametrize("name", PARTING)
def test_replicas_cannot_meet_where_they_may_part(name):
    with pytest.raises(MeetingError, match=f"in a {name.partition(' ')[0]} at .*{__name__.rpartition('.')[2]}"):
        varying(lambda own, same: [PARTING[name](own, same)], True, False)
