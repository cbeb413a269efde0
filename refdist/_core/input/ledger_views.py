"""A ledger as text and as a picture: one line for each step, one column for each replica."""

import html
import itertools
from collections.abc import Iterator, Sequence

from refdist._core.input.ledger_findings import Delivery, shortened

_WIDTH = 80
_MOST_STEPS = 40
_STYLE = (
    "<style>.refdist-ledger{border-collapse:collapse;font:13px ui-monospace,monospace;color:inherit}"
    ".refdist-ledger th,.refdist-ledger td{border:1px solid #8886;padding:2px 8px;text-align:left;vertical-align:top}"
    ".refdist-ledger caption{text-align:left;padding:6px 0;font-weight:bold}"
    ".refdist-ledger .none{background:#d9770633}</style>"
)


def printed(deliveries: Sequence[Delivery]) -> str:
    """Who got what, as text."""
    if not deliveries:
        return "nothing was delivered"
    return "\n".join(line for title, replicas, rows in _blocks(deliveries) for line in _lines(title, replicas, rows))


def drawn(deliveries: Sequence[Delivery]) -> str:
    """The same as tables of HTML, which take their colors from the page."""
    if not deliveries:
        return "<p>nothing was delivered</p>"
    tables = [_table(title, replicas, rows) for title, replicas, rows in _blocks(deliveries)]
    return _STYLE + "".join(tables)


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
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    body = "".join(
        f"<tr><th>{step}</th>{''.join(_cell(text) for text in row)}</tr>" for step, row in rows[:_MOST_STEPS]
    )
    more = len(rows) - _MOST_STEPS
    rest = f'<tr><td colspan="{len(names) + 1}">{more} more steps</td></tr>' if more > 0 else ""
    caption = f"<caption>{html.escape(title)}</caption>"
    return f'<table class="refdist-ledger">{caption}<tr><th>step</th>{head}</tr>{body}{rest}</table>'


def _cell(text: str) -> str:
    return '<td class="none">nothing</td>' if text == "-" else f"<td>{html.escape(text)}</td>"


def _shown(one: Delivery) -> str:
    return (shortened(one.keys, 6) if one.keys is not None else _counted(one.count, "sample")) if one.count else "-"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 3]}..."


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
