"""Where in the user's code a call into this package was made: what a meeting is told by, and what messages name."""

import sys
from types import CodeType
from typing import Any, NamedTuple


class Place(NamedTuple):
    """One call in the user's code."""

    file: str
    function: str
    line: int
    column: int  # tells two calls in a line apart

    def __str__(self) -> str:
        return f"{self.file}:{self.line}, in {self.function}"


Site = tuple[Place, ...]  # of each of the user's frames, the innermost first

_INSIDE = ("refdist.", "simulator.")
_MOST_KNOWN = 16_384
# By code and instruction. The code is kept, so that its id is not given to another one.
_KNOWN: dict[tuple[int, int], tuple[Place, CodeType]] = {}

# Functions that these call are called from C++ code, which a paused replica must not leave unfinished: it ends the process.
# The C++ code of JAX's own trees does no harm.
_NATIVE = frozenset({"jax._src.callback", "jax._src.debugging"})


def call_site(depth: int = 1, *, pausing: bool = False) -> Site:
    """Where in the user's code, up to the replica's function, the present call into this package was made.

    All frames count: two calls in swapped order differ in an outer one when they go through the same helper.

    Args:
        depth: how many of the innermost frames are this package's for certain; looking at a frame costs something.
        pausing: whether the replica is about to pause there, which it must not do below foreign C++ code.
    """
    frame: Any = sys._getframe(depth)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        frame = frame.f_back
    site: list[Place] = []
    while frame is not None and (name := frame.f_globals.get("__name__", ""))[:8] != "refdist.":
        if pausing and (name[:6] == "optree" or name in _NATIVE):
            raise RuntimeError(
                f"A replica was to wait for the others below C++ code, in a function that {name} calls"
                f"{f' at {site[-1]}' if site else ''}; expected Python code alone between the replica's function and the call, "
                f"because C++ code cannot be left halfway. Use tf.nest.map_structure or a loop, and make the call there."
            )
        if name[:4] != "jax.":  # which path a call takes through JAX depends on its caches
            code = frame.f_code
            known = _KNOWN.get((id(code), frame.f_lasti))
            site.append(_place(code, frame.f_lasti) if known is None else known[0])
        frame = frame.f_back
    return tuple(site)


def where(site: Site) -> str:
    """Print a site for a message."""
    return ", called from ".join(map(str, site[:6])) or "the function given to run"


def _place(code: CodeType, instruction: int) -> Place:
    """Say where a call is by its position in the text.

    Neither the instruction nor the code is what tells calls apart: Python moves the one when it specialises a call, and
    text that each replica compiles by itself is another code in each.
    """
    line, _, column, _ = list(code.co_positions())[instruction // 2]
    place = Place(code.co_filename, code.co_name, line or 0, column or 0)
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[id(code), instruction] = (place, code)
    return place
