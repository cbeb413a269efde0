import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as generators

import refdist as tf
from refdist._core.variables.sharded_variable import ShardedVariable
from tests.refdist.servers import backend, make, partitioners, server

assert backend  # a fixture
TABLE = np.arange(10, dtype=np.float32).reshape(5, 2)


def table(shards=3, **options):
    """A variable of five rows, in so many shards."""
    with make(ps=2, partitioner=partitioners.FixedShardsPartitioner(shards)).scope():
        return tf.Variable(TABLE, **options)


@given(rows=generators.integers(1, 12), shards=generators.integers(1, 20), ps=generators.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_rows_are_divided_as_evenly_as_possible_over_the_servers(rows, shards, ps):
    with tf.using("host"), make(ps, partitioner=partitioners.FixedShardsPartitioner(shards)).scope():
        variable = tf.Variable(np.arange(rows, dtype=np.int32))
    count = min(rows, shards)
    sizes = [one.shape[0] for one in variable.shards]

    assert [part.size for part in np.array_split(np.arange(rows), count)] == sizes
    assert [server(index % ps) for index in range(count)] == [one.device for one in variable.shards]
    assert list(range(rows)) == variable.numpy().tolist()
    assert isinstance(variable, ShardedVariable) == (count > 1)


def test_it_is_read_as_one(backend):
    variable = table(name="rows")

    assert ((5, 2), np.float32, "ShardedVariable") == (variable.shape, variable.dtype, variable.name)
    assert ["rows/part_0:0", "rows/part_1:0", "rows/part_2:0"] == [one.name for one in variable.variables]
    np.testing.assert_array_equal(TABLE + 1, np.asarray(variable + 1))
    np.testing.assert_array_equal(TABLE[::-2], np.asarray(variable[::-2]))
    np.testing.assert_array_equal(TABLE[1:4, 0], np.asarray(variable[1:4, 0]))
    np.testing.assert_array_equal(TABLE[TABLE[:, 0] > 3], np.asarray(variable[TABLE[:, 0] > 3]))
    np.testing.assert_array_equal(TABLE @ [[1.0], [2.0]], np.asarray(tf.matmul(variable, tf.constant([[1.0], [2.0]]))))
    assert 45.0 == float(tf.reduce_sum(variable)) == float(tf.reduce_sum(tf.convert_to_tensor(variable)))
    assert list(variable)[1] is variable.variables[1]
    assert repr(variable).startswith("ShardedVariable:{\n  0: <tf.Variable 'rows/part_0:0' shape=(2, 2)")


def test_it_is_written_as_one(backend):
    variable = table()
    variable.assign_add(np.ones([5, 2]))
    variable.assign_sub(tf.ones([5, 2]) * 3.0)

    np.testing.assert_array_equal(TABLE - 2, variable.numpy())
    assert variable is variable.assign(TABLE)
    np.testing.assert_array_equal(TABLE[2:4], variable.variables[1].numpy())


@pytest.mark.parametrize("wrong", [np.ones([4, 2]), np.ones([6, 2]), np.ones(2), 1.0])
def test_a_value_of_another_shape_is_refused_before_anything_is_written(backend, wrong):
    variable = table()
    with pytest.raises(ValueError, match="expected \\(5, 2\\)"):
        variable.assign(wrong)

    np.testing.assert_array_equal(TABLE, variable.numpy())


@pytest.mark.parametrize("staged", [False, True])
def test_slices_reach_the_shards_that_they_belong_to(backend, staged):
    variable = table()

    def scatter(indices):
        variable.scatter_add(tf.IndexedSlices(tf.ones([3, 2]), indices))
        return tf.reduce_sum(variable)

    total = (tf.function(scatter) if staged else scatter)(tf.constant([0, 4, 0]))
    variable.scatter_update(tf.IndexedSlices(np.zeros([1, 2], np.float32), [1]))
    variable.scatter_sub(tf.IndexedSlices(np.ones([1, 2], np.float32), [2]))

    assert 51.0 == float(total)
    assert [[2, 3], [0, 0], [3, 4], [6, 7], [9, 10]] == variable.numpy().tolist()
    with pytest.raises(ValueError, match="expected 0 to 4"):
        variable.scatter_add(tf.IndexedSlices(np.ones([1, 2], np.float32), [5]))


def test_a_compiled_step_uses_and_makes_shards(backend):
    strategy = make(partitioner=partitioners.FixedShardsPartitioner(2))
    made = []

    @tf.function
    def step(x):
        def replica():
            if not made:
                made.append(tf.Variable(TABLE))
            made[0].assign_add(x * made[0])
            return tf.reduce_sum(made[0][1:3])

        return strategy.run(replica)

    assert [28.0, 56.0] == [float(step(tf.constant(1.0))) for _ in range(2)]
    np.testing.assert_array_equal(TABLE * 4, made[0].numpy())
    assert [server(0), server(1)] == [shard.device for shard in made[0].variables]


@pytest.mark.parametrize("staged", [False, True])
def test_its_gradient_is_that_of_the_whole_and_of_each_shard(backend, staged):
    variable = table(shards=2)

    def gradients(ids):
        with tf.GradientTape(persistent=True) as tape:
            total = tf.reduce_sum(tf.gather(variable, ids) ** 2)
        return tf.convert_to_tensor(tape.gradient(total, variable)), tape.gradient(total, variable.variables)

    whole, parts = (tf.function(gradients) if staged else gradients)(tf.constant([1, 1, 4]))
    expected = TABLE * 2 * np.array([[0], [2], [0], [0], [1]], np.float32)

    np.testing.assert_array_equal(expected, np.asarray(whole))
    np.testing.assert_array_equal(expected, np.concatenate([np.asarray(part) for part in parts]))


def test_a_module_has_its_shards_and_a_checkpoint_fits_another_number_of_them(backend, tmp_path):
    module = tf.Module()
    module.rows = table(shards=3)
    path = tf.train.Checkpoint(module).save(str(tmp_path / "saved"))
    other = tf.Module()
    other.rows = table(shards=2, trainable=False)
    other.rows.assign(TABLE * 0)
    tf.train.Checkpoint(other).restore(path).assert_consumed()

    np.testing.assert_array_equal(TABLE, other.rows.numpy())
    assert (3, 3, 2, 0) == tuple(
        map(len, (module.variables, module.trainable_variables, other.variables, other.trainable_variables))
    )


def test_a_deep_copy_has_shards_of_its_own(backend):
    variable = table()
    clone = copy.deepcopy({"rows": variable})["rows"]
    clone.assign(TABLE * 2)

    np.testing.assert_array_equal(TABLE, variable.numpy())
    np.testing.assert_array_equal(TABLE * 2, tf.function(lambda: clone + 0.0)())


def test_it_has_no_device_of_its_own_and_belongs_to_the_strategy():
    strategy = make(partitioner=partitioners.FixedShardsPartitioner(2))
    with strategy.scope():
        variable = tf.Variable(TABLE)

    assert strategy.extended.variable_created_in_scope(variable)
    assert not hasattr(variable, "device")
    with pytest.raises(AttributeError, match="one of its variables"):
        strategy.extended.update(variable, lambda one: one)


def test_scalars_and_variables_beside_others_are_not_cut():
    strategy = make(partitioner=partitioners.FixedShardsPartitioner(2))
    with strategy.scope():
        scalar = tf.Variable(1.0)
        with strategy.extended.colocate_vars_with(scalar):
            beside = tf.Variable(TABLE)

    assert [1, 1] == [len(one.shards) for one in (scalar, beside)]
    assert scalar.device == beside.device


class TestInitialValues:
    strategy = make(partitioner=lambda shape, dtype: [4] + [1] * (len(shape) - 1))

    def made(self, *args, **kwargs):
        with self.strategy.scope():
            return tf.Variable(*args, **kwargs)

    @pytest.mark.parametrize("initial", [TABLE.tolist(), lambda: TABLE, lambda: tf.Variable(TABLE)])
    def test_may_be_numbers_a_function_or_a_variable(self, initial):
        np.testing.assert_array_equal(TABLE, self.made(initial).numpy())

    def test_are_converted_to_the_dtype_that_is_asked_for(self):
        variable = self.made([1, 2, 3, 4], dtype=tf.float32)

        assert {np.dtype("float32")} == {one.dtype for one in variable.shards} == {variable.dtype}

    def test_are_asked_for_by_shard_where_the_function_takes_that(self):
        calls = []

        def rows(partition_shape, partition_offset):
            calls.append((partition_shape, partition_offset))
            return TABLE[partition_offset[0] :][: partition_shape[0]]

        np.testing.assert_array_equal(TABLE, self.made(rows, shape=(5, 2), dtype=tf.float32).numpy())
        assert [((2, 2), (0, 0)), ((1, 2), (2, 0)), ((1, 2), (3, 0)), ((1, 2), (4, 0))] == calls

    def test_are_cut_where_a_function_takes_anything_and_returns_all(self):
        np.testing.assert_array_equal(TABLE, self.made(lambda **_: TABLE, shape=(5, 2), dtype=tf.float32).numpy())

    def test_of_another_shape_than_is_given_are_refused(self):
        with pytest.raises(ValueError, match="to be equal"):
            self.made(TABLE, shape=(6, 2))

    def test_are_needed(self):
        with pytest.raises(ValueError, match="no initial_value"):
            self.made()

    def test_that_differ_by_replica_are_refused(self):
        with tf.using("host", gpus=2):
            both = tf.distribute.MirroredStrategy().run(lambda: tf.ones([2]))
        with pytest.raises(ValueError, match="per-replica"):
            self.made(both)


@pytest.mark.parametrize("pieces", [[2, 2], [0, 1], [], 3, [2], ["2", 1], None])
def test_a_partitioner_that_cuts_another_axis_or_says_nothing_is_refused(pieces):
    with make(partitioner=lambda shape, dtype: pieces).scope(), pytest.raises(ValueError, match="variable_partitioner"):
        tf.Variable(TABLE)


def test_a_partitioner_of_ones_cuts_nothing():
    with make(partitioner=lambda shape, dtype: [1, 1]).scope():
        assert 1 == len(tf.Variable(TABLE).shards)


# What TensorFlow 2.21 answers.
@pytest.mark.parametrize(
    ("partitioner", "expected"),
    [
        (partitioners.FixedShardsPartitioner(2), ([2, 1], [2], [1], [2, 1], [2])),
        (partitioners.MinSizePartitioner(16, 4), ([3, 1], [3], [1], [3, 1], [4])),
        (partitioners.MinSizePartitioner(4, 10), ([5, 1], [10], [1], [3, 1], [5])),
        (partitioners.MinSizePartitioner(), ([1, 1], [1], [1], [1, 1], [1])),
        (partitioners.MaxSizePartitioner(16), ([3, 1], [3], [1], [3, 1], [5])),
        (partitioners.MaxSizePartitioner(16, 2), ([2, 1], [2], [1], [2, 1], [2])),
        (partitioners.MaxSizePartitioner(3), ([5, 1], [10], [1], [3, 1], [5])),
    ],
)
def test_partitioners_cut_by_count_and_by_size(partitioner, expected):
    cases = [([5, 2], tf.float32), ([10], tf.float32), ([1], tf.float32), ([3, 7], tf.float32), ([5], tf.string)]

    assert list(expected) == [partitioner(shape, dtype) for shape, dtype in cases]


def test_partitioners_take_an_axis_and_empty_variables():
    assert [1, 3] == partitioners.MaxSizePartitioner(8)([2, 3], tf.float32, axis=1)
    assert [[1], [1], [1]] == [
        partitioner([0], tf.float32)
        for partitioner in (
            partitioners.FixedShardsPartitioner(2),
            partitioners.MinSizePartitioner(4, 4),
            partitioners.MaxSizePartitioner(4),
        )
    ]
    with pytest.raises(ValueError, match="one of its axes"):
        partitioners.FixedShardsPartitioner(2)([], tf.float32)
    with pytest.raises(NotImplementedError, match="__call__"):
        partitioners.Partitioner()([2], tf.float32)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: partitioners.FixedShardsPartitioner(0),
        lambda: partitioners.FixedShardsPartitioner("2"),
        lambda: partitioners.MinSizePartitioner(0),
        lambda: partitioners.MinSizePartitioner(1, 0),
        lambda: partitioners.MinSizePartitioner(1, 1, 0),
        lambda: partitioners.MaxSizePartitioner(-1),
        lambda: partitioners.MaxSizePartitioner(1, -1),
        lambda: partitioners.MaxSizePartitioner(1, 1, 0),
    ],
)
def test_sizes_and_counts_are_positive(wrong):
    with pytest.raises(ValueError, match="at least 1"):
        wrong()


def test_shards_fit_together_or_are_refused():
    with pytest.raises(TypeError, match="list of variables"):
        ShardedVariable([tf.constant([1.0])])
    for wrong in (
        [],
        [tf.Variable(1.0)],
        [tf.Variable([1.0]), tf.Variable([1])],
        [tf.Variable([1.0]), tf.Variable(TABLE)],
    ):
        with pytest.raises(ValueError, match="first axis"):
            ShardedVariable(wrong)
