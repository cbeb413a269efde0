import collections
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import refdist as tf
from refdist._core.saving.array_file import read_arrays


class Layer(tf.Module):
    def __init__(self, value):
        super().__init__()
        self.kernel = tf.Variable([value, value], name="kernel")
        self.parts = [tf.Variable(value), {"inner": tf.Variable(value + 1)}]


@pytest.fixture
def strategy(names):
    return tf.distribute.MirroredStrategy(names[:2])


def test_what_was_saved_is_restored_to_every_copy(tmp_path, strategy):
    with strategy.scope():
        layer = Layer(3.0)
    path = tf.train.Checkpoint(model=layer).save(str(tmp_path / "check" / "point"))
    for variable in layer.variables:
        variable.assign(variable * 0.0)
    tf.train.Checkpoint(model=layer).restore(path).assert_consumed()

    assert [[3.0, 3.0], 3.0, 4.0] == [variable.numpy().tolist() for variable in layer.variables]
    assert [[3.0, 3.0]] * 2 == [copy.numpy().tolist() for copy in layer.kernel.values]


def test_saved_names_are_numbered(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))

    assert [str(tmp_path / "p-1"), str(tmp_path / "p-2")] == [checkpoint.save(str(tmp_path / "p")) for _ in range(2)]


def test_a_value_waits_for_its_variable_however_deep_it_is(tmp_path, strategy):
    path = tf.train.Checkpoint(model=Layer(3.0)).save(str(tmp_path / "p"))
    checkpoint = tf.train.Checkpoint()
    status = checkpoint.restore(path)
    with pytest.raises(AssertionError, match="found no variable"):
        status.assert_consumed()
    with strategy.scope():
        checkpoint.model = tf.Module()
        checkpoint.model.kernel = tf.Variable([0.0, 0.0])

    assert [[3.0, 3.0]] * 2 == [copy.numpy().tolist() for copy in checkpoint.model.kernel.values]


@pytest.mark.parametrize("wrong", [[1.0], 1])
def test_a_checkpoint_that_does_not_fit_restores_nothing(tmp_path, wrong):
    path = tf.train.Checkpoint(a=tf.Variable(5.0), b=tf.Variable(6.0)).save(str(tmp_path / "p"))
    a, b = tf.Variable(1.0), tf.Variable(wrong)
    with pytest.raises((ValueError, TypeError), match="'b'"):
        tf.train.Checkpoint(a=a, b=b).restore(path)

    assert 1.0 == a.numpy()


def test_a_variable_without_a_value_is_reported(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(5.0)).save(str(tmp_path / "p"))
    status = tf.train.Checkpoint(a=tf.Variable(0.0), other=tf.Variable(1.0)).restore(path)
    with pytest.raises(AssertionError, match="other"):
        status.assert_existing_objects_matched()

    assert status is status.expect_partial()


def test_a_missing_or_damaged_file_is_named(tmp_path):
    checkpoint = tf.train.Checkpoint(a=tf.Variable(5.0))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        checkpoint.restore(str(tmp_path / "nowhere"))
    path = checkpoint.save(str(tmp_path / "p"))
    file = tmp_path / "p-1.safetensors"
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ValueError, match="damaged"):
        checkpoint.restore(path)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int64", "bool"])
def test_every_dtype_survives(tmp_path, dtype):
    original = tf.Variable(np.array([0, 1]).astype(getattr(tf, dtype)))
    path = tf.train.Checkpoint(v=original).save(str(tmp_path / "p"))
    other = tf.Variable(np.array([1, 0]).astype(getattr(tf, dtype)))
    tf.train.Checkpoint(v=other).restore(path)

    assert original.numpy().tolist() == other.numpy().tolist()


def test_a_saved_model_is_loaded_with_plain_or_distributed_variables(tmp_path, strategy):
    with strategy.scope():
        layer = Layer(3.0)
    tf.saved_model.save(layer, str(tmp_path / "model"))
    plain = tf.saved_model.load(str(tmp_path / "model"))
    with strategy.scope():
        distributed = tf.saved_model.load(str(tmp_path / "model"))

    assert (tf.Variable, "MirroredVariable") == (type(plain.kernel), type(distributed.kernel).__name__)
    assert [[3.0, 3.0]] * 2 == [copy.numpy().tolist() for copy in distributed.kernel.values]
    assert 3 == len(plain.variables) == len(plain.trainable_variables)


def test_only_a_module_can_be_saved(tmp_path):
    with pytest.raises(ValueError, match="expected a tf"):
        tf.saved_model.save(3, str(tmp_path))


@pytest.mark.parametrize("name", ["_count", "_name", "_waiting", "_values", "_save_counter", "_arrays"])
def test_every_name_is_free_for_a_variable(tmp_path, name):
    def made(value):
        module = tf.Module()
        setattr(module, name, tf.Variable(value))
        return module

    module, other, late = made(3.0), made(0.0), tf.Module()
    path = tf.train.Checkpoint(module=module).save(str(tmp_path / "p"))
    tf.train.Checkpoint(module=other).restore(path).assert_consumed()
    status = tf.train.Checkpoint(module=late).restore(path)
    setattr(late, name, tf.Variable(0.0))
    status.assert_consumed()
    checkpoint = tf.train.Checkpoint(**{name: tf.Variable(4.0)})
    path = checkpoint.save(str(tmp_path / "q"))
    getattr(checkpoint, name).assign(0.0)
    checkpoint.restore(path).assert_consumed()

    assert [3.0] * 3 == [getattr(one, name).numpy() for one in (module, other, late)]
    assert 1 == len(module.variables) == len(module.trainable_variables)
    assert 4.0 == getattr(checkpoint, name).numpy()


def test_variables_come_by_attribute_and_those_of_inner_modules_last():
    module = tf.Module()
    for name in ("z", "a", "y"):
        setattr(module, name, tf.Variable(1.0, name=name))
    module.sub = tf.Module()
    module.sub.q = tf.Variable(1.0, name="q")
    module.b = [tf.Variable(1.0, name="b0"), {"l": tf.Variable(1.0, name="bl"), "k": tf.Variable(1.0, name="bk")}]

    # As TensorFlow has them: "sorted by attribute name, followed by variables from all submodules".
    assert ["a:0", "b0:0", "bk:0", "bl:0", "y:0", "z:0", "q:0"] == [variable.name for variable in module.variables]


def test_numbers_go_on_after_a_restore_and_begin_anew_without(tmp_path):
    prefix = str(tmp_path / "p")
    first = tf.train.Checkpoint(v=tf.Variable(1.0))
    first.save(prefix)
    second = tf.train.Checkpoint(v=tf.Variable(2.0))
    second.restore(first.save(prefix)).assert_consumed()
    third = tf.train.Checkpoint(v=tf.Variable(3.0))

    assert 2 == second.save_counter.numpy()
    assert f"{prefix}-3" == second.save(prefix)
    assert f"{prefix}-1" == third.save(prefix)  # as TensorFlow has it
    with pytest.raises(AttributeError):
        tf.train.Checkpoint(save_counter=tf.Variable(1.0))


def test_a_file_that_was_written_without_a_number_leaves_the_count_alone(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(str(tmp_path / "p"))
    checkpoint = tf.train.Checkpoint(v=tf.Variable(0.0))
    checkpoint.save(str(tmp_path / "q"))
    checkpoint.restore(path).assert_consumed()

    assert str(tmp_path / "q-2") == checkpoint.save(str(tmp_path / "q"))


def test_numbers_are_the_same_on_all_backends(tmp_path):
    prefix = str(tmp_path / "p")
    checkpoints = []
    for name in ("jax", "simulator", "jax", "host"):
        with tf.using(name), tf.distribute.OneDeviceStrategy("CPU:0").scope():
            checkpoints.append(tf.train.Checkpoint(v=tf.Variable(1.0)))
            if len(checkpoints) > 1:
                checkpoints[-1].restore(f"{prefix}-{len(checkpoints) - 1}").assert_consumed()
            checkpoints[-1].save(prefix)

    assert [1, 2, 3, 4] == [checkpoint.save_counter.numpy() for checkpoint in checkpoints]


def test_a_number_is_not_used_again_after_a_save_that_failed(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    with pytest.raises(OSError):
        checkpoint.save("/proc/self/p")

    assert str(tmp_path / "p-2") == checkpoint.save(str(tmp_path / "p"))


@pytest.mark.parametrize("key", [1, (1, 2), None, b"1"])
def test_a_key_that_is_no_string_is_told(tmp_path, key):
    checkpoint = tf.train.Checkpoint(parts={key: tf.Variable(1.0), "1": tf.Variable(2.0)})
    path = tf.train.Checkpoint(parts={"1": tf.Variable(3.0)}).save(str(tmp_path / "other"))
    with pytest.raises(ValueError, match="expected a string"):
        checkpoint.save(str(tmp_path / "p"))
    with pytest.raises(ValueError, match="expected a string"):
        checkpoint.restore(path)

    assert [1.0, 2.0] == [variable.numpy() for variable in checkpoint.parts.values()]
    assert not (tmp_path / "p-1.safetensors").exists()


def test_keys_that_are_no_strings_are_in_order_where_there_are_no_variables(tmp_path):
    module = tf.Module()
    module.table, module.parts = {1: 2.0, "1": None}, {1: tf.Variable(1.0), "1": tf.Variable(2.0)}
    del module.parts[1]
    tf.train.Checkpoint(module=module).save(str(tmp_path / "p"))

    assert 1 == len(module.variables)


def test_a_key_that_is_no_string_is_no_matter_where_it_only_might_wait(tmp_path):
    path = tf.train.Checkpoint(m=tf.Module(), late=tf.Variable(1.0)).save(str(tmp_path / "p"))
    module = tf.Module()
    tf.train.Checkpoint(m=module).restore(path)
    module.parts = {1: tf.Variable(1.0)}

    assert 1 == len(module.variables)


class Plain:
    def __init__(self):
        self.variable = tf.Variable(1.0)


@pytest.mark.parametrize("value", [Plain(), 3, "text", object])
def test_what_cannot_be_looked_into_is_refused_by_name_and_ignored_inside(tmp_path, value):
    for arguments in ({"root": value}, {"x": value}):
        with pytest.raises(ValueError, match="Derive the class"):
            tf.train.Checkpoint(**arguments)
    module = tf.Module()
    module.it = [value]

    assert () == module.variables
    tf.train.Checkpoint(module=module, nest=[value]).save(str(tmp_path / "p"))


def test_a_variable_with_two_names_is_saved_once_and_restored_under_either(tmp_path):
    shared = tf.Variable(5.0)
    path = tf.train.Checkpoint(a=shared, b=shared).write(str(tmp_path / "p"))
    one, other, left = tf.Variable(0.0), tf.Variable(0.0), tf.Variable(0.0)
    tf.train.Checkpoint(b=one, a=one).restore(path).assert_consumed()
    tf.train.Checkpoint(x=other, a=other).restore(path).assert_consumed()
    with pytest.raises(AssertionError, match="The variables b got no value"):
        tf.train.Checkpoint(a=tf.Variable(0.0), b=left).restore(path).assert_consumed()

    assert ["a"] == list(read_arrays(tmp_path / "p.safetensors"))
    assert [5.0, 5.0, 0.0] == [variable.numpy() for variable in (one, other, left)]


def test_modules_with_two_names_and_in_circles_are_restored_under_any_name(tmp_path):
    def circle(value):
        one, other = tf.Module(), tf.Module()
        one.v, one.other, other.back, other.itself = tf.Variable(value), other, one, other
        return one

    path = tf.train.Checkpoint(b=circle(5.0)).save(str(tmp_path / "p"))
    module = circle(0.0)
    tf.train.Checkpoint(a=module, b=module).restore(path).assert_consumed()

    assert 5.0 == module.v.numpy()
    assert 1 == len(module.variables)


def test_two_saved_values_for_one_variable_are_not_both_consumed(tmp_path):
    path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).save(str(tmp_path / "p"))
    shared = tf.Variable(0.0)
    with pytest.raises(AssertionError, match="The values b found no variable"):
        tf.train.Checkpoint(a=shared, b=shared).restore(path).assert_consumed()

    assert 1.0 == shared.numpy()


def test_a_thousand_variables_and_a_deep_chain_of_modules(tmp_path):
    def made(value):
        root = inner = tf.Module()
        for _ in range(2000):
            inner.next = tf.Module()
            inner = inner.next
        root.many, inner.last = [tf.Variable(value + index) for index in range(1000)], tf.Variable(value)
        return root

    saved, other = made(1.0), made(0.0)
    path = tf.train.Checkpoint(saved).save(str(tmp_path / "p"))
    tf.train.Checkpoint(other).restore(path).assert_consumed()

    assert [one.numpy() for one in saved.variables] == [one.numpy() for one in other.variables]


def test_threads_that_save_one_checkpoint_use_each_number_once(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    with ThreadPoolExecutor(4) as executor:
        paths = list(executor.map(lambda _: checkpoint.save(str(tmp_path / "p")), range(40)))

    assert {str(tmp_path / f"p-{number}") for number in range(1, 41)} == set(paths)


class Late(tf.Module):
    weight = None

    def __call__(self, x):
        if self.weight is None:
            self.weight = tf.Variable(lambda: tf.ones([2]), aggregation=tf.VariableAggregation.MEAN)
        return self.weight * x


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "staged"])
def test_a_value_that_waits_is_given_in_replicas_and_programs_too(tmp_path, any_backend, names, staged):
    if staged and any_backend.name == "host":
        pytest.skip("the host compiles nothing")
    layer = Late()
    layer(1.0)
    layer.weight.assign([5.0, 6.0])
    path = tf.train.Checkpoint(layer=layer).save(str(tmp_path / "p"))
    strategy = tf.distribute.MirroredStrategy(names[:2])
    late = Late()
    status = tf.train.Checkpoint(layer=late).restore(path)

    def step():
        return strategy.run(lambda: late(tf.constant(1.0)))

    step = tf.function(step) if staged else step
    with strategy.scope():
        results = strategy.experimental_local_results(step())
    status.assert_consumed()
    late.weight.assign([0.0, 0.0])  # the value was given once, and not by the program

    assert [[5.0, 6.0]] * 2 == [np.asarray(result).tolist() for result in results]
    assert [[0.0, 0.0]] * 2 == [np.asarray(one).tolist() for one in strategy.experimental_local_results(step())]


def test_named_tuples_are_saved_by_their_fields_and_a_root_as_if_its_parts_had_been_given(tmp_path):
    Pair = collections.namedtuple("Pair", "left right")
    module = tf.Module()
    module.pair, module.one = Pair(tf.Variable(1.0), tf.Variable(2.0)), (tf.Variable(3.0),)
    checkpoint = tf.train.Checkpoint(module, b=tf.Variable(4.0))
    path = checkpoint.write(str(tmp_path / "p"))
    other, late = tf.Variable(0.0), tf.Module()
    tf.train.Checkpoint(b=other).read(path)
    status = tf.train.Checkpoint(late).read(path)
    late.pair, late.one, late.b = Pair(tf.Variable(0.0), tf.Variable(0.0)), (tf.Variable(0.0),), tf.Variable(0.0)
    status.assert_consumed()

    # The names that TensorFlow 2.21 has for them.
    assert ["b", "one/0", "pair/left", "pair/right"] == sorted(read_arrays(tmp_path / "p.safetensors"))
    assert (4.0, 1.0, 3.0) == (other.numpy(), late.pair.left.numpy(), late.one[0].numpy())
    assert checkpoint.root is module


def test_a_variable_can_be_the_root(tmp_path):
    path = tf.train.Checkpoint(tf.Variable(5.0)).write(str(tmp_path / "p"))
    variable = tf.Variable(0.0)
    tf.train.Checkpoint(variable).read(path).assert_consumed()

    assert 5.0 == variable.numpy()


def test_nothing_to_restore_is_in_order_until_something_is_asserted(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(5.0))
    status = checkpoint.restore(tf.train.latest_checkpoint(str(tmp_path)))

    assert status is status.expect_partial()
    for method in ("assert_consumed", "assert_existing_objects_matched", "assert_nontrivial_match"):
        with pytest.raises(AssertionError, match="nothing was restored"):
            getattr(status, method)()


def test_read_leaves_the_number_of_saves_alone(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).save(str(tmp_path / "p"))
    other = tf.train.Checkpoint(v=tf.Variable(0.0))
    with pytest.raises(AssertionError, match="The values save_counter found no variable"):  # as in TensorFlow
        other.read(path).assert_consumed()

    assert (1.0, 0) == (other.v.numpy(), other.save_counter.numpy())


def test_no_match_at_all_is_told(tmp_path):
    path = tf.train.Checkpoint(v=tf.Variable(1.0)).write(str(tmp_path / "p"))
    with pytest.raises(AssertionError, match="None of the values v found a variable"):
        tf.train.Checkpoint(w=tf.Module()).restore(path).assert_nontrivial_match()
    status = tf.train.Checkpoint(v=tf.Variable(1.0)).restore(path).assert_nontrivial_match()

    assert status.initialize_or_restore() is status.run_restore_ops() is None


def test_a_folder_is_no_checkpoint(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    checkpoint.save(str(tmp_path / "p"))
    with pytest.raises(tf.errors.NotFoundError, match="latest_checkpoint"):
        checkpoint.restore(str(tmp_path))


@pytest.mark.parametrize("aggregation", ["SUM", "MEAN", "ONLY_FIRST_REPLICA"])
def test_what_two_replicas_have_saved_four_restore(tmp_path, any_backend, names, aggregation):
    def made(count, value):
        strategy = tf.distribute.MirroredStrategy(names[:count])
        options = {"aggregation": tf.VariableAggregation[aggregation]}
        with strategy.scope():
            own = tf.Variable(value, synchronization=tf.VariableSynchronization.ON_READ, **options)
            return strategy, {"own": own, "mirrored": tf.Variable(value, **options)}

    strategy, variables = made(2, 0.0)
    strategy.run(lambda: variables["own"].assign(tf.distribute.get_replica_context().replica_id_in_sync_group + 4.0))
    variables["mirrored"].assign(7.0)
    path = tf.train.Checkpoint(**variables).save(str(tmp_path / "p"))
    _, others = made(4, 1.0)
    tf.train.Checkpoint(**others).restore(path).assert_consumed()

    assert {"SUM": 9.0, "MEAN": 4.5, "ONLY_FIRST_REPLICA": 4.0}[aggregation] == others["own"].numpy()
    assert [7.0] * 4 == [copy.numpy() for copy in others["mirrored"].values]


@pytest.mark.parametrize("path", [["a"], 5, {}])
def test_what_is_no_path_is_not_restored(path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))

    for restore in (checkpoint.restore, checkpoint.read):
        with pytest.raises(TypeError, match=r"restore\(\) got .*; expected a path"):
            restore(path)


@pytest.mark.parametrize("kind", [str, lambda path: path, lambda path: str(path).encode()])
def test_a_checkpoint_is_restored_from_paths_of_every_kind(tmp_path, kind):
    variable = tf.Variable(1.0)
    checkpoint = tf.train.Checkpoint(v=variable)
    checkpoint.write(tmp_path / "check")
    variable.assign(2.0)

    checkpoint.read(kind(tmp_path / "check"))

    assert 1.0 == float(variable)


@pytest.mark.parametrize("mode", [lambda body: body, tf.function], ids=["eager", "function"])
def test_saving_in_a_replica_says_to_save_outside(tmp_path, mode):
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))

        with pytest.raises(
            RuntimeError, match=r"save\(\) was called in one of 2 replicas at .*; expected a call outside of them"
        ):
            mode(lambda: strategy.run(lambda: checkpoint.save(tmp_path / "check")))()


def test_saving_in_the_only_replica_or_in_a_merge_is_saving(tmp_path):
    with tf.using("simulator", gpus=2):
        checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
        one, two = tf.distribute.OneDeviceStrategy("GPU:0"), tf.distribute.MirroredStrategy()

        one.run(lambda: checkpoint.save(tmp_path / "check"))
        two.run(lambda: tf.distribute.get_replica_context().merge_call(lambda _: checkpoint.save(tmp_path / "check")))

        assert 2 == int(checkpoint.save_counter)
