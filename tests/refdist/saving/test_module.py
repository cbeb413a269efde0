"""Objects that hold variables: which they find, in which order, and which once."""

import pytest

import refdist as tf


def names(variables):
    return [variable.name.removesuffix(":0") for variable in variables]


def module(**parts):
    made = tf.Module()
    for name, part in parts.items():
        setattr(made, name, part)
    return made


def variable(name, **options):
    return tf.Variable(1.0, name=name, **options)


def test_variables_are_found_by_the_order_of_their_attributes():
    assert ["a", "b", "c"] == names(module(z=variable("c"), a=variable("a"), m=variable("b")).variables)


def test_those_of_inner_modules_come_after_its_own():
    inner = module(a=variable("inner"))

    assert ["own", "inner"] == names(module(a=inner, z=variable("own")).variables)


def test_they_are_found_in_lists_tuples_and_dicts():
    outer = module(parts=[variable("0"), {"b": variable("2"), "a": (variable("1"),)}])

    assert ["0", "1", "2"] == names(outer.variables)


def test_one_that_can_be_reached_in_several_ways_is_one():
    shared = variable("w")

    assert ["w"] == names(module(a=shared, b=[shared], c=module(d=shared)).variables)


def test_modules_that_hold_each_other_end():
    first, second = module(v=variable("one")), module(v=variable("two"))
    first.other, second.other = second, first

    assert (["one", "two"], ["two", "one"]) == (names(first.variables), names(second.variables))


def test_those_that_are_not_trained_are_left_out():
    outer = module(a=variable("a"), b=variable("b", trainable=False), c=module(d=variable("d", trainable=False)))

    assert (["a", "b", "d"], ["a"]) == (names(outer.variables), names(outer.trainable_variables))


def test_what_holds_none_has_none():
    assert () == module(a=3, b="text", c=[1, {"d": None}], d=object()).variables


def test_a_distributed_variable_is_one(any_backend):
    strategy = tf.distribute.MirroredStrategy(["CPU:0"] if any_backend.name == "jax" else ["GPU:0", "GPU:1"])
    with strategy.scope():
        inner = variable("w")

    assert (inner,) == tuple(module(a=inner).variables) or inner is module(a=inner).variables[0]
    assert 1 == len(module(a=inner).variables)


def test_a_module_has_a_name():
    class Dense(tf.Module):
        def __init__(self):
            pass  # as classes do that forget to call the one above

    assert ("module", "given", "dense") == (tf.Module().name, tf.Module("given").name, Dense().name)


@pytest.mark.parametrize("key", ["plain", "with/slash", "with~tilde", "~1", "0", ""])
def test_any_text_is_a_place_in_a_checkpoint(tmp_path, key):
    path = tf.train.Checkpoint(m=module(parts={key: tf.Variable(7.0)})).save(str(tmp_path / "saved"))
    other = module(parts={key: tf.Variable(0.0)})
    tf.train.Checkpoint(m=other).restore(path)

    assert 7.0 == other.parts[key].numpy()


def test_a_key_that_is_no_text_is_refused_when_it_is_saved(tmp_path):
    with pytest.raises(ValueError, match="under the key 3; expected a string"):
        tf.train.Checkpoint(m=module(parts={3: tf.Variable(7.0)})).save(str(tmp_path / "saved"))


def test_keys_of_several_kinds_do_not_hinder_finding_them():
    assert {"a", "b"} == set(names(module(parts={3: variable("a"), "x": variable("b")}).variables))
