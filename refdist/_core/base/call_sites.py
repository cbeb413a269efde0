"""Where in the user's code a call into this package was made: what identifies a meeting, and what messages show."""

import enum
import os
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
        return f"{line_text(self.file, self.line)}, in {self.function}"


_REFDIST = os.path.abspath(f"{__file__}/../../..")
_BESIDE = f"{os.path.dirname(_REFDIST)}/simulator/"  # the package of virtual devices
_LIBRARIES = ("jax", "numpy", "optree")
_STANDARD = sysconfig.get_path("stdlib")
_CELL = "<ipython-input-"  # what the files of cells are called where IPython has no kernel

Site = tuple[Place, ...]  # of each of the user's frames, the innermost first

_MOST_KNOWN = 16_384


class _Kind(enum.Enum):
    """Whom the code of a frame belongs to."""

    USERS = enum.auto()
    OURS = enum.auto()
    SIMULATOR = enum.auto()
    BETWEEN = enum.auto()  # left out: JAX, whose paths depend on its caches, and what calls functions of the user's
    NATIVE = enum.auto()  # what it calls is called from C++ code, which a paused replica must not leave unfinished


# These call functions that they were given: whoever meets in one of them meets where they were called, too.
_CALLS_BACK = (
    "autograph.",
    "base.nest",
    "keras.keras_errors",
    "ops.",
    "staging.function",
    "staging.steady_calls",
    "tape.",
)
_CALLING_BACK = tuple(__name__.replace("base.call_sites", module) for module in _CALLS_BACK)
_USERS, _OURS, _SIMULATOR, _BETWEEN, _NATIVE = _Kind
# Of a call, by code and instruction: whose it is, and its place in a site. The code is kept alive, so that no other gets its id.
_KNOWN: dict[tuple[int, int], tuple[_Kind, Site, CodeType]] = {}
# The last site of one frame, with its code, its instruction, and the code of ours that has called it: thousands of replicas come
# to the same one, one after the other.
_last: tuple[CodeType | None, int, CodeType | None, Site] = None, -1, None, ()
# Pausing below the C++ code of JAX's own trees does no harm; below that of its callbacks, it ends the process.
_CALLBACKS = frozenset({"jax._src.callback", "jax._src.debugging"})


def call_site(depth: int = 1, *, pausing: bool = False) -> Site:
    """Find where in the user's code, up to the replica's function, the current call into this package was made.

    All frames count: two calls in swapped order that go through the same helper differ only in an outer frame.

    Args:
        depth: how many of the innermost frames certainly belong to this package; looking at a frame takes time.
        pausing: whether the replica is about to pause there, which it must not do below foreign C++ code.
    """
    global _last
    frame: Any = sys._getframe(depth)  # pyright: ignore[reportPrivateUsage]
    code, instruction, outer, last = frame.f_code, frame.f_lasti, frame.f_back, _last
    if code is last[0] and instruction == last[1] and outer is not None and outer.f_code is last[2]:
        return last[3]
    kind, place, _ = _KNOWN.get((id(code), instruction)) or _look_at(frame)
    if kind is _USERS and outer is not None:
        around, _, _ = _KNOWN.get((id(outer.f_code), outer.f_lasti)) or _look_at(outer)
        if around is _OURS:
            _last = code, instruction, outer.f_code, place
            return place
    while kind is _OURS or kind is _SIMULATOR or kind is _BETWEEN:
        frame = frame.f_back
        if frame is None:
            return ()
        kind, place, _ = _KNOWN.get((id(frame.f_code), frame.f_lasti)) or _look_at(frame)
    site: Site = ()
    while kind is not _OURS:
        if kind is _NATIVE and pausing:
            raise RuntimeError(
                f"A replica was to wait for the others below C++ code, in a function that {_module(frame)} calls"
                f"{f' at {site[-1]}' if site else ''}; expected Python code alone between the replica's function and the call, "
                f"because C++ code cannot be left halfway. Use tf.nest.map_structure or a loop, and make the call there."
            )
        site = (*site, *place) if site else place
        frame = frame.f_back
        if frame is None:
            break
        kind, place, _ = _KNOWN.get((id(frame.f_code), frame.f_lasti)) or _look_at(frame)
    return site


def _look_at(frame: Any) -> tuple[_Kind, Site, CodeType]:
    """Say whose call a frame is making, and where, and remember it."""
    code, name = frame.f_code, _module(frame)
    kind = _kind(name)
    shown = kind is not _OURS and kind is not _Kind.BETWEEN and name not in _CALLBACKS
    found = kind, _place(code, frame.f_lasti) if shown else (), code
    if len(_KNOWN) >= _MOST_KNOWN:
        _KNOWN.clear()
    _KNOWN[id(code), frame.f_lasti] = found
    return found


def _module(frame: Any) -> str:
    return frame.f_globals.get("__name__", "")


def _kind(name: str) -> _Kind:
    """Say whom a module belongs to."""
    if name.startswith("refdist."):
        return _Kind.BETWEEN if name.startswith(_CALLING_BACK) or name.endswith(".control_flow") else _OURS
    if name.startswith("simulator."):
        return _SIMULATOR
    if name.startswith("optree") or name in _CALLBACKS:
        return _NATIVE
    return _Kind.BETWEEN if name.startswith("jax.") else _Kind.USERS


def of_user(file: str) -> bool:
    """Say whether a file belongs to the user's program, not to this package or to one that it is made with."""
    if file.startswith((_REFDIST, _BESIDE)) or (file.startswith("<") and not file.startswith(_CELL)):
        return False
    return not any(f"/{name}/" in file for name in _LIBRARIES)


def line_text(file: str, line: int, *, folders: bool = True) -> str:
    """Name a line: in a notebook by its cell, as IPython does, because the file that stands for a cell tells a reader nothing.

    >>> line_text("/home/me/train.py", 12), line_text("/home/me/train.py", 12, folders=False)
    ('/home/me/train.py:12', 'train.py:12')
    """
    # Not imported: without it there are no cells. It lacks its names while another thread imports it.
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", None)
    compiler: Any = getattr(shell(), "compile", None) if shell is not None else None
    named = compiler.format_code_name(file) if hasattr(compiler, "format_code_name") else None
    if named is not None:
        return f"{named[0].lower()} {named[1]}, line {line}"  # cell In[3], line 5
    return f"{file if folders else file.rsplit('/', 1)[-1]}:{line}"


def where(site: Site) -> str:
    """Print a site for a message: of a long one the innermost places, and those of the program outside of its libraries."""
    first = next((index for index, place in enumerate(site) if _own(place.file)), len(site))
    own = [place for place in site[first:] if _own(place.file)]  # and not what has called the program, such as pytest
    inner = site[: min(first, 3)]
    shown = list(dict.fromkeys(map(str, [*inner, *own])))  # a converted function has two frames for one place
    return ", called from ".join(shown[:6]) or "the function given to run"


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
    return (Place(code.co_filename, code.co_name, line or 0, column or 0),)
