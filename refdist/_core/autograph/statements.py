"""What converted code calls in place of Python's control flow: over Python's values they do what Python does."""

from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any

from refdist._core.autograph.branches import Branch, branched, place
from refdist._core.autograph.loops import Loop, Turns, Variables, require_condition
from refdist._core.autograph.ranges import SymbolicRange
from refdist._core.autograph.state import NotReturned, Undefined
from refdist._core.base.errors import InvalidArgumentError
from refdist._core.base.jax_facts import is_jax, is_tracer
from refdist._core.base.where import HERE
from refdist._core.compilers.control_flow import negated
from refdist._core.variables.tensors import current_value

MOST_NESTED = 8
_open: list[CodeType] = []  # the branches that are being written, the outer ones first


def decided_later(value: Any) -> bool:
    """Say whether a value becomes known only when the program runs."""
    return is_tracer(value)


def if_stmt(
    cond: Any,
    body: Any,
    orelse: Callable[[], Any],
    get_state: Callable[[], Any],
    set_state: Callable[[Any], None],
    symbol_names: Sequence[str],
    nouts: int,
) -> None:
    """Do what an `if` does."""
    cond = current_value(cond)
    if not decided_later(cond):
        body() if cond else orelse()
        return
    condition, before = require_condition(cond, "`if`"), get_state()

    def branch(run: Callable[[], Any]) -> Callable[[], Sequence[Any]]:
        def written() -> Sequence[Any]:
            try:
                run()
                return get_state()[:nouts]
            finally:
                set_state(before)

        return written

    results = _choose(condition, branch(body), branch(orelse), symbol_names[:nouts], body.__code__)
    set_state((*results, *before[nouts:]))


def _choose(condition: Any, first: Branch, second: Branch, names: Sequence[str], code: CodeType) -> list[Any]:
    """Write two branches, but not without an end: a function may call itself until a tensor says stop."""
    if _open.count(code) >= MOST_NESTED:
        raise RecursionError(
            f"An `if` over a tensor at {place()} is inside itself {MOST_NESTED} times; expected an end that does not depend on a "
            f"tensor, because a function that calls itself would be written out for ever. Use a `while` loop."
        )
    _open.append(code)
    try:
        return branched(condition, first, second, names)
    except Exception as error:
        draft = HERE.get().draft
        if (
            draft is not None
        ):  # both branches are written, so that all replicas would go on after what one of them raises
            draft.refuse(error, condition)
        raise
    finally:
        _open.pop()


def if_exp(cond: Any, if_true: Any, if_false: Callable[[], Any], expr_repr: str) -> Any:
    """Do what `a if condition else b` does."""
    cond = current_value(cond)
    if not decided_later(cond):
        return if_true() if cond else if_false()
    condition = require_condition(cond, f"`{expr_repr}`")
    return _choose(condition, lambda: [if_true()], lambda: [if_false()], [expr_repr], if_true.__code__)[0]


def and_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """Do what `a and b` does."""
    first = current_value(a())
    return if_exp(first, b, lambda: first, "and") if decided_later(first) else first and b()


def or_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """Do what `a or b` does."""
    first = current_value(a())
    return if_exp(first, lambda: first, b, "or") if decided_later(first) else first or b()


def not_(a: Any) -> Any:
    """Do what `not a` does."""
    value = current_value(a)
    return negated(require_condition(value, "`not`")) if decided_later(value) else not value


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], Any],
    get_state: Callable[[], Any],
    set_state: Callable[[Any], None],
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """Do what `while` does."""
    while True:
        going = current_value(test())
        if decided_later(going):
            require_condition(going, "`while`")
            break
        if not going:
            return
        body()
    limit = opts.get("maximum_iterations")
    turns = Turns(limit if limit is None else int(limit), element=lambda *_: None)
    Loop(Variables(get_state, set_state, symbol_names), turns, test).run(lambda _: body())


def for_stmt(
    iter_: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: Callable[[], Any],
    set_state: Callable[[Any], None],
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """Do what `for` does; `extra_test` says whether a break or a return has ended the loop."""
    iterated = current_value(iter_)
    turns = _turns(iterated, opts.get("maximum_iterations"))
    if turns is None:
        _over_python(iterated, extra_test, body, get_state, set_state, symbol_names)
        return
    if extra_test is not None:
        going = current_value(extra_test())
        if not decided_later(going) and not going:
            return
    Loop(Variables(get_state, set_state, symbol_names), turns, extra_test).run(body)


def _turns(iterated: Any, limit: Any) -> Turns | None:
    """How a loop goes over a tensor or a range of one; None for everything else."""
    if isinstance(iterated, SymbolicRange):
        return iterated.turns(limit)
    if not is_jax(iterated) or HERE.get().draft is None:
        return None
    if not iterated.shape:
        raise ValueError(
            f"The loop at {place()} goes over a scalar; expected a tensor with rows, or tf.range(). Use `for i in tf.range(n)`."
        )
    some = iterated if limit is None else iterated[: int(limit)]
    return Turns(some.shape[0], [some])


def _over_python(
    iterated: Iterable[Any],
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: Callable[[], Any],
    set_state: Callable[[Any], None],
    names: Sequence[str],
) -> None:
    """Go over Python's values; after a `break` that depends on a tensor, each further turn is a branch."""
    for target in iterated:
        going = True if extra_test is None else current_value(extra_test())
        if decided_later(going):
            if_stmt(going, lambda one=target: body(one), lambda: None, get_state, set_state, names, len(names))
        elif going:
            body(target)
        else:
            break


def assert_stmt(expression: Any, message: Callable[[], Any]) -> None:
    """Do what `assert` does; a condition that is a tensor is looked at when the program runs."""
    condition, draft = current_value(expression), HERE.get().draft
    if not decided_later(condition) or draft is None:
        assert condition, message()
        return
    held = require_condition(condition, "`assert`")
    text = f"An assertion at {place()} failed: {message()}; expected its condition to hold. Look at what it compares."
    draft.require(held, InvalidArgumentError, text)


class FunctionScope:
    """The body of a converted function."""

    def __init__(self, function_name: str, scope_name: str, options: Any) -> None:
        self.name, self.options = scope_name, options

    def __enter__(self) -> "FunctionScope":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def ret(self, value: Any, did_return: Any) -> Any:
        """What the function returns."""
        if isinstance(value, NotReturned):
            return None
        if decided_later(did_return):
            draft = HERE.get().draft
            if draft is not None:
                draft.require(
                    did_return,
                    InvalidArgumentError,
                    f"The function at {place()} returned no value, because no tensor has led to a `return`; expected one in all "
                    f"cases. Add a return at its end.",
                )
        return value


def with_function_scope(thunk: Callable[[FunctionScope], Any], scope_name: str, options: Any) -> Any:
    """The body of a converted lambda."""
    return thunk(FunctionScope("lambda", scope_name, options))


def ld(value: Any) -> Any:
    """Read a variable of Python."""
    if isinstance(value, Undefined):
        raise UnboundLocalError(f"local variable '{value.symbol_name}' is used before it has a value")
    return value


def ldu(load: Callable[[], Any], name: str) -> Any:
    """Read an attribute or an element, which may not exist yet."""
    try:
        return load()
    except (KeyError, AttributeError, NameError, IndexError):
        return Undefined(name)
