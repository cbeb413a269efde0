"""What code reads: names, and attributes and items of what these refer to."""

import dis
from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any, NamedTuple

_ATTRIBUTE = {"LOAD_ATTR", "LOAD_METHOD"}
_NO_KEY: Any = object()
_ELSEWHERE = ("CALL", "STORE", "DELETE", "YIELD", "SEND", "RETURN")  # instructions by which a value could go on


class Path(NamedTuple):
    """A name, then attributes and items of what that refers to."""

    kind: str  # of the instruction that loads the name
    name: str
    steps: tuple[tuple[Any, bool], ...] = ()  # each a key, and whether it is that of an attribute

    def __str__(self) -> str:
        return self.name + "".join(f".{key}" if attribute else f"[{key!r}]" for key, attribute in self.steps)


def reads_of(code: CodeType) -> list[tuple[Path, Path | None]]:
    """What code reads, and the functions inside of it, without the names, attributes and items that they bind.

    Beside each is the path of what is called with it, where its value goes nowhere but into the arguments of that one call, whose
    result nobody takes; None for all other reads.
    """
    read: dict[tuple[Path, Path | None], None] = {}
    bound = set[Any]()
    for one, made_inside in _with_inner(code):
        path, key = None, _NO_KEY
        steps = list(dis.get_instructions(one))
        given_to = _calls_for_nothing(steps)
        for place, step in enumerate(steps):
            name, value = step.opname, step.argval
            if name == "LOAD_CONST" and path is not None:
                key = value
                continue
            if name in {"STORE_GLOBAL", "STORE_DEREF"}:
                bound.add(value)
            elif name.startswith("STORE_FAST") and one is code:  # alone, or with another one
                bound.add(value if isinstance(value, str) else value[0])
            elif name == "STORE_ATTR":
                bound.add((value, True))
            elif name == "STORE_SUBSCR" and path is not None and isinstance(key, (str, int)):
                bound.add((key, False))
            path, key = _after(path, key, step, one is code), _NO_KEY
            if path is not None and path.name not in made_inside:
                read[path, given_to.get(place)] = None
    return [
        (one, call) for one, call in read if one.name not in bound and (not one.steps or one.steps[-1] not in bound)
    ]


def _with_inner(code: CodeType, made_inside: frozenset[str] = frozenset()) -> Iterator[tuple[CodeType, frozenset[str]]]:
    """Code, and that of the functions that are written inside of it, with the names of cells that these make themselves."""
    yield code, made_inside
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _with_inner(one, made_inside | set(one.co_cellvars))


def _after(path: Path | None, key: Any, step: dis.Instruction, outermost: bool) -> Path | None:
    """What is on top of the stack after an instruction, as a path; None where it is anything else."""
    if step.opname in {"LOAD_GLOBAL", "LOAD_DEREF"}:
        return Path(step.opname, step.argval)
    if (
        "LOAD_FAST" in step.opname and outermost
    ):  # one, or two at once; inside, they are the parameters of that function
        return Path("LOAD_FAST", step.argval if isinstance(step.argval, str) else step.argval[-1])
    if path is None:
        return None
    if step.opname in _ATTRIBUTE:
        return path._replace(steps=(*path.steps, (step.argval, True)))
    if step.opname.startswith("BINARY_SUBSCR") and isinstance(key, (str, int)):
        return path._replace(steps=(*path.steps, (key, False)))
    return None


def _calls_for_nothing(steps: Sequence[dis.Instruction]) -> dict[int, Path]:
    """The places of the instructions that make the arguments of a call whose result nobody takes, with what is called.

    Arguments in which something else is called or bound are left out: who knows what that does with a value.
    """
    found: dict[int, Path] = {}
    for last, following in enumerate(steps[1:]):
        call = steps[last]
        if following.opname != "POP_TOP" or not call.opname.startswith("CALL"):
            continue
        first = last
        while first and _is_in(steps[first - 1], call):
            first -= 1
        callee = _called(steps[first:last], call)
        others = steps[first:last]
        if callee is not None and not any(one.opname.startswith(_ELSEWHERE) for one in others):
            found |= dict.fromkeys(range(first, last), callee)
    return found


def _is_in(step: dis.Instruction, call: dis.Instruction) -> bool:
    """Say whether an instruction is of the text of a call."""
    inner, outer = step.positions, call.positions
    if inner is None or outer is None or None in (*inner, *outer):
        return False
    starts, ends = (inner.lineno, inner.col_offset), (inner.end_lineno, inner.end_col_offset)
    return (outer.lineno, outer.col_offset) <= starts and ends <= (outer.end_lineno, outer.end_col_offset)  # pyright: ignore


def _called(steps: Sequence[dis.Instruction], call: dis.Instruction) -> Path | None:
    """What is called, given the instructions before the call: the name with which its text begins, and attributes of that."""
    path: Path | None = None
    for step in steps:
        if path is None and step.opname == "PUSH_NULL":
            continue
        if path is not None and step.opname not in _ATTRIBUTE:
            break
        path = _after(path, _NO_KEY, step, outermost=True)
        if path is None or not _starts_with(call, step):
            return None
    return path


def _starts_with(call: dis.Instruction, step: dis.Instruction) -> bool:
    outer, inner = call.positions, step.positions
    return inner is not None and outer is not None and inner[0] == outer[0] and inner[2] == outer[2]
