"""Where each public name is on the site: one place for each class, function and member, whatever other names it has."""

import inspect
from dataclasses import dataclass
from typing import Any, Self

from docs_pages import public_names


@dataclass(frozen=True)
class NameIndex:
    """The public names, and where they are documented."""

    places: dict[str, str]
    """The page and the anchor of each name that is the first one of what it names."""
    first_names: dict[str, str]
    """The first name of what each name names; that of an inherited method is in the class that defines it."""
    classes: dict[str, type]
    """The classes of ours, by their first names."""

    @classmethod
    def of_everything(cls) -> Self:
        """Look at all public modules."""
        values = {
            f"{path}.{name}": value
            for path, module in public_names.modules().items()
            for name, value in public_names.names(module).items()
        }
        first: dict[int, str] = {}
        for name, value in sorted(values.items(), key=lambda item: _distance(item[0])):
            if callable(value):
                first.setdefault(id(value), name)
        first_names = {name: first.get(id(value), name) for name, value in values.items()}
        for name, value in values.items():
            if _is_our_class(value):
                for member in public_names.members(value):
                    owner = _public_owner(value, member, first)
                    first_names[f"{name}.{member.name}"] = f"{owner or first_names[name]}.{member.name}"
        modules = [*public_names.modules()]
        places = {name: _place(name, modules) for name in sorted({*first_names.values()}, key=_distance)}
        classes = {first_names[name]: value for name, value in values.items() if _is_our_class(value)}
        return cls(places, first_names, classes)

    def address(self, name: str) -> str | None:
        """Return where a name is documented, None if it is not public."""
        return self.places.get(self.first_names.get(name, ""))

    @property
    def addresses(self) -> dict[str, str]:
        """Return where each name is documented, other names of the same too."""
        return {name: self.places[first] for name, first in self.first_names.items()}


def _public_owner(cls: type, member: public_names.Member, first: dict[int, str]) -> str | None:
    """Return the public base class that has a member too, the same one."""
    for base in reversed(cls.__mro__[1:]):
        known = id(base) in first and public_names.is_ours(base)
        if known and inspect.getattr_static(base, member.name, None) is member.value:
            return first[id(base)]
    return None


def _is_our_class(value: Any) -> bool:
    return inspect.isclass(value) and public_names.is_ours(value)


def _distance(name: str) -> tuple[Any, ...]:
    """Order names so that the first is the one to use: neither old nor experimental, and short."""
    return "compat" in name, "experimental" in name, name.count("."), name


def _place(name: str, modules: list[str]) -> str:
    module = max((one for one in modules if name.startswith(f"{one}.")), key=len)
    return f"{module}.md#{name}"
