"""Tensors that are exchanged together, as one: the packs that `CommunicationOptions.bytes_per_pack` asks for."""

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.base.common_values import CommonValues


def packs_of(tensors: Sequence[Any], bytes_per_pack: float, kinds: Sequence[Hashable]) -> list[list[int]]:
    """The numbers of the tensors of each pack; those of a pack have one dtype, and one kind.

    A pack is closed when it has more than the bytes that were asked for, so that packs are few and large; a tensor is never cut.
    The last tensors come first: they are mostly gradients, which become known from the last to the first.
    """
    packs: list[list[int]] = []
    open_packs: dict[Any, tuple[list[int], float]] = {}
    for number in reversed(range(len(tensors))):
        tensor = tensors[number]
        key = (tensor.dtype, kinds[number])
        pack, size = open_packs.get(key, ([], math.inf))
        if size > bytes_per_pack:
            pack, size = [], 0
            packs.append(pack)
        pack.append(number)
        open_packs[key] = pack, size + math.prod(tensor.shape) * tensor.dtype.itemsize
    return packs


def exchanged_together(tensors: Sequence[Any], exchange: Callable[[Any], Any]) -> list[Any]:
    """What an exchange makes of several tensors of one dtype, if it is called once with all of their elements in a row."""
    if len(tensors) == 1:
        return [exchange(tensors[0])]
    row = tensors[0].__array_namespace__().concatenate([tensor.reshape(-1) for tensor in tensors])
    return taken_apart(exchange(row), tensors)


def taken_apart(row: Any, tensors: Sequence[Any]) -> list[Any]:
    """The elements of several tensors that are in a row, in the shapes of these tensors."""
    parts: list[Any] = []
    start = 0
    for tensor in tensors:
        end = start + math.prod(tensor.shape)
        parts.append(row[start:end].reshape(tensor.shape))
        start = end
    return parts


def columns_of(payloads: Sequence[Any]) -> list[Sequence[Any]]:
    """The first tensors of all nests together, then the second ones, and so on."""
    kind = CommonValues if type(payloads) is CommonValues else tuple
    return [kind(column) for column in zip(*[nest.flatten(payload) for payload in payloads], strict=True)]
