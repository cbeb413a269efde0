"""The page of all documented behaviors, and which of them concern a public name."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from conformance.catalogue import AREAS, PAGES, Behavior, load
from conformance.documented_places import sections
from docs_pages.docstring_text import plain
from docs_pages.name_index import NameIndex

PAGE = "behaviors.md"
_ABOUT = {  # what else an area is about than what its behaviors name
    "VAR": "tf.Variable",
    "FUNC": "tf.function",
    "VALUES": "tf.distribute.DistributedValues",
    "DATASET": "tf.distribute.DistributedDataset",
    "ITER": "tf.compat.v1.distribute.InputIterator",
    "CLUSTER": "tf.distribute.cluster_resolver.ClusterResolver",
    "ONE": "tf.distribute.OneDeviceStrategy",
    "MIRROR": "tf.distribute.MirroredStrategy",
    "CENTRAL": "tf.distribute.experimental.CentralStorageStrategy",
    "DEVICE": "tf.device",
}
_TOLD_BY_OTHERS = {"Strategy", "name", "devices"}  # words of so many sentences that they say nothing


def behaviors_of(index: NameIndex) -> dict[str, list[Behavior]]:
    """Return the behaviors that concern each public name, in the order of the catalogue."""
    found: dict[str, dict[str, Behavior]] = defaultdict(dict)
    words = _words(index)
    for behavior in load().values():
        for name in _concerned(behavior, words, index):
            if name in index.first_names:
                found[index.first_names[name]][behavior.id] = behavior
    return {name: list(behaviors.values()) for name, behaviors in found.items()}


def page(index: NameIndex) -> str:
    """Write the page of all behaviors, with an anchor for each."""
    concerned = defaultdict(list)
    for name, behaviors in behaviors_of(index).items():
        for behavior in behaviors:
            concerned[behavior.id].append(name)
    lines = [
        "# Behaviors",
        "",
        f"These are the {len(load())} sentences of the documentation that an implementation keeps or does not keep. Each has a "
        "check in the [conformance suite](../guide/conformance.md); `refdist conformance show ID` says how to see it, and where "
        "it is checked. A *must* is a promise, an *error* a documented failure or restriction, an *example* the outcome of a "
        "documented example, *advice* a recommendation.",
        "",
    ]
    for area, about in AREAS.items():
        lines += [f"## {area}: {plain(about)} {{#{area}}}", ""]
        lines += [line for one in load().values() if one.area == area for line in _entry(one, concerned[one.id], index)]
    return "\n".join(lines)


def list_of(behaviors: list[Behavior]) -> list[str]:
    """Write the behaviors of one name, folded together."""
    count = f"{len(behaviors)} documented behavior{'s' if len(behaviors) > 1 else ''}"
    return [
        f'??? quote "{count}"',
        "",
        *(f"    - [{one.id}]({PAGE}#{one.id}) {plain(one.statement)}" for one in behaviors),
        "",
    ]


def _entry(behavior: Behavior, names: list[str], index: NameIndex) -> list[str]:
    """Write one behavior: a paragraph with its sentence, and one with what it is about and where it is documented."""
    words = re.findall(r"\w+", f"{behavior.title} {behavior.statement}")
    told = [name for name in names if name.rpartition(".")[2] in words]
    about = [f"[`{name}`]({index.places[name]})" for name in told or names]
    addresses = {_short(one.page): one.address for one in sections(behavior)}
    where = [f"[{page}]({address})" for page, address in addresses.items()]
    return [
        f"**[{behavior.id}](#{behavior.id})** {plain(behavior.statement)}",
        f"{{: #{behavior.id} .behavior }}",
        "",
        f"*{behavior.level}*, of {', '.join(about)}; documented for {', '.join(where)}",
        "{: .behavior-places }",
        "",
    ]


def _short(page: str) -> str:
    """Shorten the name of a page.

    >>> _short("tf.compat.v1.distribute.OneDeviceStrategy (2.2)")
    'OneDeviceStrategy (v1, 2.2)'
    """
    name, _, release = page.partition(" (")
    return f"{name.rpartition('.')[2]} ({'v1, ' if '.v1.' in name else ''}{release}"


def _concerned(behavior: Behavior, words: Mapping[str, str], index: NameIndex) -> Iterator[str]:
    """Yield the names that a behavior is about: where it is documented, what it names, and what its area is about."""
    for source in behavior.sources:
        file, _, section = source.partition("#")
        cls = PAGES[file[:3]].partition(" ")[0]
        member = section.partition(".")[0]
        if member == "Attributes":
            named = [word for word in re.findall(r"\w+", behavior.title) if f"{cls}.{word}" in index.first_names]
            yield f"{cls}.{named[0]}" if named else cls
        else:
            yield cls if member in ("meta", "overview", "Args") else f"{cls}.{member}"
    for word in re.findall(r"\w+", f"{behavior.title} {behavior.statement}"):
        if word in words:
            yield words[word]
    if behavior.area in _ABOUT:
        yield _ABOUT[behavior.area]


def _words(index: NameIndex) -> dict[str, str]:
    """Return the name that each word of a sentence means: a class, or what has an underscore in it."""
    found: dict[str, str] = {}
    for name in reversed([*index.places]):
        word = name.rpartition(".")[2]
        told = name.startswith("tf.distribute.") and word not in _TOLD_BY_OTHERS
        if told and ("_" in word or (word[0].isupper() and word.lower() != word)):
            found[word] = name
    return found
