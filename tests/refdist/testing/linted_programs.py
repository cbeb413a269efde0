"""Looks at every step of a program before its first call."""

import contextlib
import warnings

from refdist._core.base.where import HERE
from refdist._core.staging.function import Function
from refdist._core.strategies.strategy import StrategyBase
from refdist.testing import lint


@contextlib.contextmanager
def linted(monkeypatch):
    """Collect the reports on all functions that are called, and on all that run in replicas, in a block."""
    reports, seen, alive = [], set(), []
    run_function, run_replicas = Function._run, StrategyBase.run

    def look(key, step, args, kwargs, strategy):
        if key in seen or HERE.get().draft is not None or HERE.get().function is not None:
            return
        seen.add(key)
        alive.append(step)  # so that no other one gets its id
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reports.append(lint(step, *args, strategy=strategy, **kwargs))

    def called(self, on, fn, args, kwargs):
        look((id(self), id(fn)), self if on is None else fn, args, kwargs, on)
        return run_function(self, on, fn, args, kwargs)

    def run(self, fn, args=(), kwargs=None, options=None):
        if not isinstance(fn, Function):
            look((id(self), getattr(fn, "__code__", id(fn))), fn, args, kwargs or {}, self)
        return run_replicas(self, fn, args, kwargs, options)

    with monkeypatch.context() as patched:
        patched.setattr(Function, "_run", called)
        patched.setattr(StrategyBase, "run", run)
        yield reports
