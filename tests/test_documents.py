"""Programs on the pages run as printed, the README stands alone, and the site builds without a warning."""

import contextlib
import importlib
import io
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from conformance.catalogue import load
from docs_pages import catalogue_pages
from docs_pages.name_index import NameIndex
from refdist_command import subcommands

ROOT = pathlib.Path(__file__).parent.parent
README = ROOT / "README.md"
WITH_TESTS_OF_THEIR_OWN = {"docs/testing.md", "docs/certify.md"}  # test_testing_page.py, test_certify.py
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text() for path in [README, *sorted((ROOT / "docs").rglob("*.md"))]
}
EXAMPLE = re.compile(r"^```python\n(.*?)^```\n+```text\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILE = re.compile(r'^```python title="(\w+\.py)"\n(.*?)^```', re.DOTALL | re.MULTILINE)
EXAMPLES = [
    pytest.param(page, program, output, id=f"{page}-{number}")
    for page, text in PAGES.items()
    if page not in WITH_TESTS_OF_THEIR_OWN
    for number, (program, output) in enumerate(EXAMPLE.findall(text), start=1)
]
NOT_RUN = {  # fragments of programs that are not on the page as a whole, by page
    "docs/accuracy.md": 1,
    "docs/how-to/flax-equinox-optax-keras.md": 1,
    "docs/how-to/port-a-tensorflow-loop.md": 1,
    "docs/how-to/predict-a-step.md": 1,
    "docs/how-to/several-machines.md": 1,
    "docs/processes.md": 1,
    "docs/testing.md": 6,
    "docs/tutorial.md": 1,
}
SITE, REPOSITORY = "https://refdist.github.io/refdist/", "https://github.com/refdist/refdist/blob/main/"


def test_there_are_examples_in_the_readme_and_in_the_guide():
    pages = [one.values[0] for one in EXAMPLES]

    assert 3 == pages.count("README.md")
    assert 15 <= sum(page.startswith("docs/guide/") for page in pages)


@pytest.mark.parametrize(("page", "program", "output"), EXAMPLES)
def test_an_example_prints_what_the_page_says(page, program, output, tmp_path, monkeypatch):
    files = FILE.findall(PAGES[page])
    for name, text in files:
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(program, pathlib.Path(page).name, "exec"), {"__name__": "page"})
    finally:
        for name, _ in files:
            sys.modules.pop(name.removesuffix(".py"), None)

    assert output == printed.getvalue()


@pytest.mark.parametrize("page", [page for page in PAGES if page.startswith(("docs/guide/", "docs/explanation/"))])
def test_a_page_whose_programs_need_an_extra_says_how_to_install_it(page):
    needing = {
        "jax": r'import.* jax|tf\.function|use\("jax"',
        "simulator": r'use\("simulator", cluster=|simulator\.predict_',
    }
    programs = "".join(program for program, _ in EXAMPLE.findall(PAGES[page]))
    said = ",".join(re.findall(r"pip install 'refdist\[([\w,]+)\]'", PAGES[page])).replace("keras", "keras,jax")
    lacking = [extra for extra, use in needing.items() if re.search(use, programs) and extra not in said]

    assert [] == lacking or "all" in said


@pytest.mark.parametrize("page", sorted(PAGES.keys() - WITH_TESTS_OF_THEIR_OWN))
def test_a_program_has_its_output_or_is_a_file(page):
    text = PAGES[page]

    assert text.count("```python") == len(EXAMPLE.findall(text)) + len(FILE.findall(text))


def test_what_is_not_run_is_counted_and_is_python():
    fragments = {page: re.findall(r"^```py\n(.*?)^```", text, re.DOTALL | re.MULTILINE) for page, text in PAGES.items()}

    assert NOT_RUN == {page: len(found) for page, found in fragments.items() if found}
    for page, found in fragments.items():
        for fragment in found:
            compile(fragment, page, "exec")


COMMANDS = sorted(
    {
        re.split(r" #|; | [|>] ", line)[0].strip()
        for text in (*PAGES.values(), (ROOT / "CONTRIBUTING.md").read_text())
        for line in re.findall(r"^(?:    |\$ )((?:refdist|python -m conformance) .*)", text, re.MULTILINE)
    }
)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_a_page_is_one_that_there_is(command):
    words = shlex.split(command.replace("python -m conformance", "refdist conformance"))

    assert subcommands.parser().parse_args(words[1:])


def test_the_guide_has_the_errors_of_the_table():
    error, count, largest = errors("all")
    known, _, _ = errors("machines with public constants")
    told = f"Over {int(count):,} public measurements the mean error is {error}, and {largest} at 1 GB and above; on machines"

    assert f"{told} with public constants it is {known}." in " ".join(PAGES["docs/guide/time.md"].split())


def errors(row):
    """What the first table of the page has in a row: the error of all, of how many, and that of the largest."""
    cells = re.findall(rf"^\| {row} \| (\d.*) \|$", PAGES["docs/accuracy.md"], re.MULTILINE)[0]
    found = re.findall(r"([\d.]+%) \((\d+)\)", cells)
    return (*found[0], found[-1][0])


def test_the_readme_is_short():
    assert README.read_text().count("\n") <= 150


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `./dev docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    done = built("mkdocs.yml", folder)
    assert 0 == done.returncode, done.stderr
    return folder


def built(config, folder, before=""):
    arguments = ["build", "--strict", "--config-file", str(config), "--site-dir", str(folder)]
    program = f"{before}\nfrom mkdocs.__main__ import cli\ncli({arguments!r})"
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=200)


def test_the_site_builds_without_a_warning_and_has_a_place_for_every_public_name(site):
    index = NameIndex.of_everything()
    pages = {page.name: anchors(page) for page in (site / "reference").glob("*.html")}

    assert 1500 <= len(index.places)
    assert [] == [place for place in index.addresses.values() if not is_there(place, pages)]
    assert not is_there("tf.md#tf.typo", pages)


def test_every_behavior_has_an_anchor_and_is_linked_from_what_it_concerns(site):
    behaviors = catalogue_pages.behaviors_of(NameIndex.of_everything())
    ids = anchors(site / "reference" / "behaviors.html")
    concerning = {one.id for found in behaviors.values() for one in found}

    assert [] == [id for id in load() if id not in ids]
    assert set() == load().keys() - concerning
    assert "RUN-04" in {one.id for one in behaviors["tf.distribute.Strategy.run"]}
    assert 'href="behaviors.html#RUN-04"' in (site / "reference" / "tf.distribute.html").read_text()


def test_links_of_the_readme_are_absolute_and_lead_to_the_site_or_to_files(site):
    targets = re.findall(r"\]\(([^)]*)\)", README.read_text())
    pages = [target.removeprefix(SITE) for target in targets if target.startswith(SITE)]
    files = [target.removeprefix(REPOSITORY) for target in targets if target.startswith(REPOSITORY)]
    (picture,) = set(targets) - {SITE + page for page in pages} - {REPOSITORY + file for file in files}

    assert 10 <= len(pages)
    assert [] == [page for page in pages if not (site / page).exists()]
    assert [] == [file for file in files if not (ROOT / file).exists()]
    assert picture.endswith("refdist/main/docs/data_parallelism.svg")


def test_no_page_loads_anything_from_elsewhere(site):
    scripts, sheets = (
        r'<(?:script|img|iframe)[^>]* src="([^"]+)"',
        r'<link[^>]* rel="(?:stylesheet|preconnect)" href="([^"]+)"',
    )
    pages = [page.read_text() for page in site.rglob("*.html")]
    found = {address for page in pages for tag in (scripts, sheets) for address in re.findall(tag, page)}

    assert any(address.endswith("site.css") for address in found)
    assert not any("//" in address for address in found)
    assert not any('data-md-component="source"' in page for page in pages)  # which asks where the repository is shown


def test_what_is_copied_of_a_terminal_are_its_commands(site):
    page, style = ((site / name).read_text() for name in ("tutorial.html", "assets/site.css"))

    assert re.search(r'<div class="language-console highlight">.*?<code>.*?class="gp">\$', page, re.DOTALL)
    assert 'class="go">' in page
    assert ".highlight code[data-md-copying] :is(.gp, .go) { display: none; }" in style
    (script,) = (site / "assets" / "javascripts").glob("bundle.*.js")
    assert "data-md-copying" in script.read_text()  # which the theme sets while it copies


def test_the_options_of_use_the_commands_and_the_schemas_have_pages(site):
    options, commands, schemas = (
        (site / "reference" / f"{name}.html").read_text() for name in ("use", "command-line", "schemas")
    )

    assert all(f"<code>{option}" in options for option in ("cluster=None", "gpus=0", "tpus=None", 'numerics="off"'))
    assert all(f'id="refdist-{command}"' in commands for command in ("launch", "bench"))
    assert "conformance/report.schema.json" in schemas


def test_a_public_name_without_a_docstring_ends_the_build(tmp_path):
    before = "import refdist.testing as testing\ntesting.lint.__doc__ = None"
    done = built("mkdocs.yml", tmp_path / "site", before)

    assert 1 == done.returncode
    assert "tf.testing.lint: public, without a docstring" in done.stderr


def test_a_dead_link_and_a_missing_anchor_end_the_build(tmp_path):
    (tmp_path / "docs").mkdir()
    links = (
        "# Links\n\n[a](nowhere.md) [b](#nothing) [c](../refdist/nowhere.py) [fine](../refdist/data) [fine](#links)\n"
    )
    (tmp_path / "docs" / "index.md").write_text(links)
    settings = {"INHERIT": f"{ROOT}/mkdocs.yml", "nav": ["index.md"], "hooks": [f"{ROOT}/docs_pages/hooks.py"]}
    settings["exclude_docs"] = "reference/*\nchangelog.md\ncontributing.md"  # what is made, which takes time
    (tmp_path / "mkdocs.yml").write_text(json.dumps(settings))
    done = built(tmp_path / "mkdocs.yml", tmp_path / "site")
    found = re.findall(r"contains a link '(.*?)'", done.stderr)

    assert 1 == done.returncode
    assert ["#nothing", "../refdist/nowhere.py", "nowhere.md"] == sorted(found)


def anchors(page):
    return set(re.findall(r' id="([^"]+)"', page.read_text()))


def is_there(place, pages):
    page, _, anchor = place.partition("#")
    return anchor in pages[page.replace(".md", ".html")]
