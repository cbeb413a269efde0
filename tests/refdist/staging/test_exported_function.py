import numpy as np
import pytest

import refdist as tf
from refdist._core.staging.exported_function import exported, with_specs
from refdist._core.staging.program import Output

ANY = tf.TensorSpec([None], tf.float32)


@pytest.fixture(params=["simulator", "jax"])
def strategy(request):
    with tf.using(request.param, cpus=2):
        yield tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])


def test_it_says_what_the_program_takes_reads_writes_and_returns():
    read, written = tf.Variable(2.0), tf.Variable([0.0])

    @tf.function
    def step(x, factor, unused):
        written.assign([1.0])
        return {"a": x * read * factor, "b": "text"}

    made = exported(step, (tf.TensorSpec([3], tf.float32), 2.0, ANY), {})

    assert (("x", "factor", "unused"), (0,), False) == (made.names, made.takes, made.draws)
    assert ((read.storage,), (written.storage,)) == (made.reads, made.writes)
    assert (Output, "text") == (type(made.result["a"]), made.result["b"])
    assert made.data


def test_sizes_are_one_each_where_that_works_and_one_for_all_elsewhere():
    apart = exported(tf.function(lambda x, y: (x, y)), (ANY, ANY), {})
    together = exported(tf.function(lambda x, y: x + y), (ANY, ANY), {})

    assert apart.data != together.data
    with pytest.raises(ValueError, match=r"(?s)does not have to know the sizes that are None.*input_signature"):
        exported(tf.function(lambda x: np.zeros(x.shape)), (ANY,), {})
    with pytest.raises(ZeroDivisionError):
        exported(tf.function(lambda x: 1 / 0), (ANY,), {})


def test_what_is_one_for_all_replicas_is_saved_and_what_is_not_is_refused(strategy, tmp_path):
    def own(aggregation):
        return tf.Variable(
            2, synchronization=tf.VariableSynchronization.ON_READ, aggregation=aggregation, dtype=tf.float32
        )

    module, number = tf.Module(), tf.distribute.get_replica_context
    with strategy.scope():
        module.mirrored = tf.Variable(2.0)
        module.sum, module.mean = own(tf.VariableAggregation.SUM), own(tf.VariableAggregation.MEAN)
    module.sum.assign(7.0)

    def parts(x):
        return strategy.run(lambda: x * (number().replica_id_in_sync_group + 1.0))

    def all_of_them(x):
        return x * module.mirrored, x * module.sum, x * module.mean, strategy.reduce("SUM", parts(x), axis=None)

    module.f = tf.function(all_of_them, input_signature=[tf.TensorSpec([3], tf.float32)])
    expected = [np.asarray(one).tolist() for one in all_of_them(tf.ones([3]))]
    tf.saved_model.save(module, str(tmp_path))
    results = tf.saved_model.load(str(tmp_path)).f(tf.ones([3]))

    assert [[2.0] * 3, [7.0] * 3, [2.0] * 3, [3.0] * 3] == expected
    assert expected == [np.asarray(one).tolist() for one in results]
    with pytest.raises(ValueError, match="what each replica has its own of"):
        exported(tf.function(parts), (ANY,), {})


def test_what_only_python_can_do_is_refused():
    dataset = tf.data.Dataset.range(3)
    with pytest.raises(ValueError, match="does what only Python can"):
        exported(tf.function(lambda x, data: sum(int(one) for one in data) * x), (ANY, dataset), {})


def test_arguments_have_specs_for_tensors_and_stay_what_they_are_elsewhere():
    variable = tf.Variable(1.0)
    found = with_specs(((tf.ones([2]), 3, "text", variable), {"a": [np.zeros(2, np.int64)]}))

    assert (tf.TensorSpec([2], tf.float32), 3, "text") == found[0][:3]
    assert found[0][3] is variable
    assert [tf.TensorSpec([2], tf.int64)] == found[1]["a"]
