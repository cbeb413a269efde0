"""A ledger as text and as a picture: one line for each step, one column for each replica."""

import itertools
from collections.abc import Iterator, Sequence

from refdist._core.base.html_tables import page, paragraph, table
from refdist._core.input.ledger_findings import Delivery, shortened

_WIDTH = 80
_MOST_STEPS = 40


def printed(deliveries: Sequence[Delivery]) -> str:
    """Who got what, as text."""
    if not deliveries:
        return "nothing was delivered"
    return "\n".join(line for title, replicas, rows in _blocks(deliveries) for line in _lines(title, replicas, rows))


def drawn(deliveries: Sequence[Delivery]) -> str:
    """The same as tables of HTML."""
    if not deliveries:
        return page(paragraph("nothing was delivered"))
    return page(*[_table(title, replicas, rows) for title, replicas, rows in _blocks(deliveries)])


Rows = list[tuple[int, list[str]]]


def _blocks(deliveries: Sequence[Delivery]) -> Iterator[tuple[str, list[str], Rows]]:
    """The title, the columns and the rows of each epoch of each dataset."""
    ordered = sorted(deliveries, key=lambda one: (one.dataset, one.epoch))
    for (dataset, epoch), group in itertools.groupby(ordered, key=lambda one: (one.dataset, one.epoch)):
        mine = list(group)
        columns = sorted({(one.worker, one.replica) for one in mine})
        several = len({worker for worker, _ in columns}) > 1
        names = [f"replica {replica}" + (f" (worker {worker})" if several else "") for worker, replica in columns]
        steps = sorted({one.step for one in mine})
        by_place = {(one.step, one.worker, one.replica): _shown(one) for one in mine}
        rows = [(step, [by_place.get((step, *column), "") for column in columns]) for step in steps]
        total = sum(one.count for one in mine)
        title = f"dataset {dataset}, epoch {epoch}: {_counted(total, 'sample')} in {_counted(len(steps), 'step')}"
        yield title, names, rows


def _lines(title: str, names: list[str], rows: Rows) -> Iterator[str]:
    """The lines of one epoch; replicas that do not fit into the width are put below the first ones."""
    yield title
    widest = [max(len(name), *(len(row[column]) for _, row in rows)) for column, name in enumerate(names)]
    each = max(12, (_WIDTH - 6) // 4 - 2)
    widths = [min(width, max(each, len(name))) for width, name in zip(widest, names, strict=True)]
    start = 0
    while start < len(names):
        stop, used = start + 1, 6 + 2 + widths[start]
        while stop < len(names) and used + 2 + widths[stop] <= _WIDTH:
            used, stop = used + 2 + widths[stop], stop + 1
        yield ("  step" + "".join(f"  {names[i]:<{widths[i]}}" for i in range(start, stop))).rstrip()
        for step, row in rows[:_MOST_STEPS]:
            cells = "".join(f"  {_cut(row[i], widths[i]):<{widths[i]}}" for i in range(start, stop))
            yield f"{step:>6}{cells}".rstrip()
        if len(rows) > _MOST_STEPS:
            yield f"   ...  {len(rows) - _MOST_STEPS} more steps"
        start = stop


def _table(title: str, names: list[str], rows: Rows) -> str:
    cells = [[str(step), *[None if text == "-" else text for text in row]] for step, row in rows[:_MOST_STEPS]]
    more = len(rows) - _MOST_STEPS
    rest = [[f"{more} more steps", *[""] * len(names)]] if more > 0 else []
    return table(title, ["step", *names], [*cells, *rest])


def _shown(one: Delivery) -> str:
    return (shortened(one.keys, 6) if one.keys is not None else _counted(one.count, "sample")) if one.count else "-"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
