"""Which way imports point, how large things are, and what `import refdist` loads."""

import ast
import functools
import pathlib
import re
import subprocess
import sys

import pytest

from refdist._core.ops.late_names import homes_in
from tests.thorough import examples

ROOT = pathlib.Path(__file__).parent.parent
PACKAGES = ("refdist", "refdist_bench", "refdist_command", "simulator", "conformance")
FILES = sorted(path.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
CORE = [file for file in FILES if file.startswith("refdist/_core/") and file.count("/") > 2]
NAMESPACE = [file for file in FILES if file.startswith("refdist/") and not file.startswith("refdist/_core/")]
HEAVY = ("jax", "keras", "numba", "simulator", "tensorflow", "conformance")

# A room imports from itself and from those before it.
ROOMS = (
    "base",
    "devices",
    "seam",
    "compilers",
    "backends",
    "processes",
    "launching",
    "replicas",
    "variables",
    "clusters",
    "input",
    "strategies",
    "autograph",
    "staging",
    "saving",
    "ops",
    "tape",
    "files",
    "coordination",
    "keras",
    "testing",
    "pictures",
)
WITH_JAX = {"compilers", "backends", "processes"}
SIMULATOR = [file for file in FILES if file.startswith("simulator/") and file.count("/") > 1]
SIMULATOR_ROOMS = (
    "base",
    "loops",
    "machines",
    "algorithms",
    "libraries",
    "recordings",
    "predictions",
    "devices",
    "validation",
)
# What the simulator may know of refdist: how values look in notebooks, how programs are traced, and the seam.
KNOWING = {
    "simulator/__init__.py",
    "simulator/base/notebook_tables.py",
    "simulator/predictions/step_tracing.py",
    "simulator/predictions/step_work.py",
}
SEAM = ("simulator_backend", "cluster_backend", "timed", "controls", "whence", "order_of_events")
KNOWING |= {f"simulator/devices/{name}.py" for name in SEAM}


@functools.cache
def imported(file):
    """The modules that a file imports, also later and by their names as text; those for types only do not count."""
    tree = ast.parse((ROOT / file).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # "refdist._core.backends.host_backend:HostBackend" in a table, or the argument of import_module().
            names = re.findall(r"^((?:refdist|simulator)(?:\.\w+)+)(?::\w+|\.)?$", node.value)
            found |= {name for name in names if is_module(name)}
    return frozenset(found)


def is_module(name):
    path = ROOT / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def tops(file):
    return {name.partition(".")[0] for name in imported(file)}


def room_of(module):
    """The room of a module of the core; None for every other module."""
    return module.split(".")[2] if re.match(r"refdist\._core\.\w", module) else None


def test_every_folder_of_the_core_is_a_room():
    assert set(ROOMS) == {path.name for path in (ROOT / "refdist/_core").iterdir() if (path / "__init__.py").exists()}


@pytest.mark.parametrize("file", CORE)
def test_rooms_import_from_rooms_before_them(file):
    own = ROOMS.index(file.split("/")[2])
    for name in imported(file):
        room = room_of(name)
        assert room is None or ROOMS.index(room) <= own, f"{file} imports {name}, which is further up"
        assert room is not None or not name.startswith("refdist."), f"{file} imports {name}, which is made of the rooms"


def test_every_folder_of_the_simulator_is_a_room():
    assert set(SIMULATOR_ROOMS) == {path.parent.name for path in (ROOT / "simulator").glob("*/__init__.py")}


@pytest.mark.parametrize("file", SIMULATOR)
def test_rooms_of_the_simulator_import_from_rooms_before_them(file):
    own = SIMULATOR_ROOMS.index(file.split("/")[1])
    for name in imported(file):
        _, _, inside = name.partition("simulator.")
        room = inside.partition(".")[0]
        assert not inside or name.startswith("refdist") or room in SIMULATOR_ROOMS[: own + 1], f"{file} imports {name}"


@pytest.mark.parametrize("file", NAMESPACE)
def test_the_documented_namespace_defines_nothing(file):
    tree = ast.parse((ROOT / file).read_text())
    defined = [node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]

    assert [] == defined


@pytest.mark.parametrize("file", CORE)
def test_the_core_knows_jax_in_three_rooms_and_the_simulator_by_name_only(file):
    banned = {"conformance", "tensorflow", "numba"} | (
        set() if file.split("/")[2] in WITH_JAX else {"jax", "simulator"}
    )

    assert not tops(file) & banned


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("simulator/")])
def test_only_the_seam_and_what_users_ask_of_it_know_refdist(file):
    assert file in KNOWING or "refdist" not in tops(file)


@pytest.mark.parametrize("file", [file for file in FILES if file.startswith("conformance/")])
def test_the_suite_knows_the_insides_of_refdist_only_to_break_them(file):
    assert file.startswith("conformance/faults/") or not any(map(room_of, imported(file)))


def test_no_two_files_have_one_name():
    # Checks and faults have the names of their areas in the catalogue; the namespace has the documented ones.
    named = [file for file in FILES if not file.startswith(("conformance/checks/", "conformance/faults/", *NAMESPACE))]
    stems = [pathlib.Path(file).stem for file in named]

    assert [] == [
        file for file, stem in zip(named, stems, strict=True) if not stem.startswith("__") and stems.count(stem) > 1
    ]


def test_nobody_but_its_storage_writes_the_value_of_a_variable():
    writes = {file for file in FILES if re.search(r"\.held\b = ", (ROOT / file).read_text())}

    assert {"refdist/_core/replicas/values.py"} == writes


def test_one_module_knows_whether_jax_is_loaded():
    asked = re.compile(r"""["']jax["'] (not )?in sys\.modules|sys\.modules.{0,6}["']jax["']""")
    asking = {file for file in FILES if asked.search((ROOT / file).read_text())}

    assert {"refdist/_core/base/jax_facts.py"} == {file for file in asking if not file.startswith("conformance/")}


def test_one_module_of_the_core_turns_values_into_tensors():
    turning = {file for file in CORE if re.search(r"\.put\((convert\.)?to_array\(", (ROOT / file).read_text())}

    assert {"refdist/_core/variables/tensors.py"} == turning


def test_one_context_variable_says_where_the_code_is():
    # The others are no places: what a pipeline is delivering, what Keras is doing, who computes in unison on a clock.
    several = {"input/stage.py", "keras/keras_state.py", "keras/keras_steps.py"}
    owners = {file for file in CORE if re.search(r"= (contextvars\.)?ContextVar\(", (ROOT / file).read_text())}

    assert {"refdist/_core/base/where.py", *(f"refdist/_core/{one}" for one in several)} == owners


@pytest.mark.parametrize("file", FILES)
def test_a_file_is_one_idea_of_a_readable_size(file):
    assert (ROOT / file).read_text().count("\n") <= 400
    assert pathlib.Path(file).stem not in {"utils", "helpers", "common", "misc"}


def test_a_module_of_weight_has_a_test_file_of_its_own_in_the_folder_of_its_room():
    weighty = [file for file in CORE if (ROOT / file).read_text().count("\n") >= 80]
    expected = [re.sub(r"^refdist/_core/(\w+)/", r"tests/refdist/\1/test_", file) for file in weighty]

    assert [] == [file for file in expected if not (ROOT / file).exists()]
    assert len(weighty) > 70, "the rule above looks at something"


def loaded(program):
    code = f"import sys\n{program}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()


def test_importing_refdist_loads_nothing_heavy():
    assert [] == loaded("import refdist")


def test_importing_refdist_loads_no_room_before_a_name_is_asked_for():
    program = "import sys, refdist\nprint(*sorted(one for one in sys.modules if one.startswith(('numpy', 'refdist'))))"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    core = ("base", "base.keras_imports", "base.later_rooms", "ops", "ops.late_names", "wiring")

    assert ["refdist", "refdist._core", *(f"refdist._core.{name}" for name in core)] == run.stdout.split()


def test_devices_without_links_load_nothing_of_links():
    program = "import sys, refdist as tf\ntf.use('simulator', gpus=2)\ntf.constant(1.0)"
    program += "\nprint(*sorted(one for one in sys.modules if one.startswith('simulator')))"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    modules = ("simulator", "devices", "devices.open_simulator", "devices.simulator_backend", "loops", "loops.folding")
    assert [modules[0], *(f"simulator.{name}" for name in modules[1:])] == run.stdout.split()


def test_every_home_of_a_public_name_can_be_loaded_first():
    stubs = [*(ROOT / "refdist").rglob("*.pyi"), ROOT / "simulator/__init__.pyi"]
    homes = {home for stub in stubs for home, _ in homes_in(stub.read_text()).values()}
    program = "import importlib, os, sys, numpy, optree, refdist\n"
    program += "for name in sys.argv[1:]:\n    if os.fork() == 0:\n        importlib.import_module(name)\n        os._exit(0)\n"
    program += "    print(name * (os.wait()[1] != 0), end='')"
    asked = sorted(home for home in homes if home and not home.startswith("keras"))
    command = [sys.executable, "-c", program, *asked[:: examples(10, 1)]]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert ("", "") == (run.stdout, run.stderr)
    assert len(homes) > 100


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
