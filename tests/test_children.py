"""A child process tests this checkout, and not another one that is installed."""

import pathlib

import pytest

from tests.children import ROOT, run_python


@pytest.mark.parametrize("package", ["refdist", "simulator", "conformance"])
def test_a_child_imports_the_packages_beside_the_tests(monkeypatch, tmp_path, package):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)

    done = run_python(f"import {package}; print({package}.__file__)")

    assert "" == done.stderr
    assert ROOT / package / "__init__.py" == pathlib.Path(done.stdout.strip())
    assert ROOT == pathlib.Path(__file__).parents[1]


def test_a_child_has_the_environment_of_the_tests_and_what_it_is_given(monkeypatch):
    monkeypatch.setenv("INHERITED", "yes")

    done = run_python("import os; print(os.environ['INHERITED'], os.environ['GIVEN'])", GIVEN="too")

    assert "yes too\n" == done.stdout
