"""A run as one HTML page: no scripts, no network, no fonts."""

from collections.abc import Sequence
from importlib import resources

from refdist_bench.bench_table import row
from refdist_bench.goals import found_words, is_met
from refdist_bench.pictures import HEIGHT, WIDTH, bars, costs_over_replicas, trends
from refdist_bench.saved_run import Result, Run


def render(run: Run, earlier: Sequence[Run] = ()) -> str:
    """Draw a run; with earlier ones, also how figures changed."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("refdist_bench", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    groups: dict[str, list[Result]] = {}
    for result in run.results:
        groups.setdefault(result.group, []).append(result)
    judged = [result for result in run.results if is_met(result) is not None]
    return environment.get_template("bench.html.jinja").render(
        run=run,
        groups=groups,
        row=row,
        bars=bars,
        found_words=found_words,
        judged=judged,
        missed=[result for result in judged if not is_met(result)],
        costs=costs_over_replicas(run.results),
        trends=trends([*earlier, run]),
        width=WIDTH,
        height=HEIGHT,
        style=(resources.files("refdist_bench") / "templates" / "bench.css").read_text(encoding="utf-8"),
    )
