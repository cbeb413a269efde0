"""Fixtures that run a test on virtual replicas and workers, and check at its end that nothing was left half done.

pytest imports this module in every project of an environment that has refdist. So it imports nothing but pytest itself;
what needs refdist is in `checked_session.py`, which the first test that uses a fixture imports.
"""

import os
import sys
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from refdist_pytest.checked_session import Session

_BACKENDS = ("simulator", "jax", "host")
_MARKS = ("gpus", "workers", "cluster", "key", "checks")
_SESSION = pytest.StashKey["Session"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("refdist", "refdist: training on several replicas")
    group.addoption("--refdist-replicas", default="1,2,4", metavar="N,N", help="how many replicas tests run on")
    group.addoption("--refdist-backend", default="simulator", metavar="NAME,NAME", help="simulator, jax or host")
    group.addoption("--refdist-seed", default=0, type=int, metavar="N", help="the seed that every test starts with")
    group.addoption("--refdist-numerics", action="store_true", help="compute each reduction in float64 beside it")
    group.addoption("--refdist-watch", action="store_true", help="tell what replicas do to Python objects")
    parser.addini(
        "refdist_host_devices", "how many host devices JAX has, for tests that say tf.use('jax', cpus=N)", default=""
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config, args: list[str]) -> None:
    """Let JAX have enough devices before any conftest.py can start it, and `pytest --pyargs conformance --impl NAME` certify.

    The options of the latter exist only there, because projects can have their own.
    """
    if any(argument.partition("::")[0] == "conformance" for argument in args):
        early_config.pluginmanager.import_plugin("conformance.pytest_front")
    given = early_config.known_args_namespace  # wrong options are told before any test runs
    backends, counts, asked = (
        _named_backends(given.refdist_backend),
        _counts(given.refdist_replicas),
        _host_devices(early_config),
    )
    if "jax" in backends or asked:
        _ask_for_host_devices(max([asked, *counts] if "jax" in backends else [asked]))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "refdist(gpus=, workers=, cluster=, key=, checks=): how many replicas or workers a test has, on which simulator.Cluster, "
        "what tells its samples apart, and whether it is checked at its end.",
    )


def pytest_report_header(config: pytest.Config) -> str:
    return f"refdist: --refdist-seed={config.getoption('--refdist-seed')}"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "_refdist_session" not in metafunc.fixturenames:
        return
    cases = _cases(metafunc.config, _mark(metafunc.definition))
    names = [backend if count is None else f"{backend}-{count}" for backend, count in cases]
    metafunc.parametrize("_refdist_session", cases, indirect=True, ids=names)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "jax" in _backends(config):
        most = max(_replicas(config))
        _ask_for_host_devices(max([1, *(_host_devices_of(item, most) for item in items)]))


@pytest.fixture
def _refdist_session(request: pytest.FixtureRequest) -> Generator["Session"]:
    from refdist_command.shadows import require_own

    require_own("refdist", "simulator")  # a folder of tests is searched before installed packages
    from refdist_pytest.checked_session import Session

    # pytest gives the methods of unittest classes no parameters, nor what a test asks for by request.getfixturevalue().
    backend, count = getattr(request, "param", None) or _cases(request.config, _mark(request.node))[-1]
    config, options = request.config, {}
    if config.getoption("--refdist-numerics"):
        options["numerics"] = "check"
    if config.getoption("--refdist-watch"):
        options["watch"] = "python"
    seed: Any = config.getoption("--refdist-seed")
    session = Session(backend, count, _workers(request.node), seed, options, _mark(request.node))
    request.node.stash[_SESSION] = session
    with session.entered():
        yield session


@pytest.fixture
def refdist_strategy(_refdist_session: "Session") -> Any:
    """A strategy with as many replicas as --refdist-replicas or the marker says, on a backend of its own."""
    return _refdist_session.strategy()


@pytest.fixture
def refdist_cluster(_refdist_session: "Session") -> Any:
    """Virtual workers: `refdist_cluster.run(program)` calls program(strategy) on each, and lists the results."""
    return _refdist_session.cluster()


@pytest.fixture
def refdist_ledger(_refdist_session: "Session") -> Any:
    """The record of who got which sample in this test; refdist(key=...) says what tells samples apart."""
    return _refdist_session.ledger


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    __tracebackhide__ = True
    result = yield
    session = item.stash.get(_SESSION, None)
    if session is not None:
        session.check()  # here, and not when the fixture ends, so that the test fails and is not an error
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    session = item.stash.get(_SESSION, None)
    if session is not None and call.excinfo is not None:
        _hide_own_frames()
    report = yield
    if session is not None and report.failed:
        report.sections.append(("refdist", session.described()))
    return report


def _hide_own_frames() -> None:
    """Show a failure where the test and the program are, not inside of refdist; --full-trace shows all."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("refdist", "simulator", "refdist_pytest"):
            module.__dict__.setdefault("__tracebackhide__", True)


def _cases(config: pytest.Config, mark: dict[str, Any]) -> list[tuple[str, int | None]]:
    """The backends and the numbers of replicas that a test runs on; the cluster of a marker says how many devices it has."""
    if "cluster" in mark:
        return [("simulator", None)]
    counts = [mark["gpus"]] if "gpus" in mark else _replicas(config)
    return [(backend, count) for backend in _backends(config) for count in counts]


def _replicas(config: pytest.Config) -> list[int]:
    text: Any = config.getoption("--refdist-replicas")
    return _counts(text)


def _counts(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) for part in parts):
        raise pytest.UsageError(
            f"--refdist-replicas is {text!r}; expected numbers of at least 1 with commas between them. Write "
            f"--refdist-replicas 1,2,4."
        )
    return list(dict.fromkeys(map(int, parts)))


def _backends(config: pytest.Config) -> list[str]:
    text: Any = config.getoption("--refdist-backend")
    return _named_backends(text)


def _named_backends(text: str) -> list[str]:
    names = [part.strip() for part in text.split(",")]
    if not set(names) <= set(_BACKENDS):
        raise pytest.UsageError(
            f"--refdist-backend is {text!r}; expected some of {', '.join(_BACKENDS)}, with commas between them. Write "
            f"--refdist-backend simulator,jax."
        )
    return list(dict.fromkeys(names))


def _host_devices(config: pytest.Config) -> int:
    """How many host devices the configuration of a project asks for; 0 where it does not."""
    text: Any = config.getini("refdist_host_devices")
    if text and not text.strip().isdecimal():
        raise pytest.UsageError(
            f"refdist_host_devices is {text!r} in the configuration of pytest; expected a number. Write refdist_host_devices = 8."
        )
    return int(text or 0)


def _mark(node: pytest.Item) -> dict[str, Any]:
    """What the markers of a test say together; that of the function counts more than that of its class or module."""
    found: dict[str, Any] = {}
    for mark in reversed(list(node.iter_markers("refdist"))):
        if mark.args or not set(mark.kwargs) <= set(_MARKS):
            raise pytest.Collector.CollectError(  # which is shown without a traceback
                f"{node.nodeid} is marked with refdist({', '.join([*map(repr, mark.args), *mark.kwargs])}); expected some of "
                f"{', '.join(f'{name}=' for name in _MARKS)}. Write @pytest.mark.refdist(gpus=4)."
            )
        found.update(mark.kwargs)
    for name in ("gpus", "workers"):
        if name in found and (type(found[name]) is not int or found[name] < 1):
            raise pytest.Collector.CollectError(  # which is shown without a traceback
                f"{node.nodeid} is marked with refdist({name}={found[name]!r}); expected an int of at least 1. Give a number."
            )
    return found


def _workers(node: pytest.Item) -> int:
    """How many workers a test has: two, where it asks for several and does not say how many."""
    return _mark(node).get("workers", 2 if "refdist_cluster" in getattr(node, "fixturenames", ()) else 1)


def _host_devices_of(node: pytest.Item, most: int) -> int:
    """How many devices a test needs of JAX: workers share those that play GPUs, beside the processor itself."""
    count, workers = _mark(node).get("gpus", most), _workers(node)
    return count if workers == 1 else count * workers + 1


def _ask_for_host_devices(count: int) -> None:
    """Let JAX have so many host devices, whichever test starts it: afterwards it takes no more."""
    asked = os.environ.get("JAX_NUM_CPU_DEVICES", "")
    os.environ["JAX_NUM_CPU_DEVICES"] = str(max(count, int(asked) if asked.isdecimal() else 1))
    if "jax" in sys.modules:
        from refdist_pytest.checked_session import ask_jax

        ask_jax(int(os.environ["JAX_NUM_CPU_DEVICES"]))
