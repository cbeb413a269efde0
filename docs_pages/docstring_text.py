"""Docstrings and signatures as Markdown."""

import enum
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

_MODULES = re.compile(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z_])")
_CODE = re.compile(r"(`+[^`]+`+)")
_STRESSED = re.compile(r"(?<![\w*])(\*[\w ]+\*)(?![\w*])")
_SECTION = re.compile(r"(Args|Returns|Raises|Attributes):")
_WIDTH = 88


def sentence(text: str) -> str:
    """Return the first sentence of a docstring, on one line.

    >>> sentence("Add `x` and\\n`y`. More.")
    'Add `x` and `y`.'
    """
    paragraph = " ".join(text.split("\n\n", maxsplit=1)[0].split())
    found = re.match(r".+?[.:](?=\s+[A-Z`(]|$)", paragraph)
    return f"{(found[0] if found else paragraph).rstrip('.:')}." if paragraph else ""


def markdown(text: str, links: Mapping[str, str]) -> str:
    """Return a docstring as Markdown: programs between fences, arguments as a list, public names as links.

    >>> print(markdown("Add.\\n\\nArgs:\\n    x: as `tf.add` has it.", {"tf.add": "tf.md#tf.add"}))
    Add.
    <BLANKLINE>
    <BLANKLINE>
    **Args**
    <BLANKLINE>
    - `x`: as [`tf.add`](tf.md#tf.add) has it.
    """
    lines = _fenced(inspect.cleandoc(text).splitlines())
    result: list[str] = []
    inside, in_section = False, False
    for line in lines:
        if line.startswith("```"):
            inside = not inside
            result.append(line)
        elif inside or (line.startswith("    ") and not in_section):
            result.append(line)
        elif _SECTION.fullmatch(line):
            in_section = True
            result += ["", f"**{line[:-1]}**", ""]
        elif in_section and line.startswith("    "):
            result.append(_argument(line, links))
        else:
            in_section = in_section and not line
            result.append(linked(line, links))
    return "\n".join(result).strip()


def linked(text: str, links: Mapping[str, str]) -> str:
    """Escape what Markdown would take for more than text, and link public names in backticks."""
    parts = _CODE.split(text)
    for index, part in enumerate(parts):
        if index % 2:
            address = links.get(part.strip("`").removesuffix("()"))
            parts[index] = f"[{part}]({address})" if address else part
        else:
            escaped = part.replace("<", "&lt;").replace("[", "\\[")
            pieces = _STRESSED.split(escaped)
            pieces[::2] = [piece.replace("*", "\\*") for piece in pieces[::2]]
            parts[index] = "".join(pieces)
    return "".join(parts)


def plain(text: str) -> str:
    """Escape a text that knows nothing of Markdown.

    >>> plain("a_b < [c]")
    'a\\\\_b &lt; \\\\[c]'
    """
    return re.sub(r"([\\`*_\[|])", r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))


def signature(name: str, value: Callable[..., Any], bound: bool = False, annotated: bool = True) -> str:
    """Write the signature of a callable; over several lines where one would be too long.

    >>> def add(x: int, *, y: int = 0) -> int: ...
    >>> signature("add", add), signature("add", add, annotated=False)
    ('add(x: int, *, y: int = 0) -> int', 'add(x, *, y=0)')
    """
    try:
        given = inspect.signature(value)
    except (TypeError, ValueError):
        return f"{name}(...)"
    parameters = list(given.parameters.values())[1 if bound else 0 :]
    parts = [_parameter(one, annotated) for one in parameters]
    keyword = next((i for i, one in enumerate(parameters) if one.kind is inspect.Parameter.KEYWORD_ONLY), None)
    if keyword is not None and not any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters):
        parts.insert(keyword, "*")
    returned = given.return_annotation if annotated and not inspect.isclass(value) else Any
    result = f" -> {_annotation(returned)}" if _says(returned) else ""
    line = f"{name}({', '.join(parts)}){result}"
    if len(line) <= _WIDTH or not annotated:
        return line
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){result}"])


def table_of_names(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Write a table of names and what they are, which is one column where there is little room."""
    lines = [f"| {name} | {text} |" for name, text in rows]
    return ['<div class="names" markdown>', "", "| | |", "|---|---|", *lines, "", "</div>"]


def constant(value: Any) -> str:
    """Write the value of a constant."""
    return value.name if isinstance(value, enum.Enum) else repr(value)


def _parameter(one: inspect.Parameter, annotated: bool) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}.get(one.kind, "")
    kind = f": {_annotation(one.annotation)}" if annotated and _says(one.annotation) else ""
    if one.default is inspect.Parameter.empty:
        return f"{stars}{one.name}{kind}"
    return f"{one.name}{kind}{' = ' if kind else '='}{_default(one.default)}"


def _says(annotation: Any) -> bool:
    return annotation is not inspect.Signature.empty and annotation is not Any


def _annotation(annotation: Any) -> str:
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return _MODULES.sub("", text)


def _default(value: Any) -> str:
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    text = repr(value)
    return (
        getattr(value, "__name__", "...") if text.startswith("<") or "object at 0x" in text else _MODULES.sub("", text)
    )


def _argument(line: str, links: Mapping[str, str]) -> str:
    found = re.match(r"    (\*{0,2}\w+): (.*)", line)
    return f"- `{found[1]}`: {linked(found[2], links)}" if found else f"    {linked(line.strip(), links)}"


def _fenced(lines: list[str]) -> list[str]:
    """Put programs with their output between fences."""
    result: list[str] = []
    inside, indent = False, ""
    for line in lines:
        if not inside and line.lstrip().startswith(">>> "):
            inside, indent = True, line[: len(line) - len(line.lstrip())]
            result += [*([""] if result and result[-1] else []), "```pycon"]
        elif inside and not line.strip():
            inside = False
            result.append("```")
        result.append(line.removeprefix(indent) if inside else line)
    return [*result, "```"] if inside else result
