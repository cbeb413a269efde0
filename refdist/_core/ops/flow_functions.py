"""Branches and loops as functions: outside of functions they happen in Python, inside they become part of the program."""

import importlib
from collections.abc import Callable, Sequence
from typing import Any

from refdist._core.base import nest
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.jax_facts import is_tracer
from refdist._core.base.where import HERE
from refdist._core.ops.tensor_functions import concat, convert_to_tensor, stack
from refdist._core.variables.tensors import current_value


def cond(pred: Any, true_fn: Callable[[], Any], false_fn: Callable[[], Any], name: Any = None) -> Any:
    """Call one of two functions, depending on a tensor.

    >>> import refdist as tf
    >>> tf.cond(tf.constant(2) > 1, lambda: "yes", lambda: "no")
    'yes'
    """
    condition = current_value(pred)
    if not is_tracer(condition):
        return true_fn() if condition else false_fn()
    chosen = _autograph("statements").if_exp
    return chosen(condition, _converted(true_fn), _converted(false_fn), "tf.cond()")


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: Any = None,
) -> Any:
    """Call the function of the first condition that holds.

    >>> import refdist as tf
    >>> tf.case([(tf.constant(1) > 2, lambda: "a"), (tf.constant(3) > 2, lambda: "b")])
    'b'
    """
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    if default is None:
        last, function = pairs[-1]
        default = _required(last, function)
        pairs = pairs[:-1]

    def first(place: int) -> Any:
        if place == len(pairs):
            return default()
        return cond(pairs[place][0], pairs[place][1], lambda: first(place + 1))

    return first(0)


def _required(condition: Any, function: Callable[[], Any]) -> Callable[[], Any]:
    """The last function of a case without a default: its condition has to hold."""
    text = "None of the conditions of case() holds; expected one to, because there is no default. Pass default=..."

    def called() -> Any:
        flag, draft = current_value(condition), HERE.get().draft
        if is_tracer(flag) and draft is not None:
            draft.require(flag, InvalidArgumentError, text)
        elif not flag:
            raise InvalidArgumentError(text)
        return function()

    return called


def switch_case(
    branch_index: Any, branch_fns: Any, default: Callable[[], Any] | None = None, name: Any = "switch_case"
) -> Any:
    """Call the function with a number; the default, or else the one with the highest number, for all other numbers.

    >>> import refdist as tf
    >>> tf.switch_case(tf.constant(1), [lambda: "a", lambda: "b"])
    'b'
    """
    functions: dict[int, Any] = dict(branch_fns) if isinstance(branch_fns, dict) else {}
    if not functions:
        listed = [one if isinstance(one, (tuple, list)) else (place, one) for place, one in enumerate(branch_fns)]
        functions = {int(place): function for place, function in listed}
    otherwise = default if default is not None else functions[max(functions)]
    index = current_value(branch_index)
    if not is_tracer(index):
        return functions.get(int(index), otherwise)()
    return case([(index == place, function) for place, function in functions.items()], otherwise)


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: Any = None,
    name: Any = None,
) -> Any:
    """Call a body with what it has returned, as long as a condition holds.

    >>> import refdist as tf
    >>> tf.while_loop(lambda i, total: i < 4, lambda i, total: (i + 1, total + i), (tf.constant(0), tf.constant(0)))[1]
    <tf.Tensor: shape=(), dtype=int32, numpy=6>
    """
    state = list(loop_vars)
    limit = None if maximum_iterations is None else int(maximum_iterations)

    def turn() -> None:
        state[:] = _listed(state, _converted(body)(*state))

    def test() -> Any:
        return _converted(cond)(*state)

    turns = 0
    while limit is None or turns < limit:
        going = current_value(test())
        if is_tracer(going):
            _staged_while(test, turn, state, None if limit is None else limit - turns)
            break
        if not going:
            break
        turn()
        turns += 1
    tensors: Any = nest.map_structure(_tensor, state)
    return tuple(tensors) if isinstance(loop_vars, tuple) else tensors


def _listed(before: list[Any], result: Any) -> list[Any]:
    """What a body returns, as a list; a single value need not be in one."""
    several = isinstance(result, (tuple, list))
    if len(before) == 1 and not (several and len(result) == 1 and nest.shape_of(result[0]) == nest.shape_of(before[0])):
        return [result]
    if len(result) != len(before):
        raise ValueError(
            f"The body of while_loop() returned {len(result)} values; expected {len(before)}, as many as it takes. Return one "
            f"for each."
        )
    return list(result)


def _staged_while(test: Callable[[], Any], turn: Callable[[], Any], state: list[Any], limit: int | None) -> None:
    loops = _autograph("loops")

    def put(values: Any) -> None:
        state[:] = values

    names = [f"loop_vars[{place}]" for place in range(len(state))]
    variables = loops.Variables(lambda: tuple(state), put, names)
    loops.Loop(variables, loops.Turns(limit, element=lambda *_: None), test).run(lambda _: turn())


def map_fn(
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: Any = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: Any = None,
    fn_output_signature: Any = None,
) -> Any:
    """Call a function with each row, and stack what it returns.

    >>> import refdist as tf
    >>> tf.map_fn(lambda row: row * 2, tf.constant([1, 2]))
    <tf.Tensor: shape=(2,), dtype=int32, numpy=array([2, 4], dtype=int32)>
    """
    return _over_rows(lambda _, row: (None, fn(row)), None, elems)[1]


def vectorized_map(fn: Callable[[Any], Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    """Call a function with each row, and stack what it returns, as `map_fn` does."""
    return map_fn(fn, elems)


def scan(
    fn: Callable[[Any, Any], Any],
    elems: Any,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: Any = None,
) -> Any:
    """Call a function with what it has returned and the next row, and stack all that it returns.

    >>> import refdist as tf
    >>> tf.scan(lambda total, row: total + row, tf.constant([1, 2, 3]))
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 3, 6], dtype=int32)>
    """
    rows = _reversed(elems) if reverse else nest.map_structure(_tensor, elems)
    first, rest = _started(initializer, rows)

    def step(total: Any, row: Any) -> Any:
        made = nest.map_structure(_tensor, fn(total, row))
        return made, made

    stacked = _over_rows(step, first, rest)[1] if _length(rest) else None
    if initializer is None:
        alone = nest.map_structure(lambda one: stack([one]), first)
        stacked = alone if stacked is None else nest.map_structure(_joined, alone, stacked)
    return _reversed(stacked) if reverse else stacked


def foldl(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, *args: Any, **kwargs: Any) -> Any:
    """Call a function with what it has returned and the next row, from the first on, and return the last result."""
    first, rest = _started(initializer, nest.map_structure(_tensor, elems))
    return _over_rows(lambda total, row: (nest.map_structure(_tensor, fn(total, row)), ()), first, rest)[0]


def foldr(fn: Callable[[Any, Any], Any], elems: Any, initializer: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The same from the last row on."""
    return foldl(fn, _reversed(elems), initializer)


def _started(initializer: Any, elems: Any) -> tuple[Any, Any]:
    """The first value, and the rows that follow."""
    if initializer is not None:
        return nest.map_structure(_tensor, initializer), elems
    return nest.map_structure(lambda one: one[0], elems), nest.map_structure(lambda one: one[1:], elems)


def _over_rows(step: Callable[[Any, Any], tuple[Any, Any]], first: Any, elems: Any) -> tuple[Any, Any]:
    """Take a step for each row; return the last state, and what the steps have made, stacked."""
    tensors: Any = nest.map_structure(_tensor, elems)
    count, step = _length(tensors), _converted(step)
    if HERE.get().draft is not None or any(map(is_tracer, nest.flatten(tensors))):
        return _staged_steps(step, first, tensors, count)
    state, made = first, []
    for place in range(count):
        state, one = step(state, nest.map_structure(lambda tensor, at=place: tensor[at], tensors))
        made.append(nest.map_structure(_tensor, one))
    if not made:
        raise ValueError(
            "map_fn(), scan() or foldl() got tensors without rows; expected at least one, because the shape of the result is not "
            "known. Look at the size first."
        )
    return state, nest.map_structure(lambda *column: stack(list(column)), *made)


def _staged_steps(step: Callable[[Any, Any], tuple[Any, Any]], first: Any, tensors: Any, count: int) -> tuple[Any, Any]:
    loops, state = _autograph("loops"), [first]

    def put(values: Any) -> None:
        state[0] = values[0]

    def turn(row: Any) -> Any:
        state[0], made = step(state[0], row)
        return nest.map_structure(_tensor, made)

    def element(_: Any, rows: Sequence[Any]) -> Any:
        return nest.pack_sequence_as(tensors, rows) if nest.is_nested(tensors) else rows[0]

    variables = loops.Variables(lambda: (state[0],), put, ("the state",))
    made = loops.Loop(variables, loops.Turns(count, nest.flatten(tensors), element=element), None).run(
        turn, collecting=True
    )
    return state[0], made


def _length(elems: Any) -> int:
    return int(nest.flatten(elems)[0].shape[0])


def _tensor(value: Any) -> Any:
    return value if value is None or hasattr(value, "with_parts") else convert_to_tensor(value)


def _reversed(elems: Any) -> Any:
    return nest.map_structure(lambda one: _tensor(one)[::-1], elems)


def _joined(alone: Any, stacked: Any) -> Any:
    return concat([alone, stacked], 0)


def _converted(function: Any) -> Any:
    """A function as the program that is being written calls it."""
    draft = HERE.get().draft
    return function if draft is None or not draft.converting else _autograph("calls").converted(function)


def _autograph(name: str) -> Any:
    return importlib.import_module(f"refdist._core.autograph.{name}")
