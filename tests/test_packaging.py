"""What a user gets: the files of the wheel and of the source distribution, their metadata, and what works without extras."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from importlib.metadata import EntryPoint

import pytest

import refdist
from tests.packages import ROOT, built

PACKAGES = {"refdist", "refdist_bench", "refdist_command", "refdist_pytest", "simulator", "conformance"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling")
    with zipfile.ZipFile(built("wheel", tmp_path_factory.mktemp("wheel"))) as file:
        yield file


@pytest.fixture(scope="module")
def metadata(wheel):
    return Parser().parsestr(wheel.read(f"refdist-{refdist.__version__}.dist-info/METADATA").decode())


def test_the_wheel_has_every_file_of_its_packages_and_no_other(wheel):
    files = {name for name in wheel.namelist() if ".dist-info/" not in name}
    expected = {
        path.relative_to(ROOT).as_posix()
        for package in PACKAGES
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix not in (".nbi", ".nbc")
    }

    assert expected == files
    assert {"simulator/validation/collectives.csv", "conformance/templates/report.css", "refdist/py.typed"} <= files


def test_the_source_distribution_has_what_building_testing_and_reading_need(tmp_path):
    pytest.importorskip("hatchling")
    with tarfile.open(built("sdist", tmp_path)) as file:
        files = {name.partition("/")[2] for name in file.getnames()}

    tops = {name.partition("/")[0] for name in files}
    assert {"tests", "docs", "examples", "benchmarks", *PACKAGES} <= tops
    assert {"pyproject.toml", "README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "dev", "tox.ini"} <= files
    assert {"tests/test_packaging.py", "examples/mlp.py", "docs/testing.md"} <= files
    assert not {top for top in tops if top.startswith(".")} - {".gitignore"}
    assert not [name for name in files if "__pycache__" in name]


def test_one_version_is_everywhere(metadata):
    citation = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    releases = re.findall(r"^## (\S+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert refdist.__version__ == metadata["Version"] == citation
    assert refdist.__version__ == (releases or [citation])[0], "the newest release in CHANGELOG.md"


def test_the_metadata_say_where_the_project_is_and_what_it_runs_on(metadata):
    urls = dict(one.split(", ") for one in metadata.get_all("Project-URL"))
    versions = {one.rpartition(" ")[2] for one in metadata.get_all("Classifier") if one.count(" :: ") == 2}

    assert {"Homepage", "Documentation", "Changelog", "Issues"} == set(urls)
    assert {"3.11", "3.12", "3.13"} <= versions
    assert (">=3.11", "Apache-2.0", "text/markdown") == (
        metadata["Requires-Python"],
        metadata["License-Expression"],
        metadata["Description-Content-Type"],
    )


def test_what_is_large_comes_by_extras_only_and_all_of_it_by_one():
    always, everything = names(PROJECT["dependencies"]), set(re.split(r"[\[,\]]", EXTRAS["all"][0])[1:-1])

    assert not always & {"jax", "jaxlib", "numba", "keras", "pillow", "diastatic-malt"}
    assert {"jax", "jaxlib", "diastatic-malt"} <= names(EXTRAS["jax"])
    assert {"numba"} == names(EXTRAS["simulator"])
    assert EXTRAS.keys() - everything == {"all", "docs", "examples", "test"}


def names(requirements):
    return {re.match(r"[\w.-]+", one)[0] for one in requirements}


def test_every_extra_that_a_text_names_exists():
    files = [ROOT / "README.md", *(path for package in sorted(PACKAGES) for path in (ROOT / package).rglob("*.py"))]
    named = {
        (extra, path.name)
        for path in files
        for found in re.findall(r"refdist\[([\w,]+)\]", path.read_text())
        for extra in found.split(",")
    }

    assert {extra for extra, _ in named} <= EXTRAS.keys(), named
    assert ("all", "extras.py") in named


def test_every_entry_point_can_be_loaded(wheel):
    text = wheel.read(f"refdist-{refdist.__version__}.dist-info/entry_points.txt").decode()
    entries = re.findall(r"^([\w-]+) = (\S+)$", text, re.MULTILINE)

    assert {"refdist", "refdist-conformance", "host", "simulator", "jax"} == {name for name, _ in entries}
    for name, place in entries:
        assert EntryPoint(name, place, "").load() is not None


WITHOUT_EXTRAS = """
import pathlib, sys
for name in ("jax", "jaxlib", "flatbuffers", "malt", "numba", "keras", "PIL", "shtab"):
    sys.modules[name] = None  # as if it were not installed

import numpy as np
import refdist as tf
from conformance.__main__ import main as certify
from refdist_command.subcommands import main

tf.use("simulator", gpus=4)
strategy = tf.distribute.MirroredStrategy()
large = np.random.default_rng(0).normal(size=1 << 18).astype(np.float32)
total = strategy.reduce("SUM", strategy.run(lambda: tf.constant(large)), axis=None).numpy()
assert ((((large + large) + large) + large) == total).all()  # the bits of the kernels

def told(do, *words):
    try:
        do()
    except ImportError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(words)

told(lambda: tf.use("jax"), 'tf.use("jax") needs jax', "refdist[jax]")
told(lambda: tf.function(lambda: strategy.run(lambda: tf.constant(1.0)))(), "tf.function", "needs jax", "refdist[jax]")
told(lambda: tf.GradientTape().__enter__(), "refdist[jax]")
told(lambda: tf.testing.lint(lambda: 1), "refdist[jax]")
told(lambda: tf.keras, "refdist[keras]")
told(lambda: tf.io.encode_png(tf.zeros([1, 1, 3], tf.uint8)), "refdist[images]")
fabric = tf.simulator.presets.ethernet(2, 4, 100)
told(lambda: tf.simulator.predict_all_reduce(fabric, 1 << 20, "hierarchical"), "refdist[simulator]")

assert 0 == main(["predict", "all_reduce", "--cluster", "dgx_h100", "--size", "1MiB", "--library", "nccl"])
assert 2 == main(["predict", "send", "--cluster", "ethernet:devices_per_host=4,gigabits=100", "--hosts", "2", "--size", "1"])
assert 2 == main(["predict", "step", "math:pi", "--cluster", "dgx_h100"])
assert 2 == main(["bench"])
assert 2 == main(["--print-completion", "bash"])
try:
    main(["launch", "--workers", "1", __file__])
except SystemExit as refused:
    assert 2 == refused.code

assert 0 == certify(["run", "--mode", "quick", "--area", "LOCAL", "--area", "FUNC", "--in-process", "--html", "report.html"])
packages = pathlib.Path(np.__file__).parents[1]
print(*sorted({name.partition(".")[0] for name, module in sys.modules.items()
      if str(getattr(module, "__file__", None) or "").startswith(str(packages)) and not name.startswith("_")}))
"""
NEEDED = {
    "google", "google_crc32c", "greenlet", "jinja2", "markdown_it", "markupsafe", "mdurl", "ml_dtypes", "numpy", "optree",
    "pygments", "rich", "safetensors", "typing_extensions",
}  # fmt: skip


def test_certifying_and_virtual_devices_need_no_extra_and_what_does_names_it(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(WITHOUT_EXTRAS)
    done = subprocess.run(
        [sys.executable, str(program)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 0 == done.returncode, done.stdout + done.stderr
    for part in ("refdist[jax]", "refdist[simulator]", "refdist[completion]"):
        assert part in done.stderr
    assert "11 PASS" in done.stdout
    assert "7 needs function: pip install 'refdist[jax]'" in done.stdout
    assert not set(done.stdout.splitlines()[-1].split()) - NEEDED
