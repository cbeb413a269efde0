"""Which way imports point, how large things are, and what `import refdist` loads."""

import ast
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PACKAGES = ("refdist", "simulator", "conformance")
FILES = sorted(path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
HEAVY = ("jax", "keras", "numba", "simulator", "tensorflow", "conformance")

SEAM = {"simulator/backend.py", "simulator/timed.py", "simulator/controls.py"}

# Lower modules first: a module of a layer imports only from its own layer and those before it.
LAYERS = [
    {"enums", "options", "nest", "device", "convert", "slices", "dtypes", "collection", "operators", "topology"},
    {"tensor", "backend", "layout", "stage"},
    {"values", "lockstep", "graph"},
    {"cluster"},
    {"context"},
    {"collectives", "variables"},
    {"distributed_variables"},
    {"plan", "policies"},
    {"arguments", "creation", "sharded"},
    {"extended", "reduction", "logical"},
    {"spec", "errors", "records", "data", "tpu_system"},
    {"strategy"},
    {"strategies"},
    {"input_iterator"},
    {"surface_v1", "signatures", "trace", "each_replica", "staged"},
    {"program"},
    {"function"},
    {"coordinator", "ops", "module", "storage", "train", "saved_model", "config", "io", "random", "estimator"},
    {"distribute", "compat", "tpu", "keras_hooks"},
]


def imported(file, top_level_only=False):
    """The modules that a file imports when it is loaded; those for types only do not count."""
    tree = ast.parse((ROOT / file).read_text())
    nodes = []
    for node in tree.body if top_level_only else ast.walk(tree):
        if isinstance(node, ast.Import):
            nodes += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            nodes += [node.module] + [f"{node.module}.{alias.name}" for alias in node.names]
    return set(nodes)


def tops(file):
    return {name.partition(".")[0] for name in imported(file)}


def lines(file):
    return (ROOT / file).read_text().count("\n")


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("refdist/")])
def test_the_core_imports_neither_the_simulator_nor_jax(file):
    banned = {"simulator", "conformance", "tensorflow", "numba"} | (set() if "backends/jax" in file else {"jax"})

    assert not tops(file) & banned


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("simulator/")])
def test_only_the_seam_and_what_users_ask_of_it_know_refdist(file):
    assert file in SEAM or "refdist" not in tops(file)


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("conformance/")])
def test_the_suite_knows_the_insides_of_refdist_only_to_break_them(file):
    assert file.startswith("conformance/faults/") or not tops(file) & {"refdist", "simulator"}


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("refdist/")])
def test_imports_point_downwards(file):
    def layer(module):
        return next((number for number, names in enumerate(LAYERS) if module in names), None)

    own = layer(file.split("/")[1].removesuffix(".py"))
    if own is None:
        return
    for name in imported(file, top_level_only=True):
        parts = name.split(".")
        if parts[0] == "refdist" and len(parts) > 1 and layer(parts[1]) is not None:
            assert layer(parts[1]) <= own, f"{file} imports {name}, which is further up"


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_one_idea_of_a_readable_size(file):
    assert lines(file) <= 450
    assert pathlib.Path(file).stem not in {"utils", "helpers", "common", "misc"}


def code_lines(file):
    text = (ROOT / file).read_text()
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    skipped = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, documented) and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    return sum(
        number not in skipped and bool(line.strip()) and not line.strip().startswith("#")
        for number, line in enumerate(text.splitlines(), 1)
    )


# The first part whose names fit a file owns it. What is left is the core; 2,960 of its lines are strategies alone, the rest is
# what datasets, workers, TPUs, parameter servers and staging need in its files.
PARTS = {
    "sessions": (("graph.py",), 150),
    "data": (("data/", "spec.py", "records.py", "io.py", "random.py", "input_iterator.py", "cluster.py"), 2550),
    "staging": (
        ("stage.py", "trace.py", "each_replica.py", "staged.py", "program.py", "function.py", "signatures.py")
        + tuple(
            f"backends/jax/{name}.py"
            for name in ("staged", "mesh", "means", "traced", "merging", "unrolling", "costs", "metering", "tracing")
        ),
        2200,
    ),
    "tpu": (("topology.py", "tpu", "strategies/tpu.py", "logical.py", "layout.py", "backends/jax/layout.py"), 650),
    "parameter servers": (
        ("strategies/parameter_server.py", "sharded.py", "coordinator.py")
        + ("distribute/coordinator.py", "distribute/partitioners.py"),
        420,
    ),
    "keras": (("keras_hooks/", "estimator.py"), 430),
    "core": (("",), 3650),
}


def part_of(file):
    return next(part for part, (names, _) in PARTS.items() if file.removeprefix("refdist/").startswith(names))


@pytest.mark.parametrize("part", PARTS)
def test_each_part_stays_small(part):
    owned = [file for file in FILES if file.startswith("refdist/") and part_of(file) == part]

    assert 0 < sum(code_lines(file) for file in owned) <= PARTS[part][1]


def loaded(program):
    code = f"import sys\n{program}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()


def test_importing_refdist_loads_nothing_heavy():
    assert [] == loaded("import refdist")


def test_that_the_test_above_can_fail():
    assert ["jax", "numba"] == loaded("import refdist, jax, numba")


def test_making_a_strategy_loads_the_simulator_but_neither_jax_nor_numba():
    program = "import refdist as tf\ntf.use('simulator', gpus=2)\ntf.distribute.MirroredStrategy().run(lambda: tf.constant(1.0))"

    assert ["simulator"] == loaded(program)


def test_the_two_other_packages_are_reached_from_refdist():
    assert ["simulator", "conformance"] == loaded("import refdist\nrefdist.simulator, refdist.conformance")


def test_the_other_modules_of_refdist_are_not_guessed():
    import refdist

    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        refdist.nothing  # noqa: B018
