"""The reference: a page for each public module, with tables of its names, and what there is to say about each."""

import enum
import inspect
from types import ModuleType
from typing import Any

from conformance.catalogue import Behavior
from docs_pages import public_names
from docs_pages.catalogue_pages import list_of
from docs_pages.docstring_text import constant, linked, markdown, plain, sentence, signature, table_of_names
from docs_pages.name_index import NameIndex

_IN_FULL = (
    "tf.distribute",
    "tf.compat.v1.distribute",
    "tf.cluster",
    "tf.conformance",
    "tf.simulator",
    "tf.testing",
    "tf.tpu",
)
_KERAS = """
`tf.keras` is Keras itself, on its JAX backend ([its documentation](https://keras.io/api/)); `tf.losses`, `tf.metrics`,
`tf.optimizers` and `tf.initializers` are names of its modules. [How it trains on replicas](../guide/tensorflow.md#keras).
"""


class ModulePage:
    """The page of one public module."""

    def __init__(self, path: str, module: ModuleType, index: NameIndex, behaviors: dict[str, list[Behavior]]) -> None:
        self._path, self._module, self._index, self._behaviors = path, module, index, behaviors
        self._links = index.addresses
        self._names = public_names.names(module)

    def text(self) -> str:
        """Write the page."""
        classes = {name: value for name, value in self._names.items() if inspect.isclass(value)}
        functions = {name: value for name, value in self._names.items() if callable(value) and name not in classes}
        constants = {name: value for name, value in self._names.items() if not callable(value)}
        lines = [f"# {self._path}", "", markdown(self._module.__doc__ or "", self._links), ""]
        lines += [_KERAS] if self._path == "tf" else []
        lines += self._modules()
        for title, names in {"Classes": classes, "Functions": functions, "Constants": constants}.items():
            if names:
                lines += [f"## {title}", "", *table_of_names([self._row(*one) for one in names.items()]), ""]
        for name, value in classes.items():
            lines += self._class(name, value) if self._has_section(name, value) else []
        for name, value in functions.items():
            lines += self._function(name, value) if self._has_section(name, value) else []
        return "\n".join(lines)

    def _modules(self) -> list[str]:
        below = [path for path in public_names.modules() if path.rpartition(".")[0] == self._path]
        if not below:
            return []
        return ["Modules: " + ", ".join(f"[`{path}`]({path}.md)" for path in below) + ".", ""]

    def _row(self, name: str, value: Any) -> tuple[str, str]:
        """Write a row of a table; the anchor of what has no section on this page is here."""
        full = self._full(name)
        called = callable(value) and not inspect.isclass(value)
        text = _code(signature(name, value, annotated=False) if called else name)
        anchor = "" if self._has_section(name, value) else f"{{: #{full} }}"
        return f"[{text}]({self._index.address(full)}){anchor}", self._about(name, value)

    def _about(self, name: str, value: Any) -> str:
        if not callable(value):
            return _code(constant(value))
        first = self._index.first_names[self._full(name)]
        if first != self._full(name):
            return f"The same as [`{first}`]({self._index.places[first]})."
        if public_names.is_message(value):
            return "A protocol buffer."
        return linked(sentence(_docstring(value)), self._links).replace("|", "\\|")

    def _has_section(self, name: str, value: Any) -> bool:
        """Whether there is more to say than a row of a table has."""
        if not callable(value) or not self._is_first(name):
            return False
        text = _docstring(value)
        more = " ".join(text.split()) != sentence(text)
        return inspect.isclass(value) or more or self._full(name) in self._behaviors or self._path.startswith(_IN_FULL)

    def _is_first(self, name: str) -> bool:
        return self._index.first_names[self._full(name)] == self._full(name)

    def _full(self, name: str) -> str:
        return f"{self._path}.{name}"

    def _function(self, name: str, value: Any) -> list[str]:
        full = self._full(name)
        return [
            f"## {plain(name)} {{: #{full} }}",
            *_program(signature(full, value)),
            markdown(_docstring(value), self._links),
            "",
            *self._promises(full),
        ]

    def _class(self, name: str, value: type) -> list[str]:
        full = self._full(name)
        lines = [f"## {plain(name)} {{: #{full} }}"]
        bases = self._bases(value)
        if public_names.is_message(value):
            return [*lines, "", f"Fields: {', '.join(_code(field.name) for field in value.DESCRIPTOR.fields)}.", ""]
        if issubclass(value, enum.Enum):
            lines += _program("\n".join(f"{full}.{one}" for one in value.__members__))
        elif not issubclass(value, BaseException) and public_names.is_ours(value):
            lines += _program(signature(full, value))
        lines += [
            "",
            *([f"Is a {', '.join(bases)}.", ""] if bases else []),
            markdown(_docstring(value), self._links),
            "",
        ]
        lines += self._promises(full)
        if not public_names.is_ours(value):
            return lines
        inherited: dict[str, list[str]] = {}
        for member in public_names.members(value):
            first = self._index.first_names[f"{full}.{member.name}"]
            if first == f"{full}.{member.name}":
                lines += self._member(full, value, member)
            else:
                inherited.setdefault(first.rpartition(".")[0], []).append(first)
        for owner, names in inherited.items():
            links = ", ".join(f"[`{one.rpartition('.')[2]}`]({self._index.places[one]})" for one in names)
            lines += [f"As in [`{owner}`]({self._index.places[owner]}): {links}.", ""]
        return lines

    def _member(self, full: str, cls: type, member: public_names.Member) -> list[str]:
        name = f"{full}.{member.name}"
        lines = [f"### {plain(member.name)} {{: #{name} }}"]
        if member.is_property:
            lines += ["", "*property*", ""]
        else:
            bound = not isinstance(member.value, classmethod | staticmethod)
            lines += _program(signature(member.name, getattr(cls, member.name), bound=bound))
        return [*lines, markdown(member.docstring, self._links), "", *self._promises(name)]

    def _promises(self, full: str) -> list[str]:
        return list_of(self._behaviors[full]) if full in self._behaviors else []

    def _bases(self, value: type) -> list[str]:
        """Link the public classes that a class is made from."""
        public = {id(one): name for name, one in self._index.classes.items()}
        names = [public[id(base)] for base in value.__bases__ if id(base) in public]
        return [f"[`{name}`]({self._index.places[name]})" for name in names]


_FIRST = """
# Reference

Every public name, as the code has it. `tf` is what `import refdist as tf` makes it.

- [Behaviors](behaviors.md): what the documentation promises, sentence by sentence
- [Options of tf.use()](use.md)
- [The command line](command-line.md)
- [Reports](../report.md), and the [JSON schemas](schemas.md)
"""


def contents(index: NameIndex) -> str:
    """Write the front page of the reference: all modules."""
    modules = public_names.modules().items()
    about = {path: linked(sentence(module.__doc__ or ""), index.addresses) for path, module in modules}
    rows = [(f"[`{path}`]({path}.md)", text) for path, text in about.items()]
    return "\n".join([_FIRST, *table_of_names(rows), ""])


def _docstring(value: Any) -> str:
    """Return what is said about a name; of what libraries define, no more than what it is."""
    if public_names.is_ours(value):
        return public_names.docstring(value)
    return f"`{getattr(value, '__module__', None) or type(value).__name__}.{value.__name__}`."


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|")


def _program(text: str) -> list[str]:
    return ["", "```python", text, "```", ""]
