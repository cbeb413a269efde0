"""The short forms in which SLURM writes lists: of nodes, and of how many tasks each of them has."""

import itertools
import re

_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_NAME = re.compile(r"[^\[\],\s]+")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")
_COUNT = re.compile(r"(\d+)(?:\(x(\d+)\))?")


def nodes_of(expression: str) -> list[str]:
    """The nodes that an expression stands for, in its order.

    >>> nodes_of("node[08-10,12],gpu7")
    ['node08', 'node09', 'node10', 'node12', 'gpu7']
    """
    return [node for name in _names(expression) for node in _nodes(name, expression)]


def task_counts_of(expression: str) -> list[int]:
    """How many tasks each node has, in the order of the nodes.

    >>> task_counts_of("2(x3),1")
    [2, 2, 2, 1]
    """
    counts: list[int] = []
    for part in expression.split(","):
        match = _COUNT.fullmatch(part.strip())
        if match is None:
            raise ValueError(
                f"The tasks per node are {expression!r}, with the part {part!r}; expected numbers, with how often they come "
                f"again, as in '2(x3),1'. Leave the variable as SLURM sets it."
            )
        counts += [int(match[1])] * int(match[2] or 1)
    return counts


def _names(expression: str) -> list[str]:
    """The parts between commas; those in brackets separate numbers, not names."""
    names = re.split(r",(?![^\[]*\])", expression.strip().removesuffix(","))
    for name in names:
        if not _NAME.fullmatch(_BRACKETS.sub("0", name)):
            raise _malformed(expression, name)
    return names


def _nodes(name: str, expression: str) -> list[str]:
    """The nodes that a name with numbers in brackets stands for."""
    pieces = _BRACKETS.split(name)  # text and numbers in turn
    choices = [_numbers(piece, expression) if index % 2 else [piece] for index, piece in enumerate(pieces)]
    return ["".join(parts) for parts in itertools.product(*choices)]


def _numbers(ranges: str, expression: str) -> list[str]:
    """The numbers of ranges, as wide as the first of each is written."""
    numbers: list[str] = []
    for part in ranges.split(","):
        match = _RANGE.fullmatch(part)
        first, last = (match[1], match[2] or match[1]) if match else ("", "")
        if match is None or int(first) > int(last):
            raise _malformed(expression, part)
        numbers += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return numbers


def _malformed(expression: str, part: str) -> ValueError:
    return ValueError(
        f"The list of nodes is {expression!r}, with the part {part!r}; expected names, with numbers in brackets, as in "
        f"'node[1-3,5],gpu7'. Leave the variable as SLURM sets it."
    )
