"""Judges the numbers of a reduction against float64: overflow, what is not finite, and what rounding has lost."""

import sys
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from refdist._core.base.call_sites import Site, call_site, frames_to_program, where
from refdist._core.base.dtypes import is_float
from refdist._core.base.enums import ReduceOp
from refdist._core.base.errors import NumericsError, NumericsWarning
from refdist._core.replicas import lockstep

LEAST_LOSS = 1e-3
"""A loss is told from this part of the result on, or from 2 sqrt(n) units of the dtype's precision, if these are more."""


class allow_nonfinite:  # noqa: N801 - reads as a function, and is a context manager that greenlets may leave in any order
    """Allow infinities and NaN in reductions for a block of code, such as one that looks for a loss scale.

    >>> import refdist as tf
    >>> with tf.testing.allow_nonfinite():
    ...     pass
    """

    blocks = 0  # how many are open; replicas pause inside of theirs, so this holds while they meet

    def __enter__(self) -> None:
        allow_nonfinite.blocks += 1

    def __exit__(self, *exception: object) -> None:
        allow_nonfinite.blocks -= 1


class Judge(NamedTuple):
    """A reduction in a program, as its inputs are judged after a run."""

    op: ReduceOp
    site: Site
    finite: bool  # whether all numbers should be

    def __call__(self, operands: np.ndarray[Any, Any]) -> None:
        """Judge the operands of all replicas, one in each row."""
        judge(operands, self.op, None, self.site, finite=self.finite)


def judge_reduction(tensors: Sequence[Any], op: ReduceOp, result: Any) -> None:
    """Judge a reduction that was just carried out."""
    operands = [np.asarray(tensor) for tensor in tensors]
    if _is_number(operands[0].dtype) and len(operands) > 1:
        judge(np.stack(operands).reshape(len(operands), -1), op, np.ravel(np.asarray(result)), None)


def judge(
    operands: np.ndarray[Any, Any],
    op: ReduceOp,
    result: np.ndarray[Any, Any] | None,
    site: Site | None,
    *,
    finite: bool = True,
) -> None:
    """Raise or warn if a reduction of rows is not what it is in float64."""
    if not operands.size or not _is_number(operands.dtype):
        return
    floats = is_float(operands.dtype)
    exact_rows = operands.astype(np.float64) if floats else operands.astype(object)
    count, may_be_infinite = len(operands), allow_nonfinite.blocks > 0 or not finite
    with np.errstate(all="ignore"):
        if floats and not np.isfinite(exact_rows).all():
            if not may_be_infinite:
                raise NumericsError(_not_finite(exact_rows, op, site))
            return
        sums = np.add.accumulate(exact_rows, axis=0)
        exact = sums[-1] / count if op is ReduceOp.MEAN else sums[-1]
        own = _folded(operands, op) if result is None else result
        if not floats:
            if op is ReduceOp.SUM and (own.astype(object) != exact).any():
                raise NumericsError(_overflow(sums, exact, op, operands.dtype, site))
            return
        if not np.isfinite(own.astype(np.float64)).all():
            if not may_be_infinite:
                raise NumericsError(_overflow(sums, exact, op, operands.dtype, site))
            return
        _judge_loss(operands, exact_rows, exact, own, op, site)


def _judge_loss(
    operands: np.ndarray[Any, Any], rows: Any, exact: Any, own: np.ndarray[Any, Any], op: ReduceOp, site: Site | None
) -> None:
    """Warn if rounding has lost more than a small part, in this order of the replicas or in another one."""
    count = len(rows)
    sizes = np.sqrt((rows * rows).sum(axis=1)) / (count if op is ReduceOp.MEAN else 1)
    smallest = sizes[sizes > 0].min(initial=np.inf)
    # Against the smallest operand where they all but cancel: only who loses whole operands has lost something.
    scale = max(float(np.sqrt((exact * exact).sum())), 0.0 if np.isinf(smallest) else float(smallest))
    precision = float(np.spacing(np.ones((), operands.dtype)))
    threshold = max(LEAST_LOSS, 2 * count**0.5 * precision)
    if scale == 0:
        return

    def loss_of(found: np.ndarray[Any, Any]) -> float:
        return float(np.sqrt(((found.astype(np.float64) - exact) ** 2).sum())) / scale

    orders = {"backwards": operands[::-1], "from small to large": operands[np.argsort(sizes, kind="stable")]}
    losses = {"as it was done": loss_of(own)} | {name: loss_of(_folded(rows, op)) for name, rows in orders.items()}
    worst = max(losses, key=lambda name: losses[name])
    if losses[worst] <= threshold:
        return
    place = int(np.argmax(np.abs(own.astype(np.float64) - exact)))
    large = float(np.sqrt((rows * rows).sum(axis=1)).max()) / (count if op is ReduceOp.MEAN else 1)
    why = "large operands cancel" if large > 2 * scale else "small operands are lost in large ones"
    spread = max(losses.values()) - min(losses.values())
    if spread > threshold:
        said = ", ".join(f"{loss:.1%} {name}" for name, loss in losses.items())
        order = f" The result depends on the order of the replicas; it loses {said}."
    else:
        order = ""
    warnings.warn(
        f"{_what(op, operands.dtype)} over {count} replicas at {_line(site)} loses {losses['as it was done']:.1%} of the result, "
        f"because {why}: element {place} is {float(own[place]):.7g}, and {float(exact[place]):.7g} in float64.{order} Expected a "
        f"loss of at most {threshold:.1%}. Add up in a wider dtype, or bring the operands to one scale before.",
        NumericsWarning,
        stacklevel=frames_to_program(),
    )


def _folded(operands: np.ndarray[Any, Any], op: ReduceOp) -> np.ndarray[Any, Any]:
    """Add rows in their order, each sum rounded to their dtype."""
    total = operands[0]
    for row in operands[1:]:
        total = np.add(total, row, dtype=operands.dtype)
    return total / np.asarray(len(operands), operands.dtype) if op is ReduceOp.MEAN else total


def _is_number(dtype: np.dtype[Any]) -> bool:
    return is_float(dtype) or dtype.kind in "iu"


def _what(op: ReduceOp, dtype: Any) -> str:
    return f"The reduction {op.name} of {dtype}"


def _not_finite(rows: Any, op: ReduceOp, site: Site | None) -> str:
    replica, place = (int(number) for number in np.argwhere(~np.isfinite(rows))[0])
    others = [int(number) for number in np.flatnonzero((~np.isfinite(rows)).any(axis=1))]
    those = f"replica {replica} brings" if len(others) == 1 else f"replicas {', '.join(map(str, others[:4]))} bring"
    return (
        f"{_what(op, 'floats')} at {_line(site)} got numbers that are not finite: {those} {rows[replica, place]} (first in replica "
        f"{replica} of {len(rows)}, element {place}); expected finite ones. Look for what makes it in that replica, or write "
        f"`with tf.testing.allow_nonfinite():` around the call if it is meant."
    )


def _overflow(sums: Any, exact: Any, op: ReduceOp, dtype: Any, site: Site | None) -> str:
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else _finfo(dtype)
    beyond = np.argwhere((sums > float(info.max)) | (sums < float(info.min)))
    replica, place = (int(number) for number in beyond[0]) if len(beyond) else (len(sums) - 1, 0)
    whole = np.dtype(dtype).kind in "iu"
    remedy = "Use tf.int64." if whole else "Divide by the number of replicas before, or reduce in tf.float32."
    return (
        f"{_what(op, dtype)} over {len(sums)} replicas at {_line(site)} overflows although all operands are finite: the sum "
        f"reaches {float(sums[replica, place]):.7g} with replica {replica}, beyond {float(info.max):.7g}, and the exact "
        f"{op.name.lower()} is {float(exact[place]):.7g} (element {place}); expected sums that fit. {remedy}"
    )


def _finfo(dtype: Any) -> Any:
    if np.dtype(dtype).kind == "f":
        return np.finfo(dtype)
    return ml_dtypes.finfo(dtype)


def _line(site: Site | None) -> str:
    return where(_met_at() if site is None else site)


def _met_at() -> Site:
    """Where the replicas met whose meeting is being held, or else where the user's code called this."""
    frame: Any = sys._getframe()  # pyright: ignore[reportPrivateUsage]
    while frame is not None:
        if frame.f_code is lockstep.HELD:
            return frame.f_locals["meeting"].site
        frame = frame.f_back
    return call_site()
