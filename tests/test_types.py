"""What type checkers say about programs: those of users and of the pages pass, and mistakes are found where they are."""

import ast
import importlib
import json
import pathlib
import re
import subprocess
import sys

import jedi
import pytest

import refdist
from refdist._core.backends import choosing
from refdist._core.backends.backend_options import ClusterOptions, CountOptions, LookOptions
from refdist._core.seam.inspection import LOOKS

ROOT = pathlib.Path(__file__).parent.parent
TYPED = ROOT / "tests/typed"
STUBS = sorted(path for path in (ROOT / "refdist").rglob("*.pyi"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

# What checkers say about right programs for which nothing of refdist's can be done.
EXCUSED = {
    r"_initializer=tf\.keras|\.result\(\)": "Keras has no annotations, so its defaults pass for all that it takes and returns",
    r"for find in \(lambda: tf\.nn\.ctc_loss": "names that are missing, as the page says",
    r"predict_step\(.*\*\*": "options in a dict of different types",
    r"^    *run\(step, args=|getattr\(variable, in_replicas\)": "a loop over values of different types",
    r"np\.float32\(\[": "numpy's stubs know of no lists here",
    r"verbose=": "Keras has no annotations, so its defaults pass for all that it takes",
    r"\.variables\b": "only a variable that a partitioner has cut has these",
}
OF_PAGES = """
[mypy-pages.*]
disallow_untyped_defs = False
disallow_incomplete_defs = False
disallow_untyped_calls = False
disallow_untyped_decorators = False
disallow_any_generics = False
disallow_subclassing_any = False
warn_return_any = False
disable_error_code = import-untyped

[mypy-jax.*,flax.*,numba.*,IPython.*]
follow_imports = skip
"""


def programs_of_pages():
    for page in PAGES:
        text = page.read_text()
        for block in re.finditer(r"^```python\n(.*?)^```", text, re.S | re.M):
            if "import refdist" in block[1]:
                yield f"{page.stem}_{text[: block.start()].count(chr(10)) + 2}.py", block[1]
    for example in sorted((ROOT / "examples").glob("*.py")):
        yield example.name, example.read_text()


def marked(text):
    return {number for number, line in enumerate(text.splitlines(), 1) if line.endswith("# mistake")}


def found_by_basedpyright(folder):
    config = {"typeCheckingMode": "standard", "strict": ["typed"], "reportPossiblyUnboundVariable": False}
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    for one in json.loads(run.stdout)["generalDiagnostics"]:
        if one["severity"] == "error":
            yield pathlib.Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"]


def found_by_mypy(folder):
    (folder / "mypy.ini").write_text(f"[mypy]\nstrict = True\nexplicit_package_bases = True\n{OF_PAGES}")
    files = [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.py"))]
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-error-summary", *files]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert "" == run.stderr
    for file, line, message in re.findall(r"^(.+?):(\d+): error: (.*)$", run.stdout, re.M):
        yield pathlib.Path(file).name, int(line), message


@pytest.mark.parametrize("check", [found_by_basedpyright, found_by_mypy])
def test_a_checker_finds_all_mistakes_and_nothing_in_right_programs(check, tmp_path):
    texts = {path.name: path.read_text() for path in TYPED.glob("*.py")}
    pages = dict(programs_of_pages())
    for folder, programs in [("typed", texts), ("pages", pages)]:
        (tmp_path / folder).mkdir()
        for name, text in programs.items():
            (tmp_path / folder / name).write_text(text)
    lines = {name: text.splitlines() for name, text in (texts | pages).items()}

    found = {
        f"{name}:{line}: {lines[name][line - 1].strip()}": message
        for name, line, message in check(tmp_path)
        if not any(re.search(pattern, lines[name][line - 1]) for pattern in EXCUSED)
    }

    assert len(pages) > 15
    expected = {
        f"mistakes.py:{line}: {lines['mistakes.py'][line - 1].strip()}" for line in marked(texts["mistakes.py"])
    }
    assert set() == expected - found.keys(), "not found"
    assert {} == {place: message for place, message in found.items() if place not in expected}


@pytest.mark.parametrize(
    ("program", "name"),
    [
        ("tf.redu", "reduce_sum"),
        ("tf.math.binc", "bincount"),
        ("tf.train.late", "latest_checkpoint"),
        ("tf.simulator.pred", "predict_step"),
        ("tf.compat.as_s", "as_str"),
        ("tf.Variable(1.0).assi", "assign_add"),
    ],
)
def test_an_editor_completes_a_name_before_it_is_loaded(program, name):
    project = jedi.Project(ROOT, sys_path=[str(ROOT), *sys.path])

    assert name in [one.name for one in jedi.Script(f"import refdist as tf\n{program}", project=project).complete()]


@pytest.mark.parametrize("stub", STUBS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_stub_lists_what_it_imports_which_is_what_the_module_has(stub):
    tree = ast.parse(stub.read_text())
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    imported = {alias.asname for node in imports for alias in node.names if alias.asname}
    (listed,) = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    name = ".".join(stub.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    module = importlib.import_module(name)

    assert sorted(imported) == sorted(listed)
    assert sorted(imported) == sorted(one for one in dir(module) if not one.startswith("_"))
    assert all(hasattr(module, one) for one in imported)


def test_every_public_module_has_a_stub_but_those_that_are_programs_or_others():
    files = {path for path in (ROOT / "refdist").rglob("*.py") if "_core" not in path.parts}
    without = {path.relative_to(ROOT / "refdist").as_posix() for path in files if path.with_suffix(".pyi") not in STUBS}

    assert {"__main__.py", "launch.py", "compat/v2.py"} == without


def test_checkers_know_the_options_that_backends_take():
    counts = CountOptions.__annotations__.keys() - LookOptions.__annotations__.keys()
    cluster = ClusterOptions.__annotations__.keys() - LookOptions.__annotations__.keys()
    opened = importlib.import_module("simulator.devices.open_simulator").open_simulator.__annotations__.keys()

    assert LOOKS.keys() == LookOptions.__annotations__.keys()
    assert {"cpus", "gpus", "tpus"} == counts
    assert opened - {"counts", "return"} == cluster
    for looks in LOOKS.values():
        assert any(str(looks) == str(typed.__args__) for typed in LookOptions.__annotations__.values())


@pytest.mark.parametrize("name", ["simulator", "host", "jax"])
def test_a_mistaken_option_is_told_when_the_program_runs_too(name):
    with pytest.raises(TypeError, match="asked for gpu; expected cpus=, gpus= and tpus="):
        refdist.use(name, gpu=4)
    assert choosing.current().name == "simulator"
