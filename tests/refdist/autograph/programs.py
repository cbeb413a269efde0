"""Small programs with control flow over tensors. They run on TensorFlow too, which gave `answers.json`: see `record` below."""

import functools
import json
import pathlib
import sys

import numpy

if __name__ == "__main__":  # python tests/refdist/autograph/programs.py, where TensorFlow is installed
    import tensorflow

    sys.modules["refdist"] = tensorflow

import refdist as tf

CALLS = {}  # by the name of a program: the program, and the arguments of each call


def program(*calls):
    """Make a program of the table, to be called with each of these tuples of Python values, which become tensors."""

    def added(function):
        CALLS[function.__name__] = function, calls
        return function

    return added


def answers(function, calls):
    """What a program returns for each call, as nested lists; it is traced once."""
    traced = tf.function(function)
    return [plain(traced(*map(tf.constant, call))) for call in calls]


def plain(result):
    """A nest of tensors as one of lists."""
    if isinstance(result, dict):
        return {key: plain(value) for key, value in sorted(result.items())}
    if isinstance(result, (tuple, list)):
        return [plain(one) for one in result]
    return None if result is None else numpy.asarray(result).tolist()


@program((2.0,), (-2.0,), (0.0,))
def if_else(x):
    if x > 0:
        y = x * 2
    else:
        y = -x
    return y


@program((3.0,), (-3.0,))
def if_without_else(x):
    y = x
    if x > 0:
        y = y + 10
    return y


@program((5,), (15,), (25,), (-1,))
def elif_chain(x):
    if x < 0:
        size = -1
    elif x < 10:
        size = 1
    elif x < 20:
        size = 2
    else:
        size = 3
    return size


@program((1, 1), (1, -1), (-1, 1), (-1, -1))
def nested_if(x, y):
    if x > 0:
        if y > 0:
            z = 1
        else:
            z = 2
    elif y > 0:
        z = 3
    else:
        z = 4
    return z


@program((3.0,), (-3.0,))
def early_return(x):
    if x > 0:
        return x * 2
    x = x - 1
    y = x * 2
    return x + y


@program((5.0,), (0.5,), (-1.0,))
def several_returns(x):
    if x < 0:
        return tf.constant(-1.0)
    if x < 1:
        return tf.constant(0.0)
    return x + 100


@program((3.0,), (-3.0,))
def ternary(x):
    return x if x > 0 else -x


@program((3,), (8,), (-2,))
def comparison_chain(x):
    return 0 < x < 5


@program((True, True), (True, False), (False, True), (False, False))
def boolean_operators(a, b):
    return a and b, a or b, not a, not (a or b) and b


@program((3,), (-3,), (30,))
def conditions_with_and_or(x):
    if x > 0 and x < 10:
        return 1
    if not x > 0 or x == 7:
        return 2
    return 3


@program((0,), (5,), (100,))
def while_loop(n):
    i = 0
    total = 0
    while i < n:
        total += i
        i += 1
    return total, i


@program((27,), (1,))
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


@program((5,), (50,))
def break_and_continue(n):
    i = 0
    total = 0
    while i < n:
        if i == 7:
            break
        if i % 2 == 0:
            i += 1
            continue
        total += i
        i += 1
    return total, i


@program((7,), (0,))
def while_and_or(n):
    i = 0
    while (i < n and not i > 4) or i == 100:
        i += 1
    return i


@program((0,), (1,), (5,))
def for_over_range(n):
    total = 0
    for i in tf.range(n):
        total += i
    return total


@program((10,), (3,))
def for_over_range_with_steps(n):
    down = 0
    for i in tf.range(n, 0, -3):
        down = down * 10 + i
    up = 0
    for i in tf.range(2, n, 4):
        up = up * 10 + i
    return down, up


@program((2.0,), (0.0,))
def for_over_range_of_floats(n):
    total = 0.0
    for i in tf.range(0.0, n, 0.5):
        total += i
    return total


@program((4,))
def for_over_pythons_range(n):
    total = 0
    for i in range(n):
        total += i
    return total


@program((3.0,))
def for_over_known_range(x):
    for i in tf.range(4):
        x = x * 2 + tf.cast(i, tf.float32)
    return x


@program(([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],))
def for_over_rows(x):
    total = tf.zeros([2])
    for row in x:
        total = total * 2 + row
    return total


@program(([1, 2, 3, 4, 5, 6],), ([9, 1, 1, 1, 1, 1],))
def for_with_break(x):
    total = 0
    for one in x:
        if one > 4:
            break
        total += one
    return total


@program(([1, 2, 3, 4, 5, 6],))
def for_with_continue(x):
    total = 0
    for one in x:
        if one % 2 == 0:
            continue
        total += one
    return total


@program((4,), (0,))
def nested_loops(n):
    total = 0
    for i in tf.range(n):
        for j in tf.range(i):
            total += i * j
    return total


@program((6,))
def while_in_for(n):
    total = 0
    for i in tf.range(n):
        k = i
        while k > 0:
            total += k % 2
            k = k // 2
    return total


@program((3,), (0,))
def the_last_element_stays(n):
    i = -1
    for i in tf.range(n):  # noqa: B007
        pass
    return i


@program((3,))
def first_value_in_the_loop(n):
    for i in tf.range(n):
        y = i * 2
    return y


@program((5,), (-5,))
def structures(x):
    state = {"a": x, "b": (x, 1)}
    if x > 0:
        state = {"a": x + 1, "b": (x, 2)}
    pair = (0, x)
    for i in tf.range(3):
        pair = (pair[0] + i, pair[1] * 2)
    return state, pair


@program((3.0,), (-3.0,))
def nothing_changes(x):
    if x > 0:
        pass
    else:
        x + 1
    return x


@program((2.0,), (-2.0,))
def lambdas(x):
    choose = lambda value: value * 3 if value > 0 else value - 1  # noqa: E731
    return choose(x)


def _absolute(x):
    if x < 0:
        return -x
    return x


def _sum_up_to(n):
    total = 0
    for i in tf.range(n):
        total += i
    return total


@program((2,), (-3,))
def called_functions(x):
    return _sum_up_to(_absolute(x)) + _absolute(x)


@program((2.0,), (-2.0,))
def called_functions_only(x):
    return _absolute(x)


@program((2,), (-2,))
def partial_functions(x):
    def scaled(factor, value):
        if value > 0:
            value = value * factor
        return value

    return functools.partial(scaled, 10)(x)


class _Counter:
    def __init__(self):
        self.limit = 3

    def clipped(self, x):
        if x > self.limit:
            return tf.constant(self.limit)
        return x

    def __call__(self, x):
        while x > self.limit:
            x -= 2
        return x


@program((2,), (8,))
def methods(x):
    counter = _Counter()
    return counter.clipped(x), counter(x)


@program((2.0,), (-2.0,))
def closures(x):
    factor = x * 2

    def inner(y):
        if y > 0:
            return y * factor
        return factor

    return inner(x)


@program((2.0,), (-2.0,))
def nested_functions(x):
    @tf.function
    def inner(y):
        if y > 0:
            return y * 3
        return y

    return inner(x) + inner(-x)


@program((3,))
def a_python_condition_stays_pythons(x):
    flag = True
    if flag:
        kind = "text"
        x = x + 1
    else:
        kind = None
    for name in ("a", "b"):
        if name == "a" and kind is not None:
            x = x * 2
    return x


@program((-2.7,))
def numbers(x):
    return int(x), float(x), abs(x)


@program((4,))
def limited_loops(n):
    count = 0
    for _ in tf.range(n):
        tf.autograph.experimental.set_loop_options(maximum_iterations=2)
        count += 1
    return count


@program((3,), (-1,))
def sizes_of_python(n):
    values = [n, n + 1, n + 2]
    best = values[0]
    for value in values:
        if value > best:
            best = value
    return best, len(values)


@program(([3.0, -1.0, 2.0],))
def a_maximum(x):
    best = x[0]
    for one in x:
        best = one if one > best else best
    return best


@program((10.0,), (2.0,))
def newton(x):
    guess = x
    while tf.abs(guess * guess - x) > 0.001:
        guess = (guess + x / guess) / 2
    return tf.round(guess * 100)


# From here on, programs that run outside of functions, too, with the same answers.


@program((2.0,), (-2.0,))
def conditions(x):
    pair = tf.cond(x > 0, lambda: (x, x * 2), lambda: (-x, x))
    found = tf.case([(x > 5, lambda: tf.constant(1)), (x > 0, lambda: tf.constant(2))], default=lambda: tf.constant(3))
    return pair, found


@program((0,), (1,), (7,), (-1,))
def switches(index):
    listed = tf.switch_case(index, [lambda: tf.constant(10), lambda: tf.constant(20)])
    named = tf.switch_case(
        index, {0: lambda: tf.constant(1), 1: lambda: tf.constant(2)}, default=lambda: tf.constant(9)
    )
    return listed, named, tf.switch_case(index, [(1, lambda: index * 2), (0, lambda: index - 5)])


@program((0,), (5,))
def while_loops(n):
    alone = tf.while_loop(lambda i: i < n, lambda i: [i + 2], [tf.constant(0)])
    pair = tf.while_loop(lambda i, total: i < n, lambda i, total: (i + 1, total + i), (0, tf.constant(0)))
    few = tf.while_loop(lambda i: i < n, lambda i: [i + 1], [tf.constant(0)], maximum_iterations=3)
    nested = tf.while_loop(lambda state: state["i"] < n, lambda state: [{"i": state["i"] + 3}], [{"i": tf.constant(0)}])
    return alone, pair, few, nested


@program(([1.0, 2.0, 3.0],))
def maps(x):
    doubled = tf.map_fn(lambda row: row * 2, x)
    added = tf.map_fn(lambda pair: pair[0] + pair[1], (x, x * 10), fn_output_signature=tf.float32)
    several = tf.map_fn(lambda row: {"a": row, "b": tf.cast(row, tf.int32)}, x, {"a": tf.float32, "b": tf.int32})
    return doubled, added, several, tf.vectorized_map(lambda row: row * row, x)


@program(([1.0, 2.0, 3.0],), ([5.0],))
def scans(x):
    sums = tf.scan(lambda total, row: total + row, x)
    begun = tf.scan(lambda total, row: total + row, x, initializer=tf.constant(10.0))
    back = tf.scan(lambda total, row: total + row, x, reverse=True)
    pairs = tf.scan(
        lambda state, row: (state[0] + row, state[1] * row), x, initializer=(tf.constant(0.0), tf.constant(1.0))
    )
    return sums, begun, back, pairs


@program(([1.0, 2.0, 3.0],))
def folds(x):
    left = tf.foldl(lambda total, row: total * 2 + row, x)
    return (
        left,
        tf.foldr(lambda total, row: total * 2 + row, x),
        tf.foldl(lambda a, b: a * 2 + b, x, initializer=tf.constant(1.0)),
    )


@program((3,))
def tensor_arrays(x):
    array = tf.TensorArray(tf.int32, size=4)
    for i in tf.range(3):
        array = array.write(i, i * x)
    return array.stack(), array.size(), array.read(1), array.gather([2, 0])


@program((3,))
def tensor_arrays_in_nested_loops(x):
    array = tf.TensorArray(tf.int32, size=6)
    for i in tf.range(3):
        for j in tf.range(2):
            if i != j:
                array = array.write(i * 2 + j, [i, x + j])
    return array.stack()


@program((3.0,))
def tensor_arrays_of_python(x):
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    for i in range(3):
        array = array.write(i, x * i)
    rows = tf.TensorArray(tf.float32, size=2).unstack(tf.constant([[1.0], [2.0]]))
    scattered = tf.TensorArray(tf.int32, size=3).scatter([2, 0], [7, 8])
    shaped = tf.TensorArray(tf.float32, size=2, element_shape=[2])
    return array.stack(), rows.concat(), scattered.stack(), shaped.stack()


@program((3,))
def tensor_arrays_of_several_shapes_in_a_while_loop(n):
    def body(i, array):
        return i + 1, array.write(i, tf.stack([i, i * i]))

    _, array = tf.while_loop(lambda i, _: i < n, body, (0, tf.TensorArray(tf.int32, size=3)))
    return array.stack()


def record():
    """Ask the namespace that is loaded for all answers."""
    return {name: answers(function, calls) for name, (function, calls) in CALLS.items()}


ANSWERS = pathlib.Path(__file__).with_name("answers.json")

if __name__ == "__main__":
    found = record()
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(answer)}" for name, answer in found.items())
    ANSWERS.write_text(f"{{\n{lines}\n}}\n")
