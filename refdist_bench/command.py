"""What `refdist bench` does with its options."""

import argparse
import pathlib
from collections.abc import Sequence

from refdist_bench import bench_table, own_step, regressions
from refdist_bench.benchmark_case import Case
from refdist_bench.kept_interrupt import Interrupt, kept_interrupt
from refdist_bench.saved_run import Run, UnreadableRun, load
from refdist_bench.settings import DEVICE_COUNTS, Settings

CANCELLED = 130  # as a shell has it for what ends by Ctrl-C


class CommandRefused(Exception):
    """The command line asks for what cannot be done."""


def perform(options: argparse.Namespace) -> int:
    """Measure, or read what was measured, and show it in all the ways that were asked for; return the exit code."""
    try:
        _require_sense(options)
        before = load(options.compare) if options.compare else None  # before minutes are spent
        earlier = [load(path) for path in _saved_runs(options.trend)]
        if options.list and not options.step:
            return _listed(options)
        with kept_interrupt() as interrupt:
            if options.step:
                return _own(options, before, interrupt)
            found = load(options.saved) if options.saved else _measured(options, interrupt)
    except (UnreadableRun, own_step.UnusableStep) as error:
        raise CommandRefused(str(error)) from error
    print(bench_table.markdown(found) if options.markdown else "\n".join(bench_table.lines(found)))
    if options.json:
        found.save(options.json)
    if options.html:
        from refdist_bench.bench_page import render

        options.html.write_text(render(found, earlier), encoding="utf-8")
    if interrupt.has_come:
        return CANCELLED
    return int(_slower(before, found, options.fail_above) or any(not result.sides for result in found.results))


def _slower(before: Run | None, found: Run, bound: float | None) -> bool:
    """Say what became slower since an earlier run, where there is one, and return whether anything did by more than the bound."""
    if before is None:
        return False
    changes = regressions.changes(before, found)
    print("\n".join(regressions.lines(changes, bound)))
    return bound is not None and any(one.factor > bound for one in changes)


def _require_sense(options: argparse.Namespace) -> None:
    if options.fail_above is not None and not options.compare:
        raise CommandRefused(
            "got --fail-above without --compare; expected a saved run to compare with. Add --compare RUN.json."
        )


def _saved_runs(paths: Sequence[str]) -> list[str]:
    """Return the files among paths, and those in the folders among them."""
    found: list[str] = []
    for path in paths:
        folder = pathlib.Path(path)
        found += sorted(map(str, folder.glob("*.json"))) if folder.is_dir() else [path]
    return found


def _settings(options: argparse.Namespace) -> Settings:
    """Start JAX with as many host devices as are asked for, and return what to measure on what is there."""
    from refdist_bench.devices_at_hand import ask_for_host_devices, real_devices

    ask_for_host_devices(options.devices or max(options.replicas or DEVICE_COUNTS))
    devices = min(len(real_devices()), options.devices or len(real_devices()))
    return Settings(options.backend, options.replicas, devices, options.quick)


def _cases(options: argparse.Namespace) -> list[Case]:
    from refdist_bench.bench_run import chosen
    from refdist_bench.cases.all_cases import all_cases

    cases = chosen(all_cases(_settings(options)), options.pattern)
    if not cases:
        raise CommandRefused(
            f"-k {options.pattern} leaves no case; expected a part of a name. `refdist bench --list` has them."
        )
    return cases


def _listed(options: argparse.Namespace) -> int:
    print("\n".join(f"{case.group}: {case.name}" for case in _cases(options)))
    return 0


def _measured(options: argparse.Namespace, interrupt: Interrupt) -> Run:
    from refdist_bench.bench_run import run
    from refdist_bench.peers.peer_process import PeerFailed

    try:
        return run(_cases(options), interrupt, quick=options.quick, tensorflow=options.peer)
    except PeerFailed as error:
        raise CommandRefused(str(error)) from error


def _own(options: argparse.Namespace, before: Run | None, interrupt: Interrupt) -> int:
    """Measure a user's step on each backend."""
    from refdist_bench.bench_run import CASE_SECONDS, QUICK_SECONDS
    from refdist_bench.measuring import measure
    from refdist_bench.saved_run import Result
    from refdist_bench.surroundings import surroundings

    settings = _settings(options)
    results: list[Result] = []
    for backend in settings.backends:
        counts = settings.device_counts() if backend == "jax" else options.replicas or DEVICE_COUNTS
        if not counts:
            print(f"{backend}: there are {settings.devices} devices, too few for {options.replicas}.")
            continue
        items: dict[int, float | None] = {}
        seconds = QUICK_SECONDS if options.quick else 3 * CASE_SECONDS
        case = own_step.own_case(options.step, backend, counts, items)
        try:
            result = measure(case, seconds, obey=interrupt.obey)
        except KeyboardInterrupt:
            if not results:
                raise
            break
        results.append(result)
        print("\n".join(own_step.lines(result, items)))
    found = Run(surroundings(), tuple(results), 0.0)
    if options.json:
        found.save(options.json)
    if len(results) < len(settings.backends) and interrupt.has_come:
        return CANCELLED
    return int(_slower(before, found, options.fail_above) or any(not result.sides for result in results))
