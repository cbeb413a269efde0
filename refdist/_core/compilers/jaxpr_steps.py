"""The steps of a JAX program: what they are, whether replicas meet in them, and how one is taken."""

from collections.abc import Sequence
from typing import Any

from jax.extend.core import Literal, jaxprs_in_params

CALLS = frozenset({"jit", "pjit", "closed_call"})
MEETINGS = frozenset({"psum", "psum_invariant", "pmax", "pmin", "all_gather", "all_gather_invariant", "ppermute"})


def meets(eqn: Any) -> bool:
    """Say whether replicas meet in a step, or in the programs inside it."""
    if eqn.primitive.name in MEETINGS:
        return True
    return any(meets(inner) for jaxpr in jaxprs_in_params(eqn.params) for inner in plain(jaxpr).eqns)


def asks_who(eqn: Any) -> bool:
    """Say whether a step, or one of the programs inside it, asks which replica it is on."""
    if eqn.primitive.name == "axis_index":
        return True
    return any(asks_who(inner) for jaxpr in jaxprs_in_params(eqn.params) for inner in plain(jaxpr).eqns)


def parts_of_scan(eqn: Any) -> tuple[int, int]:
    """How many of a scan's inputs are the same in each turn, and how many of those after them are handed from turn to turn."""
    if "num_consts" in eqn.params:  # before JAX 0.12
        return eqn.params["num_consts"], eqn.params["num_carry"]
    same, carried, _ = eqn.params["ft_in"].unpack()
    return len(same), len(carried)


def plain(jaxpr: Any) -> Any:
    """The steps of a program, whether or not it comes with its constants."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def read(env: dict[Any, Any], atom: Any) -> Any:
    """The value of an input of a step, which may be a number in the program itself."""
    return atom.val if isinstance(atom, Literal) else env[atom]


def bound(eqn: Any, values: Sequence[Any]) -> Sequence[Any]:
    """Take a step with other values."""
    with eqn.ctx.manager:
        outs = eqn.primitive.bind(*values, **eqn.primitive.get_bind_params(eqn.params))
    return outs if eqn.primitive.multiple_results else [outs]
