"""Sequences of calls of functions, written in documented names, to record how often TensorFlow calls a body.

    python tests/refdist/staging/call_sequences.py > tests/fixtures/call_sequences.json   # with TensorFlow

records, for each sequence and after each of its calls: the result, the tracing count, and how often the body was called.
"""

import collections
import dataclasses
import functools
import json

import numpy as np

CASES = {}
Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Settings:
    scale: float


class Anything:
    def __init__(self, number):
        self.number = number


class Equal:
    """Objects that are equal by their numbers."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, Equal) and self.number == other.number

    def __hash__(self):
        return hash(self.number)


class Recorder:
    """Calls a function, and notes what comes of it."""

    def __init__(self, tf, devices):
        self.tf, self.calls, self.rows, self._devices = tf, 0, [], devices

    def count(self):
        self.calls += 1

    def __call__(self, function, *args, **kwargs):
        try:
            result = self.plain(function(*args, **kwargs))
        except Exception as error:
            result = type(error).__name__
        self.note(function, result)

    def note(self, function, result):
        self.rows.append([result, function.experimental_get_tracing_count(), self.calls])

    def strategy(self):
        return self.tf.distribute.MirroredStrategy(self._devices)

    def plain(self, result):
        if isinstance(result, (list, tuple)):
            return [self.plain(one) for one in result]
        if isinstance(result, dict):
            return {key: self.plain(one) for key, one in result.items()}
        if hasattr(result, "values") and not hasattr(result, "shape"):
            return [self.plain(one) for one in result.values]
        return result if result is None else np.asarray(result).tolist()


def case(body):
    CASES[body.__name__] = body
    return body


def doubling(record, **options):
    """A function that doubles what it gets, and counts its calls."""

    def double(x):
        record.count()
        return x * 2

    return record.tf.function(double, **options)


def returning(record, make=lambda x: 0, **options):
    def body(*args, **kwargs):
        record.count()
        return make(*args, **kwargs)

    return record.tf.function(body, **options)


def repeated(calls):
    """A sequence of calls of a doubling function, given the arguments."""

    def run(record):
        double = doubling(record)
        for argument in calls(record.tf):
            record(double, argument)

    return run


ARGUMENTS = {
    "tensors_of_one_shape": lambda tf: [tf.constant(1.0), tf.constant(2.0)],
    "tensors_of_other_shapes": lambda tf: [tf.zeros([1]), tf.zeros([2]), tf.zeros([1])],
    "tensors_of_other_ranks": lambda tf: [tf.zeros([1]), tf.zeros([1, 1]), tf.zeros([])],
    "tensors_of_other_dtypes": lambda tf: [tf.constant(1.0), tf.constant(1), tf.constant(2.0)],
    "integers": lambda tf: [1, 2, 1],
    "floats": lambda tf: [0.5, 1.5, 0.5],
    "not_a_number": lambda tf: [float("nan"), float("nan")],
    "arrays": lambda tf: [np.float32([1, 2]), np.float32([3, 4]), np.float32([5])],
    "arrays_and_tensors": lambda tf: [np.float32([1, 2]), tf.constant([3.0, 4.0])],
    "numbers_of_numpy": lambda tf: [np.float32(1), np.float32(2), np.int32(1)],
    "a_number_and_a_tensor": lambda tf: [2.0, tf.constant(2.0), 2.0],
    "empty_tensors": lambda tf: [tf.zeros([0]), tf.zeros([0, 2]), tf.zeros([0])],
    "variables_of_one_kind": lambda tf: [tf.Variable(1.0), tf.Variable(2.0)],
    "variables_of_other_shapes": lambda tf: [tf.Variable([1.0]), tf.Variable([1.0, 2.0])],
    "a_variable_and_a_tensor": lambda tf: [tf.Variable(1.0), tf.constant(2.0), tf.Variable(3.0)],
}
CASES.update({name: repeated(calls) for name, calls in ARGUMENTS.items()})


@case
def no_arguments(record):
    body = returning(record, lambda: 3)
    record(body)
    record(body)


@case
def none(record):
    body = returning(record, lambda x: 1 if x is None else x)
    for argument in (None, 2, None):
        record(body, argument)


@case
def strings(record):
    body = returning(record, len)
    for argument in ("a", "bc", "a", b"a", b"bc", b"a"):
        record(body, argument)


@case
def truth_values(record):
    body = returning(record, lambda x: 5 if x else 6)
    for argument in (True, False, True):
        record(body, argument)


@case
def lists_and_tuples(record):
    tf = record.tf
    body = returning(record, lambda pair: pair[0] + pair[1])
    one, two = tf.constant(1.0), tf.constant(2.0)
    for argument in ([one, two], (one, two), [two, one], Point(one, two)):
        record(body, argument)


@case
def lists_of_other_lengths(record):
    body = returning(record, sum)
    for argument in ([1, 2], [1, 2, 3], [1, 2]):
        record(body, argument)


@case
def dictionaries(record):
    one = record.tf.constant(1.0)
    body = returning(record, lambda given: given["a"])
    for argument in ({"a": one, "b": one}, {"b": one, "a": one}, {"a": one}):
        record(body, argument)


@case
def dictionaries_of_numbers(record):
    body = returning(record, lambda given: given["a"])
    for argument in ({"a": 1}, {"a": 2}, {"a": 1}):
        record(body, argument)


@case
def objects(record):
    body, first = returning(record, lambda thing: thing.number), Anything(1)
    for argument in (first, first, Anything(2)):
        record(body, argument)


@case
def objects_that_are_equal(record):
    body, first, second = returning(record, lambda thing: thing.number), Equal(1), Equal(1)
    for argument in (first, second, Equal(2)):
        record(body, argument)


@case
def data_classes(record):
    body, first, second = returning(record, lambda settings: settings.scale), Settings(1.0), Settings(1.0)
    third = Settings(2.0)
    for argument in (first, second, third):
        record(body, argument)


@case
def functions_as_arguments(record):
    body = returning(record, lambda fn, x: fn(x))
    first, second = (lambda x: x + 1), (lambda x: x * 10)
    for fn in (first, first, second):
        record(body, fn, record.tf.constant(2.0))


@case
def classes_as_arguments(record):
    body = returning(record, lambda kind: kind is Anything)
    for kind in (Anything, Equal, Anything):
        record(body, kind)


@case
def dtypes_as_arguments(record):
    tf = record.tf
    body = returning(record, lambda dtype: tf.cast(2, dtype))
    for dtype in (tf.float32, tf.int32, tf.float32):
        record(body, dtype)


@case
def keyword_arguments(record):
    one, two = record.tf.constant(1.0), record.tf.constant(2.0)

    def body(x, y):
        record.count()
        return x - y

    body = record.tf.function(body)
    record(body, one, two)
    record(body, x=one, y=two)
    record(body, y=one, x=two)
    record(body, one, y=two)


@case
def defaults(record):
    def body(x, scale=2):
        record.count()
        return x * scale

    body, one = record.tf.function(body), record.tf.constant(1.0)
    record(body, one)
    record(body, one, 2)
    record(body, one, scale=2)
    record(body, one, scale=3)


@case
def keyword_only_defaults(record):
    def body(x, *, scale=2):
        record.count()
        return x * scale

    body, one = record.tf.function(body), record.tf.constant(1.0)
    record(body, one)
    record(body, one, scale=2)
    record(body, one, scale=3)


@case
def any_number_of_arguments(record):
    def body(*values, **named):
        record.count()
        return sum(values) + sum(named.values())

    body, one = record.tf.function(body), record.tf.constant(1.0)
    record(body, one)
    record(body, one, one)
    record(body, one, a=one)
    record(body, one, b=one)
    record(body, one, a=one)


@case
def methods(record):
    class Scaling:
        def __init__(self, scale):
            self.scale = scale

        @record.tf.function
        def scaled(self, x):
            record.count()
            return x * self.scale

    first, second, one = Scaling(2.0), Scaling(3.0), record.tf.constant(1.0)
    record(first.scaled, one)
    record(first.scaled, one)
    record(second.scaled, one)
    record(first.scaled, one)


@case
def functions_in_functions(record):
    tf = record.tf
    inner_calls = []

    @tf.function
    def inner(x):
        inner_calls.append(1)
        return x + 1

    @tf.function
    def outer(x):
        record.count()
        return inner(x) + inner(x * 2)

    record(outer, tf.constant(1.0))
    record(outer, tf.constant(2.0))
    record.note(inner, len(inner_calls))


@case
def partial_functions(record):
    def body(scale, x):
        record.count()
        return x * scale

    body = record.tf.function(functools.partial(body, 3.0))
    record(body, record.tf.constant(1.0))
    record(body, record.tf.constant(2.0))


@case
def variables_twice_and_apart(record):
    tf = record.tf
    body = returning(record, lambda a, b: a + b)
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    for pair in ((v, w), (w, v), (v, v), (w, w)):
        record(body, *pair)


@case
def variables_that_are_written(record):
    tf = record.tf
    body = returning(record, lambda v, x: v.assign_add(x))
    v, w = tf.Variable(1.0), tf.Variable(10.0)
    for variable in (v, w, v):
        record(body, variable, tf.constant(1.0))
    record(returning(record, lambda: (v.read_value(), w.read_value())))


@case
def variables_that_are_made(record):
    made = []

    def body(x):
        record.count()
        if not made:
            made.append(record.tf.Variable(10.0))
        return made[0].assign_add(x)

    body = record.tf.function(body)
    for number in (1.0, 2.0):
        record(body, record.tf.constant(number))


@case
def errors_while_tracing(record):
    def fail(x):
        raise KeyError("missing")

    body = returning(record, fail)
    record(body, 1)
    record(body, 1)


@case
def a_signature(record):
    tf = record.tf
    double = doubling(record, input_signature=[tf.TensorSpec([None], tf.float32)])
    for size in (1, 3, 2):
        record(double, tf.ones([size]))
    record(double, [1.0, 2.0])


@case
def a_signature_of_known_sizes(record):
    tf = record.tf
    double = doubling(record, input_signature=[tf.TensorSpec([2], tf.float32)])
    record(double, tf.ones([2]))
    record(double, tf.ones([3]))
    record(double, tf.ones([2]))


@case
def a_signature_of_any_shape(record):
    tf = record.tf
    double = doubling(record, input_signature=[tf.TensorSpec(None, tf.float32)])
    for shape in ([], [2], [1, 2]):
        record(double, tf.ones(shape))


@case
def a_signature_of_a_nest(record):
    tf = record.tf
    spec = tf.TensorSpec([None], tf.float32)
    body = returning(
        record,
        lambda given: tf.reduce_sum(given["a"]) + tf.reduce_sum(given["b"]),
        input_signature=[{"a": spec, "b": spec}],
    )
    for size in (1, 2):
        record(body, {"a": tf.ones([size]), "b": tf.ones([size + 1])})


@case
def reduced_retracing(record):
    tf = record.tf
    double = doubling(record, reduce_retracing=True)
    for size in (1, 2, 3, 1, 4):
        record(double, tf.ones([size]))


@case
def reduced_retracing_over_ranks(record):
    tf = record.tf
    double = doubling(record, reduce_retracing=True)
    for shape in ([1], [2, 2], [3], [1, 1, 1]):
        record(double, tf.ones(shape))


@case
def reduced_retracing_of_two(record):
    tf = record.tf
    body = returning(record, lambda a, b: tf.reduce_sum(a) + tf.reduce_sum(b), reduce_retracing=True)
    for sizes in ((1, 1), (2, 1), (3, 1), (3, 2), (4, 5), (1, 1)):
        record(body, *[tf.ones([size]) for size in sizes])


@case
def reduced_retracing_does_not_mix_dtypes_and_numbers(record):
    tf = record.tf
    body = returning(record, lambda x, n: x * n, reduce_retracing=True)
    record(body, tf.ones([1]), 2)
    record(body, tf.ones([2]), 3)
    record(body, tf.ones([3]), 2)
    record(body, tf.ones([4]), 2)
    record(body, tf.ones([5]), 3)
    record(body, tf.ones([1], tf.int32), 2)


@case
def concrete_functions(record):
    tf = record.tf
    double = doubling(record)
    concrete = double.get_concrete_function(tf.TensorSpec([None], tf.float32))
    record.note(double, None)
    record.note(double, record.plain(concrete(tf.ones([2]))))
    record.note(double, record.plain(concrete(tf.ones([3]))))
    record(double, tf.ones([4]))
    record(double, tf.ones([4, 4]))


@case
def concrete_functions_of_known_sizes(record):
    tf = record.tf
    double = doubling(record)
    concrete = double.get_concrete_function(tf.TensorSpec([2], tf.float32))
    record.note(double, record.plain(concrete(tf.ones([2]))))
    record(double, tf.ones([2]))
    record(double, tf.ones([3]))


@case
def concrete_functions_of_numbers(record):
    tf = record.tf
    body = returning(record, lambda x, n: x * n)
    concrete = body.get_concrete_function(tf.TensorSpec([], tf.float32), 3)
    record.note(body, record.plain(concrete(tf.constant(2.0))))
    record(body, tf.constant(5.0), 3)
    record(body, tf.constant(5.0), 4)


def elements(record, dataset, times, strategy=None):
    """Steps of a function that takes the next element of an iterator, one more than there are."""
    tf = record.tf
    step = returning(record, lambda iterator: tf.reduce_sum(next(iterator)))
    for iterator in (iter(dataset), iter(dataset)):
        for _ in range(times):
            record(step, iterator)


@case
def the_next_element(record):
    elements(record, record.tf.data.Dataset.from_tensor_slices(np.float32([1, 2, 3])), 4)


@case
def the_next_batch_and_a_last_partial_one(record):
    elements(record, record.tf.data.Dataset.from_tensor_slices(np.float32([1, 2, 3, 4, 5])).batch(2), 4)


@case
def the_next_batch_without_a_partial_one(record):
    data = record.tf.data.Dataset.from_tensor_slices(np.float32([1, 2, 3, 4, 5]))
    elements(record, data.batch(2, drop_remainder=True), 3)


@case
def iterators_over_other_elements(record):
    tf = record.tf
    step = returning(record, lambda iterator: tf.reduce_sum(next(iterator)))
    data = tf.data.Dataset.from_tensor_slices(np.float32([1, 2, 3, 4]))
    for one in (
        data,
        data.batch(2),
        data.batch(3),
        data.batch(2, drop_remainder=True),
        data.batch(4, drop_remainder=True),
    ):
        record(step, iter(one))


@case
def two_elements_in_one_call(record):
    tf = record.tf
    iterator = iter(tf.data.Dataset.from_tensor_slices(np.float32([1, 2, 3, 4, 5])))
    step = returning(record, lambda: next(iterator) * 10 + next(iterator))
    for _ in range(4):
        record(step)


@case
def elements_of_two_iterators(record):
    tf = record.tf
    first, second = (iter(tf.data.Dataset.from_tensor_slices(np.float32(given))) for given in ([1, 2, 3], [10, 20]))
    step = returning(record, lambda a, b: next(a) + next(b))
    for _ in range(3):
        record(step, first, second)
    record(returning(record, lambda: next(first)))


@case
def elements_that_are_nests(record):
    tf = record.tf
    data = tf.data.Dataset.from_tensor_slices({"x": np.float32([1, 2, 3]), "y": np.float32([4, 5, 6])}).batch(2)

    def total(iterator):
        element = next(iterator)
        return tf.reduce_sum(element["x"] * element["y"])

    step, iterator = returning(record, total), iter(data)
    for _ in range(3):
        record(step, iterator)


@case
def steps_that_write_variables(record):
    tf = record.tf
    total = tf.Variable(0.0)
    step = returning(record, lambda iterator: total.assign_add(tf.reduce_sum(next(iterator))))
    iterator = iter(tf.data.Dataset.from_tensor_slices(np.float32([1, 2, 3])).batch(2))
    for _ in range(3):
        record(step, iterator)
    record(returning(record, total.read_value))


def distributed(record, size, batch):
    tf, strategy = record.tf, record.strategy()
    data = tf.data.Dataset.from_tensor_slices(np.arange(size, dtype=np.float32)).batch(batch)
    dataset = strategy.experimental_distribute_dataset(data)

    @tf.function
    def step(iterator):
        record.count()
        return strategy.run(tf.reduce_sum, args=(next(iterator),))

    for iterator in (iter(dataset), iter(dataset)):
        for _ in range(-(-size // batch) + 1):
            record(step, iterator)


@case
def distributed_batches(record):
    distributed(record, 8, 4)


@case
def distributed_batches_with_an_uneven_one(record):
    distributed(record, 7, 4)


@case
def distributed_batches_with_an_empty_part(record):
    distributed(record, 5, 4)


@case
def per_replica_arguments(record):
    tf, strategy = record.tf, record.strategy()
    step = returning(record, lambda x: strategy.run(lambda y: y * 2, args=(x,)))
    for number in (1.0, 2.0):
        value = strategy.experimental_distribute_values_from_function(lambda c, n=number: tf.constant(n))
        record(step, value)
    record(step, strategy.experimental_distribute_values_from_function(lambda c: tf.constant([1.0])))


@case
def functions_in_replicas(record):
    tf, strategy = record.tf, record.strategy()
    replica = tf.function(lambda x: x * 2)
    for number in (1.0, 2.0):
        record.note(replica, record.plain(strategy.run(replica, args=(tf.constant(number),))))


@case
def loops_over_data(record):
    tf = record.tf

    @tf.function
    def total(dataset):
        result = tf.constant(0.0)
        for element in dataset:
            result += tf.reduce_sum(element)
        return result

    data = tf.data.Dataset.from_tensor_slices(np.float32([1, 2, 3]))
    for one in (data, data.batch(2), data.batch(2).take(1)):
        record(total, one)


@case
def functions_run_eagerly(record):
    tf = record.tf
    double = doubling(record)
    record(double, tf.constant(1.0))
    tf.config.run_functions_eagerly(True)
    record(double, tf.constant(1.0))
    tf.config.run_functions_eagerly(False)
    record(double, tf.constant(1.0))


def recorded(tf, name, devices):
    """The rows of a case."""
    record = Recorder(tf, devices)
    CASES[name](record)
    return record.rows


if __name__ == "__main__":
    import tensorflow

    (cpu,) = tensorflow.config.list_physical_devices("CPU")
    tensorflow.config.set_logical_device_configuration(cpu, [tensorflow.config.LogicalDeviceConfiguration()] * 2)
    rows = {name: recorded(tensorflow, name, ["CPU:0", "CPU:1"]) for name in CASES}
    print("{\n" + ",\n".join(f'"{name}": {json.dumps(found)}' for name, found in rows.items()) + "\n}")
