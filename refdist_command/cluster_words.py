"""How a command line names a cluster, a library, and numbers of hosts and bytes."""

import argparse
import inspect
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from refdist_command.named_object import NotFound, named_object

if TYPE_CHECKING:
    from simulator.libraries.library import Library
    from simulator.machines.topology import Cluster

PRESETS = (
    "aws_p4d", "aws_p5", "aws_p5en", "dgx_a100", "dgx_b200", "dgx_h100", "dgx_h200", "dgx_v100", "ethernet", "mi300x", "pcie_box",
    "tpu_v4", "tpu_v5e", "tpu_v5p",
)  # fmt: skip
"""The functions of `simulator.presets`."""

_UNITS = {"": 1, "B": 1, **{f"{letter}{rest}": base**power for rest, base in (("B", 1000), ("iB", 1024))
          for power, letter in enumerate("KMGT", 1)}}  # fmt: skip


class Impossible(Exception):
    """Something cannot be predicted or made as it was asked for."""


def cluster_word(text: str) -> "Callable[[int], Cluster]":
    """Read a cluster, whose number of hosts comes later: `dgx_h100`, `tpu_v5e:shape=4x4`, or `module:name` of the user's.

    >>> cluster_word("dgx_h100:network_gigabits=200")(2)
    <Cluster DGX H100 of 16 devices>
    """
    name, _, rest = text.partition(":")
    if name not in PRESETS:
        return _own_cluster(text)
    from simulator import presets

    preset: Callable[..., Cluster] = getattr(presets, name)
    options = _options(text, name, rest, set(inspect.signature(preset).parameters) - {"hosts", "kind"})

    def make(hosts: int) -> "Cluster":
        known = inspect.signature(preset).parameters
        counted = "hosts" in known
        if not counted and hosts != 1:
            raise Impossible(
                f"--hosts is {hosts} with {name}, which has none; expected its size in its options. Write for example "
                f"--cluster {name}:{'devices=8' if name == 'pcie_box' else 'shape=4x4x4'}."
            )
        missing = [
            one for one in known if known[one].default is inspect.Parameter.empty and one not in {"hosts", *options}
        ]
        if missing:
            raise Impossible(
                f"--cluster {text} cannot be made: got no {missing[0]}; expected its size in its options. Write for example "
                f"--cluster {name}:{_example(name, missing[0])}."
            )
        try:
            return preset(**({"hosts": hosts} if counted else {}), **options)
        except (TypeError, ValueError) as error:
            raise Impossible(f"--cluster {text} cannot be made: {error}") from error

    return make


def _example(name: str, option: str) -> str:
    return f"{option}={'8' if option != 'shape' else '4x4' if name == 'tpu_v5e' else '4x4x4'}"


def _own_cluster(text: str) -> "Callable[[int], Cluster]":
    """Take a cluster of the user's: one, or a function of the number of hosts."""
    example = "--cluster dgx_h100, or --cluster my_module:cluster"
    if ":" not in text:
        raise argparse.ArgumentTypeError(
            f"got {text!r}; expected one of {', '.join(PRESETS)}, or module:name of a cluster of yours. Write for example "
            f"{example}."
        )
    try:
        found = named_object(text, what="whose object is a cluster", example=example)
    except NotFound as error:
        raise argparse.ArgumentTypeError(str(error)) from error

    def make(hosts: int) -> "Cluster":
        from simulator.machines.topology import Cluster

        made = found(hosts) if callable(found) else found
        if not isinstance(made, Cluster) or (hosts != 1 and made is found):
            raise Impossible(
                f"--cluster {text} with {hosts} hosts gave {made!r}; expected a simulator.Cluster, or a function that takes the "
                f"number of hosts and returns one. Name such an object."
            )
        return made

    return make


def _options(text: str, name: str, rest: str, known: set[str]) -> dict[str, Any]:
    """Read `shape=4x4` or `devices_per_host=4,gigabits=100`."""
    options: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, _, value = part.partition("=")
        sizes = value.split("x")
        if key not in known or not all(re.fullmatch(r"\d+(\.\d+)?", size) for size in sizes):
            expected = " and ".join(f"{one}=" for one in sorted(known)) or "no options"
            raise argparse.ArgumentTypeError(
                f"got {text!r}; expected {name} with {expected}, with commas between them. Correct the part {part!r}."
            )
        numbers = [float(size) if "." in size else int(size) for size in sizes]
        options[key] = numbers[0] if len(numbers) == 1 and key != "shape" else tuple(numbers)
    return options


def library_word(text: str) -> "Library":
    """Read a collective library: `nccl`, `nccl:2.27`, `rccl`, or a file that `Library.save` has written."""
    from simulator import libraries

    name, _, version = text.partition(":")
    try:
        if name in ("nccl", "rccl"):
            make = getattr(libraries, name)
            return make(version) if version else make()
        if os.path.isfile(text):
            return libraries.load(text)
    except (ValueError, OSError) as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    raise argparse.ArgumentTypeError(
        f"got {text!r}; expected nccl or rccl, with a version if need be, or a file that Library.save has written. Write for "
        f"example nccl:2.27."
    )


def size_word(text: str) -> int:
    """Read a number of bytes.

    >>> size_word("4096"), size_word("128MiB"), size_word("1.5GB")
    (4096, 134217728, 1500000000)
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?(?:e\d+)?) ?([KkMGT]?i?B?)", text.strip())
    unit = found[2].replace("k", "K") if found else None
    if found is None or unit not in _UNITS:
        raise argparse.ArgumentTypeError(
            f"got {text!r}; expected bytes as a number, alone or with kB, MB, GB, TB (1000s) or KiB, MiB, GiB, TiB (1024s). Write "
            f"for example 128MiB."
        )
    return round(float(found[1]) * _UNITS[unit])


def sizes_word(text: str) -> tuple[int, ...]:
    """Read several sizes with commas between them."""
    return tuple(map(size_word, text.split(",")))


def counts_word(text: str) -> tuple[int, ...]:
    """Read whole numbers with commas between them.

    >>> counts_word("1,8")
    (1, 8)
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise argparse.ArgumentTypeError(
            f"got {text!r}; expected whole numbers of at least 1, with commas between them. Write for example 1,8."
        )
    return tuple(map(int, parts))
