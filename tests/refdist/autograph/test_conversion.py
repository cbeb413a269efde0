"""Converted functions are the user's own: their lines, their names, their closures and defaults."""

import pathlib
import traceback

import pytest

import refdist as tf
from refdist._core.autograph.conversion import CannotConvert, converted_function
from refdist._core.base.call_sites import call_site
from tests.children import run_python


def raising(x):
    if x > 0:
        for _ in tf.range(3):
            raise KeyError("mine")
    return x


def test_an_error_has_the_users_lines_and_names():
    with pytest.raises(KeyError, match="mine") as caught:
        tf.function(raising)(tf.constant(1.0))

    frames = [frame for frame in traceback.extract_tb(caught.value.__traceback__) if frame.filename == __file__]
    first = raising.__code__.co_firstlineno
    assert [first + 1, first + 2, first + 3] == [frame.lineno for frame in frames if frame.name == "raising"]
    assert 'raise KeyError("mine")' == frames[-1].line


def test_calls_have_the_places_that_they_have_in_the_source():
    def placed():
        site = None
        if True:
            site = call_site(), call_site()
        return site

    def kept(sites):
        return [(place.function, place.line, place.column) for site in sites for place in site[:1]]

    assert kept(placed()) == kept(converted_function(placed)())


def test_closures_defaults_and_globals_are_the_functions_own():
    count = 0

    def counted(x, step=2, *, more=1):
        nonlocal count
        if x:
            count += step + more
        return count, __name__

    made = converted_function(counted)

    assert (3, __name__) == made(True)
    count = 10
    assert (21, __name__) == made(True, 10)
    assert ("counted", counted.__qualname__) == (made.__name__, made.__qualname__)


def with_else(x):
    for i in range(2):
        if x > i:
            break
    else:
        x = x + 10
    return x


def test_a_function_whose_source_is_in_no_file_says_so():
    program = "import refdist as tf\n@tf.function\ndef f(x):\n    return x if x > 0 else -x\nf(tf.constant(1.0))"
    said = run_python(program).stderr.splitlines()

    assert "The function f could not be traced: the value of a tensor was asked for" in said[-2]
    assert said[-1].startswith("f at <string>:2 was left as it is: its source is in no file")


def test_what_cannot_be_converted_says_why_and_where():
    with pytest.raises(CannotConvert, match=r"with_else at .* was left as it is: for/else"):
        converted_function(with_else)

    with pytest.raises(Exception, match="boolean") as caught:
        tf.function(with_else)(tf.constant(1))

    assert (
        f"with_else at {__file__}:{with_else.__code__.co_firstlineno} was left as it is" in caught.value.__notes__[-1]
    )


def test_what_cannot_be_converted_and_needs_not_be_works():
    def with_else_over_python(x, n):
        for i in range(n):
            if i > 5:
                break
        else:
            x = x + 10
        return x

    assert 11 == int(tf.function(with_else_over_python)(tf.constant(1), 3))


def test_a_function_without_source_runs_as_it_is():
    made = {}
    exec("def double(x):\n    if True:\n        return x * 2", made)

    assert 4.0 == float(tf.function(made["double"])(tf.constant(2.0)))


def test_statements_of_all_kinds_keep_their_meaning():
    def everything(x, names):
        found = {}
        with tf.name_scope("a"):
            try:
                for index, name in enumerate(names):
                    if name in found:
                        continue
                    found[name] = x if index and x > 0 else -x
                if x > 100:
                    x = x + 1
            finally:
                x = x * 2
        del names
        return x, sorted(found), [one for one in found.values() if one is not None]

    x, names, values = tf.function(everything)(tf.constant(3), ["b", "a", "b"])

    assert (6, ["a", "b"], [-3, 3]) == (int(x), names, [int(one) for one in values])


def test_nothing_is_left_on_the_disk():
    assert not list(pathlib.Path(__file__).parent.glob("__autograph_generated*"))


def handling(x, branch):
    try:
        if branch:
            x = x + 1
    except ValueError as error:  # the name of which malt takes for a node of the tree
        raise KeyError from error
    return x


def test_what_cannot_be_converted_is_left_as_it_is():
    assert 2.0 == float(tf.function(handling)(tf.constant(1.0), True))


def test_what_cannot_be_converted_is_told_where_it_matters():
    with pytest.raises(Exception, match=r"value of a tensor was asked for|boolean conversion") as caught:
        tf.function(handling)(tf.constant(1.0), tf.constant(True))

    assert any("handling at" in note and "was left as it is" in note for note in caught.value.__notes__)
