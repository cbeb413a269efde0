import ast
import inspect

import pytest

import refdist as tf
from refdist._core.staging.decorator import StagedFunction, function
from refdist._core.staging.function import Function


def test_a_function_is_made_with_and_without_arguments_of_the_decorator():
    bare = function(lambda x: x + 1)
    with_arguments = function(reduce_retracing=True)(lambda x: x + 1)

    assert isinstance(bare, Function)
    assert isinstance(with_arguments, Function)
    assert 3.0 == float(bare(tf.constant(2.0))) == float(with_arguments(tf.constant(2.0)))


def test_a_staged_function_is_not_staged_again():
    staged = function(lambda x: x)

    assert staged is function(staged)


def test_an_argument_that_is_not_documented_is_refused():
    with pytest.raises(TypeError, match=r"function\(\) got jit; expected documented arguments"):
        function(lambda x: x, jit=True)


def test_a_signature_without_a_list_says_what_to_write():
    with pytest.raises(TypeError, match=r"expected a list or tuple with a spec for each argument. Write \[TensorSpec"):
        function(lambda x: x, input_signature=tf.TensorSpec([], tf.float32))


def test_a_staged_function_has_what_type_checkers_know_of_it():
    tree = ast.parse(inspect.getsource(StagedFunction))
    typed = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    staged = function(lambda x: x)

    assert "get_concrete_function" in typed
    assert {name for name in typed if not hasattr(staged, name)} == set()
