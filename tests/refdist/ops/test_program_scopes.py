"""What programs write around operations."""

import sys

import pytest

import refdist as tf


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        # As TensorFlow 2.21 prints them.
        (lambda: [tf.constant(1.5)], "1.5\n"),
        (lambda: [tf.constant(1.0), tf.constant([1.0, 2.5])], "1 [1 2.5]\n"),
        (lambda: ["loss:", tf.constant(3)], "loss: 3\n"),
        (lambda: [tf.range(10)], "[0 1 2 ... 7 8 9]\n"),
        (lambda: [tf.constant([[1, 2], [3, 4]])], "[[1 2]\n [3 4]]\n"),
        (lambda: [tf.constant([True, False])], "[1 0]\n"),
        (lambda: [tf.constant(["a", "b"])], '["a" "b"]\n'),
        (lambda: [tf.constant("a")], "a\n"),
        (lambda: [tf.Variable(2.0)], "2\n"),
        (lambda: [[tf.constant(1.0), 2]], "[1, 2]\n"),
        (lambda: [{"a": tf.constant(1.5)}], "{'a': 1.5}\n"),
        (lambda: [1.0, None], "1.0 None\n"),
        (lambda: [["a"], (1, "a")], "['a'] (1, 'a')\n"),
        (lambda: [tf.constant([0.1, 1e10, 1 / 3])], "[0.1 1e+10 0.333333343]\n"),
        (lambda: [tf.constant(1 / 3, tf.float64)], "0.33333333333333331\n"),
        (lambda: [tf.constant(0.5, tf.bfloat16)], "0.5\n"),
        (lambda: [True], "True\n"),
    ],
)
def test_print_writes_to_stderr_as_tensorflow_does(capsys, make, expected):
    tf.print(*make())

    assert ("", expected) == capsys.readouterr()


def test_print_takes_a_separator_an_end_a_stream_and_a_file(capsys, tmp_path):
    tf.print(1, 2, sep="-", end="!", output_stream=sys.stdout)
    tf.print(tf.range(8), summarize=-1, output_stream=f"file://{tmp_path}/out")

    assert ("1-2!", "") == capsys.readouterr()
    assert "[0 1 2 3 4 5 6 7]\n" == (tmp_path / "out").read_text()


def test_a_function_prints_each_time_that_it_is_called(any_backend, capsys):
    @tf.function
    def double(x):
        tf.print("x:", x, [x, "text"], {"a": 1})
        tf.print("that is all")
        return x * 2

    double(tf.constant(1.0))
    double(tf.constant([2.5, 1.0]))
    double(tf.constant(3.0))

    out, err = capsys.readouterr()
    lines = [f"x: {x} [{x}, 'text'] {{'a': 1}}\nthat is all\n" for x in ("1", "[2.5 1]", "3")]
    assert ("", "".join(lines)) == (out, err)


def test_a_function_prints_where_the_program_goes(capsys):
    @tf.function
    def step(x, n):
        if x > 0:
            tf.print("positive", x)
        else:
            tf.print("negative", x)
        for i in tf.range(n):
            tf.print("turn", i)
        return x

    step(tf.constant(1), tf.constant(2))
    step(tf.constant(-1), tf.constant(0))

    assert "positive 1\nturn 0\nturn 1\nnegative -1\n" == capsys.readouterr().err


@pytest.mark.parametrize("product", [False, True], ids=["as a batch", "one by one"])
@pytest.mark.parametrize("backend", ["simulator", "jax"])
def test_each_replica_prints_what_it_meets(capsys, backend, product):
    with tf.using(backend, cpus=2):
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        own = strategy.experimental_distribute_values_from_function(
            lambda context: tf.constant([[context.replica_id_in_sync_group]])
        )

        def step(x):
            tf.print("all")
            number = x[0, 0]
            if number > 0:
                tf.print("positive", number)
            while number < 2:
                tf.print("turn", number)
                number += 1
            return tf.matmul(x, x) if product else x

        @tf.function
        def steps(own):
            tf.print("outside")
            return strategy.run(step, args=(own,))

        steps(own)

    assert ["all", "all", "outside", "positive 1", "turn 0", "turn 1", "turn 1"] == sorted(
        capsys.readouterr().err.splitlines()
    )


def test_name_scopes_name_variables(any_backend):
    with tf.name_scope("outer") as outer, tf.name_scope("inner"):
        named, plain = tf.Variable(1.0, name="weight"), tf.Variable(1.0)

    assert ("outer/", "outer/inner/weight:0", "outer/inner/Variable:0") == (outer, named.name, plain.name)
    assert "weight:0" == tf.Variable(1.0, name="weight").name
    with pytest.raises(ValueError, match="expected a name"), tf.name_scope(None):
        pass


def test_operations_are_in_order_without_control_dependencies(any_backend):
    variable = tf.Variable(1.0)

    @tf.function
    def step():
        with tf.control_dependencies([variable.assign_add(1.0)]):
            doubled = variable * 2
        tf.group(variable.assign_add(1.0), tf.no_op())
        return doubled

    assert (4.0, 3.0) == (float(step()), float(variable.numpy()))
    assert (None, None) == (tf.group(variable), tf.no_op())


def test_init_scope_does_nothing_outside_of_functions_and_is_refused_inside():
    def made():
        with tf.init_scope():
            return tf.Variable(1.0)

    with tf.distribute.OneDeviceStrategy("CPU:0").scope():
        assert made().distribute_strategy is tf.distribute.get_strategy()
    with pytest.raises(RuntimeError, match="before the first call"):
        tf.function(made)()


def test_the_time_goes_on_in_a_function():
    now = tf.function(tf.timestamp)

    assert tf.float64 == now().dtype
    assert float(now()) <= float(now())
