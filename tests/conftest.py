"""What every test can rely on: a fresh choice of backend, and eight host devices in JAX."""

import gc
import os
import signal
import sys

# JAX fixes the number of its host devices when it starts.
os.environ["JAX_NUM_CPU_DEVICES"] = "8"
os.environ["JAX_PLATFORMS"] = "cpu"

from tests.compiling import ordinary_flags, quick_flags

os.environ["XLA_FLAGS"] = quick_flags()  # which XLA reads when it starts

import hypothesis
import pytest

import refdist
from refdist._core.backends import choosing
from refdist._core.base.where import HERE, Where
from tests.thorough import examples

# A shell lets what runs in its background ignore these, and children of tests would ignore them, too.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

hypothesis.settings.register_profile(
    "refdist",
    max_examples=examples(30, 100),
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[hypothesis.HealthCheck.differing_executors],  # one contract, several subclasses
)
hypothesis.settings.load_profile("refdist")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage among what all tests are made of: it stays until the end, and there is much of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def programs_compiled_once(tmp_path_factory):
    """Let JAX keep what it compiles for the rest of this session: most programs of tests are equal to earlier ones.

    No other process may use the folder, because JAX can read an entry that another one is still writing. So it is not in the
    environment, which children have too; and these compile as programs of users do.
    """
    if os.environ.get("REFDIST_TESTS_FORK"):
        return  # JAX does not survive it
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    jax.config.update("jax_compilation_cache_dir", str(tmp_path_factory.mktemp("programs")))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
    compilation_cache.reset_cache()  # whatever was compiled while tests were collected
    jax.numpy.zeros(1).block_until_ready()  # so that XLA has read its flags
    os.environ["XLA_FLAGS"] = ordinary_flags()


@pytest.fixture(autouse=True)
def fresh_backend(monkeypatch):
    """Let no test see the backend, or the scope, that another one chose."""
    monkeypatch.setattr(choosing, "_chosen", None)
    monkeypatch.delenv("REFDIST_BACKEND", raising=False)
    yield
    assert Where() == HERE.get(), "something was left entered"
    if "jax" in sys.modules:
        assert sys.modules["jax"].config.jax_default_device is None, "a device of JAX was left entered"


@pytest.fixture(params=["host", "simulator", "jax"])
def any_backend(request):
    """Run the test on each backend, with eight devices for replicas."""
    options = {"cpus": 8} if request.param == "jax" else {"gpus": 8}
    with refdist.using(request.param, **options) as chosen:
        yield chosen


@pytest.fixture
def names(any_backend):
    """The names of the devices for replicas on the backend under test."""
    kind = "CPU" if any_backend.name == "jax" else "GPU"
    return [f"{kind}:{index}" for index in range(8)]
