"""Conversion: the source of a function, with calls in the places of Python's control flow, compiled for the same lines."""

import ast
import functools
import inspect
import types
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from malt.converters import (
    break_statements,
    call_trees,
    conditional_expressions,
    continue_statements,
    control_flow,
    functions,
    logical_expressions,
    return_statements,
    variables,
)
from malt.converters.directives import STATIC_VALUE, DirectivesTransformer
from malt.core import converter, unsupported_features_checker
from malt.impl import api
from malt.lang import directives as loop_directives
from malt.pyct import anno, templates, transpiler

from refdist._core.autograph.directives import set_loop_options
from refdist._core.base.call_sites import line_text

_HELPERS = ("if_body", "else_body", "loop_body", "loop_test", "extra_test", "get_state", "set_state", "<lambda>")
_PREFIX = "ag__"


class CannotConvert(Exception):
    """Says why a function stays as it is."""


@functools.cache
def _operators() -> types.SimpleNamespace:
    """What converted code has under the name ag__."""
    from refdist._core.autograph import calls, state, statements  # they call this module in turn

    names = ("if_stmt", "while_stmt", "for_stmt", "if_exp", "and_", "or_", "not_", "assert_stmt", "ld", "ldu")
    return types.SimpleNamespace(
        **{name: getattr(statements, name) for name in names},
        FunctionScope=statements.FunctionScope,
        with_function_scope=statements.with_function_scope,
        Undefined=state.Undefined,
        UndefinedReturnValue=state.NotReturned,
        converted_call=calls.converted_call,
        autograph_artifact=_artifact,
        STD=converter.STANDARD_OPTIONS,
    )


def _artifact(function: Any) -> Any:
    """Mark a function that was made in converted code: it is converted already."""
    if isinstance(function, FunctionType):
        function.autograph_info__ = True  # pyright: ignore[reportFunctionMemberAccess]
    return function


def converted_function(function: FunctionType) -> Callable[..., Any]:
    """Convert a function; what it closes over, its defaults and its globals stay the same."""
    factory = _factories.get(function.__code__)
    if factory is None:
        try:
            factory = _Factory(function)
        except Exception as error:  # malt fails in many ways on code that it does not know
            factory = CannotConvert(
                f"{function.__qualname__} at {line_text(function.__code__.co_filename, function.__code__.co_firstlineno)} was left "
                f"as it is: {str(error).strip() or type(error).__name__}"
            )
        _factories[function.__code__] = factory
    if isinstance(factory, CannotConvert):
        raise factory
    return factory.made_for(function)


class _Factory:
    """Makes converted functions from the code of one function."""

    def __init__(self, function: FunctionType) -> None:
        context = converter.ProgramContext(options=converter.STANDARD_OPTIONS)
        nodes, about = _Transformer().transform_function(function, context)
        if isinstance(nodes, ast.Lambda):
            nodes = ast.Assign(targets=[ast.Name(about.info.name, ctx=ast.Store())], value=nodes)
        else:
            nodes.name = about.info.name
        code = function.__code__
        wrapped: Any = transpiler._wrap_into_factory(  # pyright: ignore[reportPrivateUsage]
            nodes,
            about.info.name,
            "inner_factory",
            "outer_factory",
            code.co_freevars,
            ["ag__"],
            about.info.future_features,
        )
        tree = ast.Module(body=wrapped if isinstance(wrapped, list) else [wrapped], type_ignores=[])
        _place(tree, code, inspect.getsourcelines(function)[1])
        made: dict[str, Any] = {}
        exec(_renamed(compile(tree, code.co_filename, "exec", dont_inherit=True), code.co_name), made)
        self._inner, self._free, self._name = made["outer_factory"](), code.co_freevars, about.info.name

    def made_for(self, function: FunctionType) -> Callable[..., Any]:
        """The converted form of a function with this code."""
        cells = dict(zip(self._free, function.__closure__ or (), strict=True))
        closure = tuple(cells[name] for name in self._inner.__code__.co_freevars)
        bound = FunctionType(self._inner.__code__, function.__globals__, self._name, (), closure)
        made = bound(_operators())
        made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        made.__qualname__, made.__name__ = function.__qualname__, function.__name__
        return _artifact(made)


_factories: dict[CodeType, _Factory | CannotConvert] = {}


class _Transformer(api.PyToPy):
    """The steps of a conversion."""

    def transform_function(self, fn: Any, user_context: Any) -> Any:
        return transpiler.GenericTranspiler.transform_function(self, fn, user_context)

    def transform_ast(self, node: Any, ctx: Any) -> Any:
        unsupported_features_checker.verify(node)
        node = self.initial_analysis(node, ctx)
        for step in (
            functions,
            _Directives,
            break_statements,
            _Asserts,
            continue_statements,
            return_statements,
            call_trees,
            control_flow,
            conditional_expressions,
            logical_expressions,
            variables,
        ):
            node = step.transform(node, ctx)
        return node


class _Directives(DirectivesTransformer):
    """Takes what a loop says about itself out of its body."""

    def visit_Attribute(self, node: Any) -> Any:  # noqa: N802, the name of a node
        return self._known(super().visit_Attribute(node))

    def visit_Name(self, node: Any) -> Any:  # noqa: N802
        return self._known(super().visit_Name(node))

    def _known(self, node: Any) -> Any:
        if anno.getanno(node, STATIC_VALUE, default=None) is set_loop_options:
            anno.setanno(node, STATIC_VALUE, loop_directives.set_loop_options)
        return node

    @classmethod
    def transform(cls, node: Any, ctx: Any) -> Any:
        return cls(ctx).visit(node)


class _Asserts(converter.Base):
    """Converts `assert`."""

    def visit_Assert(self, node: Any) -> Any:  # noqa: N802
        self.generic_visit(node)
        message = ast.Constant("its condition is false") if node.msg is None else node.msg
        return templates.replace("ag__.assert_stmt(test, lambda: msg)", test=node.test, msg=message)

    @classmethod
    def transform(cls, node: Any, ctx: Any) -> Any:
        return cls(ctx).visit(node)


def _place(tree: ast.Module, code: CodeType, first_line: int) -> None:
    """Give each part of the new code the line and the column that it comes from."""
    shift = code.co_firstlineno - first_line

    def visit(node: Any, line: int, column: int) -> None:
        origin: Any = anno.getanno(node, anno.Basic.ORIGIN, default=None)
        if origin is not None:
            line, column = origin.loc.lineno + shift, max(origin.loc.col_offset, 0)
        if "lineno" in node._attributes:
            node.lineno = node.end_lineno = line
            node.col_offset = node.end_col_offset = column
        for child in ast.iter_child_nodes(node):
            visit(child, line, column)

    visit(tree, code.co_firstlineno, 0)


def _renamed(code: CodeType, name: str) -> CodeType:
    """Give functions that conversion has made the name of the user's function that they are part of."""
    own = code.co_name
    if own.startswith(_PREFIX) or own.rpartition("_")[0] in _HELPERS or own in _HELPERS:
        own = name
    inner = own if not own.startswith(("outer_factory", "inner_factory", "<module>")) else name
    consts = tuple(_renamed(one, inner) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_name=own, co_qualname=own, co_consts=consts)
