"""Where in the user's code a call into this package was made: what identifies a meeting, and what messages show."""

import enum
import pathlib
import sys
import sysconfig
from types import CodeType
from typing import Any, NamedTuple


class Place(NamedTuple):
    """One call in the user's code."""

    file: str
    function: str
    line: int
    column: int  # tells two calls on one line apart

    def __str__(self) -> str:
        return f"{self.file}:{self.line}, in {self.function}"


_REFDIST = str(pathlib.Path(__file__).parents[2])
_BESIDE = f"{pathlib.Path(__file__).parents[3] / 'simulator'}/"  # the package of virtual devices
_LIBRARIES = ("jax", "numpy", "optree")
_STANDARD = sysconfig.get_path("stdlib")

Site = tuple[Place, ...]  # of each of the user's frames, the innermost first

_MOST_KNOWN = 16_384
# A site of one place, by code and instruction. The code is kept alive, so that no other code gets its id.
_KNOWN: dict[tuple[int, int], tuple[Site, CodeType]] = {}


class _Kind(enum.Enum):
    """Whom a module belongs to."""

    USERS = enum.auto()
    OURS = enum.auto()
    SIMULATOR = enum.auto()
    JAX = enum.auto()  # left out: which path a call takes through JAX depends on its caches
    AUTOGRAPH = enum.auto()  # left out: it stands between parts of the user's code, which it calls
    NATIVE = enum.auto()  # what it calls is called from C++ code, which a paused replica must not leave unfinished


_OURS, _SIMULATOR, _NATIVE = _Kind.OURS, _Kind.SIMULATOR, _Kind.NATIVE
_JAX, _AUTOGRAPH = _Kind.JAX, _Kind.AUTOGRAPH  # left out; compared one by one, because an enum hashes itself in Python
_KINDS: dict[str, _Kind] = {}  # by the name of a module
# Pausing below the C++ code of JAX's own trees does no harm; below that of its callbacks, it ends the process.
_CALLBACKS = frozenset({"jax._src.callback", "jax._src.debugging"})


def call_site(depth: int = 1, *, pausing: bool = False) -> Site:
    """Find where in the user's code, up to the replica's function, the current call into this package was made.

    All frames count: two calls in swapped order that go through the same helper differ only in an outer frame.

    Args:
        depth: how many of the innermost frames certainly belong to this package; looking at a frame takes time.
        pausing: whether the replica is about to pause there, which it must not do below foreign C++ code.
    """
    frame: Any = sys._getframe(depth)  # pyright: ignore[reportPrivateUsage]
    kind = _KINDS.get(name := frame.f_globals.get("__name__", "")) or _kind(name)
    while kind is _OURS or kind is _SIMULATOR:
        frame = frame.f_back
        if frame is None:
            return ()
        kind = _KINDS.get(name := frame.f_globals.get("__name__", "")) or _kind(name)
    site: Site = ()
    while kind is not _OURS:
        if pausing and kind is _NATIVE:
            raise RuntimeError(
                f"A replica was to wait for the others below C++ code, in a function that {name} calls"
                f"{f' at {site[-1]}' if site else ''}; expected Python code alone between the replica's function and the call, "
                f"because C++ code cannot be left halfway. Use tf.nest.map_structure or a loop, and make the call there."
            )
        if kind is not _JAX and kind is not _AUTOGRAPH and (kind is not _NATIVE or name not in _CALLBACKS):
            code = frame.f_code
            known = _KNOWN.get((id(code), frame.f_lasti))
            place = _place(code, frame.f_lasti) if known is None else known[0]
            site = (*site, *place) if site else place
        frame = frame.f_back
        if frame is None:
            break
        kind = _KINDS.get(name := frame.f_globals.get("__name__", "")) or _kind(name)
    return site


def _kind(name: str) -> _Kind:
    """Say whom a module belongs to, and remember it."""
    if name.startswith("refdist."):
        between = "._core.autograph." in name or name.endswith(".control_flow")
        found = _Kind.AUTOGRAPH if between else _Kind.OURS
    elif name.startswith("simulator."):
        found = _Kind.SIMULATOR
    elif name.startswith("optree") or name in _CALLBACKS:
        found = _Kind.NATIVE
    else:
        found = _Kind.JAX if name.startswith("jax.") else _Kind.USERS
    if len(_KINDS) >= _MOST_KNOWN:
        _KINDS.clear()
    _KINDS[name] = found
    return found


def of_user(file: str) -> bool:
    """Say whether a file belongs to the user's program, not to this package or to one that it is made with."""
    return not file.startswith((_REFDIST, _BESIDE, "<")) and not any(f"/{name}/" in file for name in _LIBRARIES)


def where(site: Site) -> str:
    """Print a site for a message: of a long one the innermost places, and those of the program outside of its libraries."""
    first = next((index for index, place in enumerate(site) if _own(place.file)), len(site))
    own = [place for place in site[first:] if _own(place.file)]  # and not what has called the program, such as pytest
    inner = site[: min(first, 3)]
    return ", called from ".join(map(str, [*inner, *own[: 6 - len(inner)]])) or "the function given to run"


def _own(file: str) -> bool:
    """Say whether a file belongs to the program itself, and not to a library."""
    return "site-packages" not in file and not file.startswith(_STANDARD)


def frames_to_program() -> int:
    """The `stacklevel` with which the caller of this warns of the line of the program that led to it."""
    frame: Any = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    level = 1
    while frame is not None:
        if of_user(frame.f_code.co_filename) and _own(frame.f_code.co_filename):
            return level
        frame, level = frame.f_back, level + 1
    return 2


def own_place() -> Site:
    """The innermost place in the program itself, not in a library such as Keras that it calls, nor in this package."""
    frame: Any = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        code = frame.f_code
        if of_user(code.co_filename) and _own(code.co_filename):
            return _place(code, frame.f_lasti)
        frame = frame.f_back
    return ()


def _place(code: CodeType, instruction: int) -> Site:
    """Say where a call is by its position in the source.

    Neither the instruction nor the code object can identify a call: Python moves the former when it specialises a call,
    and source that each replica compiles by itself becomes a different code object in each.
    """
    line, _, column, _ = list(code.co_positions())[instruction // 2]
    site = (Place(code.co_filename, code.co_name, line or 0, column or 0),)
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[id(code), instruction] = (site, code)
    return site
