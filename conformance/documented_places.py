"""Where a behavior is documented, and where it is checked."""

import inspect
import os
import re
import textwrap
from dataclasses import dataclass
from types import CodeType

from conformance.catalogue import PAGES, Behavior
from conformance.checks import checks

SITE = "https://www.tensorflow.org/versions"


@dataclass(frozen=True)
class Section:
    """One section of a page."""

    page: str
    name: str
    address: str


def sections(behavior: Behavior) -> list[Section]:
    """Return the sections that promise a behavior, in the order of the catalogue."""
    found: list[Section] = []
    for source in behavior.sources:
        file, _, section = source.partition("#")
        page = PAGES[file[:3]]
        found.append(Section(page, section, address(page, section)))
    return found


def address(page: str, section: str) -> str:
    """Return the address of a section; a part of a method has no anchor of its own there.

    >>> address("tf.distribute.Strategy (2.3)", "run.Returns")
    'https://www.tensorflow.org/versions/r2.3/api_docs/python/tf/distribute/Strategy#run'
    """
    match = re.fullmatch(r"([\w.]+) \(([\d.]+)\)", page)
    assert match is not None, "a page has the name of a class and a release"
    anchor = section.partition(".")[0]
    anchor = {"meta": "", "overview": "", "Args": "#args", "Attributes": "#attributes"}.get(anchor, f"#{anchor}")
    return f"{SITE}/r{match[2]}/api_docs/python/{match[1].replace('.', '/')}{anchor}"


def check_place(id: str) -> str:
    """Return file and line of the check of a behavior, relative if it is below the current folder; empty if there is none."""
    code = _code(id)
    if code is None:
        return ""
    relative = os.path.relpath(code.co_filename)
    return f"{code.co_filename if relative.startswith(os.pardir) else relative}:{code.co_firstlineno}"


def check_source(id: str) -> str:
    """Return the text of the check of a behavior; empty if there is none, or no source is installed."""
    code = _code(id)
    try:
        return textwrap.dedent(inspect.getsource(code)).rstrip() if code else ""
    except OSError:
        return ""


def _code(id: str) -> CodeType | None:
    found = checks().get(id)
    return inspect.unwrap(found.function).__code__ if found else None
