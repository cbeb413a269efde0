"""A front for pytest: `pytest --pyargs conformance --impl NAME` runs each case as a test, in the process of pytest.

So -k, --lf, -x, --pdb and -n of pytest-xdist work as they do for other tests. Without --impl it collects nothing.
The plugin of refdist registers it when pytest is asked for `conformance`, so that other projects can have options of these names.
"""

import pathlib
from collections.abc import Iterator
from functools import cache
from types import FunctionType
from typing import Any

import pytest

from conformance import catalogue, declarations
from conformance.case import missing_features, run_case
from conformance.checks import Check
from conformance.commands.run import files_by_name
from conformance.declarations import Declarations
from conformance.documented_places import sections
from conformance.foreground import at_check, open_here, require_one_process
from conformance.implementations import Implementation, UsageError, find, locate
from conformance.jobs import CHECKS
from conformance.report import reproduction
from conformance.results import Case, Result, Status
from conformance.selection import Selection


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("conformance", "conformance: promises of the documented tf.distribute.Strategy")
    group.addoption("--impl", action="append", default=[], metavar="NAME", help="what to certify; may be repeated")
    group.addoption("--xfail", action="append", default=[], metavar="[NAME=]FILE", help="what is expected to fail")
    group.addoption("--skip", action="append", default=[], metavar="[NAME=]FILE", help="what is not to be run")
    group.addoption("--checks", default=CHECKS, metavar="PLACE", help="package.module:function with other checks")


def pytest_ignore_collect(collection_path: pathlib.Path, config: pytest.Config) -> bool | None:
    """With an implementation, leave out the suite's own doctests."""
    here = pathlib.Path(__file__)
    return (
        True
        if config.getoption("--impl") and here.parent in collection_path.parents and collection_path != here
        else None
    )


def pytest_collect_file(file_path: pathlib.Path, parent: pytest.Collector) -> pytest.Collector | None:
    wanted = parent.config.getoption("--impl") and file_path == pathlib.Path(__file__)
    return Cases.from_parent(parent, path=file_path) if wanted else None


class Cases(pytest.File):
    """All cases of the implementations that are named."""

    def collect(self) -> Iterator["CaseItem"]:
        try:
            yield from self._items()
        except UsageError as error:
            raise pytest.UsageError(str(error)) from error

    def _items(self) -> Iterator["CaseItem"]:
        names: list[str] = list(dict.fromkeys(_option(self.config, "--impl")))
        checks: dict[str, Check] = locate(_option(self.config, "--checks"), FunctionType)()
        counts = {id: check.replicas for id, check in checks.items()}
        files = [files_by_name(_option(self.config, option), names) for option in ("--xfail", "--skip")]
        for name in names:
            implementation = find(name)
            require_one_process(implementation, sum(map(len, counts.values())))
            declared = Declarations(*(declarations.read_all(found[name], counts) for found in files))
            short = name.rpartition(":")[2]
            for check in checks.values():
                for count in check.replicas:
                    # With the whole id pytest finds the brackets in it, as it does when it reads what failed the last time.
                    title = f"{check.id}[{short}-{count}]"
                    item = CaseItem.from_parent(self, name=title, nodeid=f"{self.nodeid}::{title}")
                    item.case = implementation, check, count, declared
                    yield item


class CaseItem(pytest.Item):
    """One check with one replica count."""

    case: tuple[Implementation, Check, int, Declarations]

    def runtest(self) -> None:
        """Run the case; an error that is not declared is raised where it happened."""
        implementation, check, count, declared = self.case
        case = Case(check.id, count)
        reason = declared.skipped(case) or missing_features(implementation.description, check)
        if reason is not None:
            pytest.skip(reason)
        _opened(implementation)
        result = run_case(implementation, check, count, None if declared.expects(case) else _raise)
        result = declared.judged(case, result)
        if result.status is Status.UNSUPPORTED:
            pytest.skip(result.detail)
        if result.status in (Status.XFAIL, Status.DIVERGES):
            pytest.xfail(result.detail)
        if result.status is not Status.PASS:
            pytest.fail(result.detail, pytrace=False)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """Say what is promised and where, then what happened, and how to see it again."""
        implementation, check, count, _ = self.case
        behavior = catalogue.load()[check.id]
        excinfo.traceback = excinfo.traceback.cut(path=check.function.__code__.co_filename)
        failed = Result(check.id, implementation.name, count, Status.FAIL)
        checks = _option(self.config, "--checks")
        again = reproduction(Selection(checks="" if checks == CHECKS else checks), failed)
        what = super().repr_failure(excinfo, style="short")
        return f"{behavior.statement}\n{sections(behavior)[0].address}\n\n{what}\n\n{again}"

    def reportinfo(self) -> tuple[pathlib.Path, None, str]:
        """Name the test by its behavior."""
        return self.path, None, f"{self.name} {catalogue.load()[self.case[1].id].title}"


def _option(config: pytest.Config, name: str) -> Any:
    return config.getoption(name)


@cache
def _opened_names() -> set[str]:
    return set()


def _opened(implementation: Implementation) -> None:
    """Open an implementation when its first case runs, with the settings that it asks for."""
    if implementation.name not in _opened_names():
        open_here(implementation)
        _opened_names().add(implementation.name)


def _raise(error: BaseException) -> None:
    raise error.with_traceback(at_check(error))
