"""Collective libraries as data, to be given as `library=`: NCCL in its versions, and RCCL."""

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

from simulator.libraries.library import Calibration, Launch, Library
from simulator.libraries.nccl_history import CHANGES, FIRST
from simulator.libraries.rccl_tables import MI300X

__all__ = ["Calibration", "Launch", "Library", "load", "nccl", "rccl"]


def nccl(version: str = "2.27") -> Library:
    """NVIDIA's library in a version, with the constants of its public sources; nothing is fitted.

    >>> nccl("2.18").hop_microseconds["network"]["ring"]
    (2.7, 4.0, 14.0)
    """
    number = _number("nccl", version, (2, 8))
    fields: dict[str, Any] = dict(FIRST)
    for since, changes in CHANGES:
        if number >= since:
            fields = _merged(fields, changes)
    return Library("NCCL", version, **fields)


def rccl(version: str = "2.22") -> Library:
    """AMD's library for boxes of eight MI300X; its sources have one table for these, whatever the version."""
    _number("rccl", version, (2, 18))
    return Library("RCCL", version, **_merged(dict(_merged(FIRST, CHANGES[-2][1])), MI300X))


def load(path: str) -> Library:
    """Read a library that `Library.save` has written."""
    with open(path, encoding="utf-8") as file:
        try:
            read: Any = json.load(file)
        except ValueError:
            read = None
    names = {field.name for field in dataclasses.fields(Library)}
    if not isinstance(read, dict) or not set(read) <= names or "name" not in read:
        raise ValueError(
            f"load() read {path!r}, which is no library; expected a file that Library.save has written. Make one with "
            f"libraries.nccl().calibrated(cluster, sweep).save(path)."
        )
    fields: dict[str, Any] = {name: _frozen(value) for name, value in read.items()}
    if fields.get("calibration") is not None:
        fields["calibration"] = Calibration(**fields["calibration"])
    return Library(**fields)


def _frozen(value: Any) -> Any:
    """Lists of JSON as tuples, which they were."""
    if isinstance(value, dict):
        return {key: _frozen(one) for key, one in value.items()}
    return tuple(_frozen(one) for one in value) if isinstance(value, list) else value


def _number(function: str, version: Any, least: tuple[int, int]) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version) if isinstance(version, str) else None
    number = (int(found[1]), int(found[2])) if found else (0, 0)
    if number < least:
        raise ValueError(
            f"{function}() got version={version!r}; expected a text such as '2.27', from '{least[0]}.{least[1]}' on. Give what "
            f"NCCL_DEBUG=VERSION prints."
        )
    return number


def _merged(fields: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Fields with some changed; mappings change entry by entry."""
    made = dict(fields)
    for name, value in changes.items():
        old = made.get(name)
        made[name] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return made
