"""The pages of what is around the names: options of `tf.use()`, the command line, and the JSON schemas."""

import argparse
import contextlib
import importlib
import inspect
import json
import os
import pathlib
import re
import tomllib
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

from docs_pages.docstring_text import linked, plain, sentence, table_of_names
from refdist._core.backends.host_backend import HostBackend
from refdist._core.backends.jax_backend import JaxBackend
from refdist._core.devices.machine import device_counts
from refdist._core.seam.inspection import LOOKS, Inspection
from simulator.devices.open_simulator import open_simulator

ROOT = pathlib.Path(__file__).resolve().parent.parent
_BACKENDS: dict[str, Callable[..., Any]] = {"simulator": open_simulator, "jax": JaxBackend, "host": HostBackend}
_COLUMNS = "88"


def options_page(links: Mapping[str, str]) -> str:
    """Write what each backend takes, as the code that opens it says."""
    lines = [
        "# Options of tf.use()",
        "",
        "`tf.use(name, **options)` chooses the backend of the process, `with tf.using(name, **options):` that of a block, and "
        "`REFDIST_BACKEND=name:option=value,...` the same from outside, for numbers of devices and what is looked at.",
        "",
        "## Every backend",
        "",
    ]
    meanings = zip(LOOKS.items(), _arguments(Inspection).values(), strict=True)
    lines += table_of_names((_look(option, words), linked(about, links)) for (option, words), about in meanings)
    for name, opened in _BACKENDS.items():
        lines += ["", f"## {name}", "", linked(sentence(inspect.getdoc(opened) or ""), links), ""]
        lines += table_of_names(
            (f"`{option}={default!r}`", linked(about, links)) for option, default, about in _options(opened)
        )
    return "\n".join([*lines, ""])


def command_line_page() -> str:
    """Write the help of the command and of each subcommand."""
    lines = ["# The command line", "", "`python -m refdist` is the same command.", ""]
    for name, help in _helps(_parser()):
        lines += [f"## {name}", "", "```text", help.rstrip(), "```", ""]
    return "\n".join(lines)


def schemas_page() -> str:
    """Write what files of ours have a JSON Schema."""
    lines = [
        "# JSON schemas",
        "",
        "They are installed with the packages, so that programs can check what they read.",
        "",
    ]
    for file in sorted(ROOT.glob("*/*.schema.json")):
        schema = json.loads(file.read_text(encoding="utf-8"))
        name = file.relative_to(ROOT).as_posix()
        lines += [f"## {plain(schema.get('title', name))}", "", f"[{name}](../../{name})", ""]
        lines += [linked(schema.get("description", ""), {}), ""]
        fields = [(f"`{field}`", one.get("description", "")) for field, one in schema["properties"].items()]
        lines += table_of_names((field, linked(about, {})) for field, about in fields)
        whole = ["```json", *json.dumps(schema, indent=2).splitlines(), "```"]
        lines += ["", '??? quote "The whole schema"', "", *(f"    {line}" for line in whole), ""]
    return "\n".join(lines)


def _look(option: str, words: tuple[str, ...]) -> str:
    """Write an option with its value when it is left out, and the others."""
    return f"`{option}={json.dumps(words[0])}`, or " + " or ".join(f"`{json.dumps(word)}`" for word in words[1:])


def _options(opened: Callable[..., Any]) -> Iterator[tuple[str, Any, str]]:
    """Yield the options of a backend, those that all have where it passes on what is left; the default and the meaning of each."""
    meanings = _arguments(device_counts) | _arguments(opened)
    own = inspect.signature(opened).parameters
    passed_on = inspect.signature(device_counts).parameters if "counts" in own else {}
    for name, one in {**own, **passed_on}.items():
        if one.kind is not inspect.Parameter.VAR_KEYWORD:
            yield name, one.default, meanings[name]


def _arguments(value: Any) -> dict[str, str]:
    """Return what a docstring says about each argument."""
    texts = [inspect.getdoc(one) or "" for one in (value, getattr(value, "__init__", None))]
    section = next((text.partition("Args:\n")[2] for text in texts if "Args:\n" in text), "")
    found = re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", section, re.MULTILINE)
    return {name: " ".join(f"{about[0].upper()}{about[1:]}".split()) for name, about in found}


def _parser() -> argparse.ArgumentParser:
    """Return the parser of the command that is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = project["scripts"]["refdist"].partition(":")[0]
    return importlib.import_module(module).parser()


def _helps(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    """Yield the name and the help of a command, and of all commands below it."""
    with _wide():
        yield parser.prog, parser.format_help().replace(str(pathlib.Path.home()), "~")
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):  # pyright: ignore[reportPrivateUsage] - no public way to list them
            for one in dict.fromkeys(action.choices.values()):
                yield from _helps(one)


@contextlib.contextmanager
def _wide() -> Generator[None]:
    """Let help have the same width wherever it is made."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = _COLUMNS
    try:
        yield
    finally:
        os.environ.pop("COLUMNS") if before is None else os.environ.update(COLUMNS=before)
