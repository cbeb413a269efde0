"""What makes compiling quick in tests stays in the process that runs them."""

import pathlib

import jax

from tests.children import run_python
from tests.compiling import ordinary_flags, quick_flags


def test_flags_are_added_once_to_those_that_are_there(monkeypatch):
    monkeypatch.setenv("XLA_FLAGS", "--one=1")
    once = quick_flags()
    monkeypatch.setenv("XLA_FLAGS", once)  # as in a worker of pytest-xdist

    assert once.startswith("--one=1")
    assert once == quick_flags()
    assert "--one=1" == ordinary_flags()


def test_children_compile_as_programs_of_users_do():
    done = run_python("import os; print(os.environ['XLA_FLAGS'], os.environ.get('JAX_COMPILATION_CACHE_DIR'))")

    assert f"{ordinary_flags()} None\n" == done.stdout


def test_what_is_compiled_is_kept_for_this_process():
    folder = pathlib.Path(jax.config.jax_compilation_cache_dir)
    before = set(folder.iterdir())
    jax.jit(lambda x: x * 1237 + 11)(3.0)

    assert 1 == len(set(folder.iterdir()) - before)
