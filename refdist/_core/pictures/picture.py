"""Pictures of data parallelism: the devices of a strategy, its variables with their copies, and one step."""

import contextlib
import dataclasses
import itertools
import pathlib
from collections.abc import Callable, Generator, Sequence
from typing import Any

from refdist._core.base import entropy, nest
from refdist._core.base.callables import require_callable
from refdist._core.base.where import HERE, entered
from refdist._core.pictures import picture_svg, picture_text
from refdist._core.pictures.drawn_devices import Spot, spots_of
from refdist._core.pictures.drawn_variables import DrawnVariable, variables_of
from refdist._core.pictures.step_outline import Act, Deed, StepOutline, folded, outline
from refdist._core.replicas import context
from refdist._core.replicas.values import WRITING, DistributedValues
from refdist._core.staging.eager_functions import functions_run_eagerly, run_functions_eagerly
from refdist._core.strategies.parameter_server import ParameterServerStrategy
from refdist._core.variables.variable import LIVE


@dataclasses.dataclass(frozen=True, eq=False)
class Picture:
    """What `strategy.draw()` returns: text when printed, and a picture in notebooks and files."""

    title: str
    spots: Sequence[Spot]
    variables: Sequence[DrawnVariable]
    step: str = ""  # what was run; empty where nothing was
    acts: Sequence[Act] = ()
    notes: Sequence[str] = ()  # what is not drawn, and why

    def __str__(self) -> str:
        return picture_text.rendered(self)

    __repr__ = __str__

    def to_svg(self) -> str:
        """The picture, for pages and files: it needs nothing else."""
        return picture_svg.rendered(self)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def save(self, path: str | pathlib.Path) -> None:
        """Write a file of the kind that its suffix says: .svg or .txt."""
        suffix = pathlib.Path(path).suffix.lower()
        if suffix not in (".svg", ".txt"):
            raise ValueError(
                f"save() got {str(path)!r}; expected a name that ends with .svg or .txt. Use .svg for a picture, .txt for text."
            )
        text = self.to_svg() if suffix == ".svg" else f"{self}\n"
        pathlib.Path(path).write_text(text, encoding="utf-8")


def draw(strategy: Any, program: Any, args: Any, kwargs: Any, *, in_replicas: bool) -> Picture:
    """Draw a strategy, and what one run of a program does on it; see `Strategy.draw`."""
    context.require_cross_replica(strategy, "draw()")
    if (here := HERE.get()).draft is not None or here.graph is not None:
        raise RuntimeError(
            "draw() was called while a function or a graph is being written; expected a call outside, because nothing runs there "
            "that could be drawn. Call it before, or after."
        )
    if program is None:
        return Picture(
            _title(strategy), spots_of(strategy), variables_of(strategy), notes=_notes(strategy, others=False)
        )
    require_callable(program, "draw()")
    book = StepOutline(strategy)
    with _undone(book), _told(book):
        if in_replicas:
            result = strategy.run(program, args, kwargs)
            acts = [*_edge("gets", [args, kwargs or {}]), *folded(book.acts), *_edge("returns", result)]
        else:
            program(*args, **(kwargs or {}))
            acts = folded(book.acts)
        variables = variables_of(strategy)
    name = getattr(program, "__name__", type(program).__name__)
    step = f"One run of {name} on each replica" if in_replicas else f"One run of {name}"
    return Picture(_title(strategy), spots_of(strategy), variables, step, acts, _notes(strategy, others=book.others))


@contextlib.contextmanager
def _undone(book: StepOutline) -> Generator[None]:
    """Put every variable back at the end of a block, and the sources of random numbers, whatever ends it."""
    back: list[Callable[[], None]] = []
    try:
        with WRITING:
            back += [one.storage.put_aside() for one in list(LIVE.values()) if one.container is None]
        with entropy.undone():
            yield
    finally:
        try:
            _each(back, book.undo)
        except BaseException:  # a Ctrl-C; putting a value back twice does no harm
            _each(back, book.undo)
            raise


def _each(*actions: Sequence[Callable[[], None]]) -> None:
    for action in itertools.chain(*actions):
        action()


@contextlib.contextmanager
def _told(book: StepOutline) -> Generator[None]:
    """Tell a journal what happens in a block, in which functions run in Python; nobody else is told of what is undone."""
    before = functions_run_eagerly()
    try:
        run_functions_eagerly(True)
        with entered(journal=book, ledger=None):
            yield
    finally:
        try:
            run_functions_eagerly(before)
        except BaseException:  # a Ctrl-C
            run_functions_eagerly(before)
            raise


def _edge(title: str, value: Any) -> list[Act]:
    """What each replica gets or returns, where that is any tensor."""
    leaves = nest.flatten(value) if nest.is_container(value) else [value]
    mine = [leaf.values[0] if isinstance(leaf, DistributedValues) and not leaf.is_variable else leaf for leaf in leaves]
    text = outline([leaf for leaf in mine if not hasattr(leaf, "assign")])
    each = any(isinstance(leaf, DistributedValues) for leaf in leaves)
    return [Act(Deed.EDGE, title, f"{text} on each replica" if each else text)] if text else []


def _title(strategy: Any) -> str:
    plan, count = strategy.extended.plan, strategy.num_replicas_in_sync
    if isinstance(strategy, ParameterServerStrategy):
        homes, workers = len(plan.homes), strategy.worker_count
        return f"{type(strategy).__name__}: {_counted(workers, 'worker')}, {_counted(homes, 'parameter server')}"
    workers = f" on {plan.workers} workers" if plan.workers > 1 else ""
    return f"{type(strategy).__name__}: {_counted(count, 'replica')}{workers}"


def _notes(strategy: Any, *, others: bool) -> list[str]:
    notes: list[str] = []
    if isinstance(strategy, ParameterServerStrategy):
        notes.append("Which worker does what, and when, is not drawn: each goes at its own pace.")
    if strategy.extended.plan.workers > 1:
        notes.append("Seen from one worker; the others do the same.")
    if others:
        notes.append("What other strategies do is not drawn.")
    return notes


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
