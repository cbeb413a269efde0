"""What mkdocs does besides: pages made from the code, a navigation with patterns, and links to files of the repository."""

import fnmatch
import pathlib
import posixpath
import re
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs_pages import catalogue_pages, public_names
from docs_pages.catalogue_pages import behaviors_of
from docs_pages.module_pages import ModulePage, contents
from docs_pages.name_index import NameIndex
from docs_pages.tool_pages import command_line_page, options_page, schemas_page

ROOT = pathlib.Path(__file__).resolve().parent.parent
_LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")
_FILES_OF_THE_ROOT = {"changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Write the pages that are made, and put pages in the place of each pattern of the navigation."""
    made = _made_pages()
    config.extra["made_pages"] = made
    docs = pathlib.Path(config.docs_dir)
    written = (path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    pages = sorted({*made, *written}, key=lambda page: page.removesuffix(".md"))
    named = set(_named(config.nav))
    config.nav = _filled(config.nav, [page for page in pages if page not in named])
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made to those that are written."""
    for name, text in config.extra["made_pages"].items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links to files of the repository that are not on the site lead to where the repository is shown."""
    source = _FILES_OF_THE_ROOT.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    folder, pages = posixpath.dirname(source), {file: name for name, file in _FILES_OF_THE_ROOT.items()}

    def linked(match: re.Match[str]) -> str:
        target, anchor = posixpath.normpath(posixpath.join(folder, match[1])), match[2] or ""
        on_site = pages.get(target, target.removeprefix("docs/") if target.startswith("docs/") else "")
        if on_site and files.get_file_from_path(on_site) is not None:
            return posixpath.relpath(on_site, posixpath.dirname(page.file.src_uri)) + anchor
        if (ROOT / target).exists():
            kind = "tree" if (ROOT / target).is_dir() else "blob"
            return f"{config.extra['repository']}/{kind}/main/{target}{anchor}"
        return match[0]

    return _LINK.sub(linked, markdown)


def _made_pages() -> dict[str, str]:
    """Write all pages that are made, by name."""
    if silent := list(public_names.undocumented()):
        raise PluginError(
            f"{', '.join(silent)}: public, without a docstring; expected one for each. Write it, or begin the name with an "
            f"underscore."
        )
    index = NameIndex.of_everything()
    behaviors = behaviors_of(index)
    pages = {page: text for page, file in _FILES_OF_THE_ROOT.items() if (text := _text_of(file))}
    for path, module in public_names.modules().items():
        pages[f"reference/{path}.md"] = ModulePage(path, module, index, behaviors).text()
    return pages | {
        "reference/index.md": contents(index),
        "reference/behaviors.md": catalogue_pages.page(index),
        "reference/use.md": options_page(index.addresses),
        "reference/command-line.md": command_line_page(),
        "reference/schemas.md": schemas_page(),
    }


def _text_of(file: str) -> str:
    path = ROOT / file
    return path.read_text(encoding="utf-8") if path.exists() else ""


def _named(nav: Any) -> list[str]:
    """List the pages and patterns of a part of the navigation."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav or []
    return [name for part in parts for name in _named(part)]


def _filled(nav: Any, pages: list[str]) -> Any:
    """Put the pages in the place of the patterns that they match; a section without pages is left out."""
    if isinstance(nav, str):
        return [page for page in pages if fnmatch.fnmatchcase(page, nav)] if "*" in nav else nav
    if isinstance(nav, dict):
        return {title: filled for title, part in nav.items() if (filled := _filled(part, pages))}
    parts = [_filled(part, pages) for part in nav or []]
    return [one for part in parts if part for one in (part if isinstance(part, list) else [part])]
