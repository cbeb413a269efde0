"""The protocol of compilers: both of them keep it, and values survive the way into a program and back."""

import inspect

import numpy as np
import pytest

import refdist as tf
from refdist._core.replicas.values import Storage
from refdist._core.seam.compiler import Compiler

FLOAT = np.dtype(np.float32)
METHODS = [name for name, member in vars(Compiler).items() if inspect.isfunction(member) and not name.startswith("_")]


@pytest.fixture(params=["simulator", "jax"])
def extended(request):
    """The verbs of a strategy with three replicas, whose compiler is under test."""
    kind, options = ("CPU", {"cpus": 3}) if request.param == "jax" else ("GPU", {"gpus": 3})
    with tf.using(request.param, **options):
        yield tf.distribute.MirroredStrategy([f"{kind}:{number}" for number in range(3)]).extended


@pytest.fixture
def compiler(extended):
    return extended.compiler()


def lists(tensors):
    return [np.asarray(tensor).tolist() for tensor in tensors]


def test_it_has_every_fact_of_the_protocol(compiler):
    assert dict.fromkeys(Compiler.__annotations__, True) == {
        name: hasattr(compiler, name) for name in Compiler.__annotations__
    }
    assert len(compiler.devices) == compiler.count == 3


@pytest.mark.parametrize("name", METHODS)
def test_it_has_every_method_of_the_protocol_with_its_parameters(compiler, name):
    def parameters(method):
        return [(one.name, one.kind) for one in inspect.signature(method).parameters.values() if one.name != "self"]

    assert parameters(getattr(Compiler, name)) == parameters(getattr(compiler, name))


@pytest.mark.parametrize("shape", [(), (2,), (2, 0)])
def test_a_plain_value_comes_back_as_it_went_in(compiler, shape):
    tensor = compiler.lower(compiler.lift(np.full(shape, 2.5, np.float32)))

    assert (shape, FLOAT, np.full(shape, 2.5).tolist()) == (tensor.shape, tensor.dtype, np.asarray(tensor).tolist())


@pytest.mark.parametrize("shape", [(), (2,), (2, 0)])
def test_a_value_for_each_replica_comes_back_on_the_replicas_devices(extended, compiler, shape):
    tensors = [extended.backend.put(np.full(shape, i, np.float32), device) for i, device in enumerate(compiler.devices)]
    back = compiler.lower_each(compiler.lift_each(tensors), (shape, FLOAT))

    assert lists(tensors) == lists(back)
    assert [shape] * 3 == [tensor.shape for tensor in back]
    assert list(compiler.devices) == [extended.backend.device_of(tensor) for tensor in back]


@pytest.mark.parametrize("own", [False, True])
def test_the_copies_of_a_variable_come_back_to_their_homes(extended, compiler, own):
    numbers = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]] if own else [[1.0, 2.0]] * 3
    copies = [
        extended.backend.put(np.float32(row), device) for row, device in zip(numbers, compiler.devices, strict=True)
    ]
    storage = Storage(copies, compiler.devices, own_copies=own)
    back = compiler.parts(compiler.whole(copies, storage), storage)

    assert numbers == lists(back)
    assert list(compiler.devices) == [extended.backend.device_of(tensor) for tensor in back]


def test_a_variable_with_one_copy_is_the_same_for_all_replicas(extended, compiler):
    home = extended.backend.devices()[0]
    storage = Storage([extended.backend.put(np.float32([1, 2]), home)], [home])
    program = compiler.write(lambda x: ([x + compiler.replica_number()], [True]), [((2,), FLOAT)], [False])
    (output,) = compiler.compile(program)(compiler.whole(storage.copies(), storage))

    assert [[1, 2], [2, 3], [3, 4]] == lists(compiler.lower_each(output, ((2,), FLOAT)))


def test_a_program_says_what_it_takes_what_it_returns_and_what_it_only_compares(compiler):
    program = compiler.write(
        lambda x, unused, y: ([x + y, y, x], [True, False]), [((), FLOAT)] * 3, [True, True, False]
    )

    assert ((True, True, False), (True, False)) == (program.own_inputs, program.own_outputs)
    assert ((0, 2), (2,)) == (program.used, program.compared)
    assert not program.steps_differ


def test_a_program_as_text_is_that_of_its_code(compiler):
    program = compiler.write(lambda x: ([x * 2], [True]), [((4,), FLOAT)], [True])
    values = [compiler.lift_each([np.ones(4, np.float32)] * 3)]
    written, optimised = (
        compiler.text(compiler.compile(program), values, optimised=optimised) for optimised in (False, True)
    )

    assert "multiply" in written
    assert "HloModule" in optimised
    assert written != optimised


def test_a_token_of_the_open_traces_tells_whether_they_are_the_same(compiler):
    import jax

    outside, tokens = compiler.open_traces(), []
    jax.make_jaxpr(lambda x: tokens.extend([compiler.open_traces(), compiler.open_traces()]) or x)(1.0)

    assert outside == compiler.open_traces()
    assert tokens[0] == tokens[1] != outside


def test_code_may_be_repeated_inside_of_a_program_and_not_outside(compiler):
    import jax

    seen = []

    def note(x):
        seen.append(compiler.may_repeat())
        return x

    note(1.0)
    jax.grad(note)(1.0)
    jax.jit(note)(1.0)

    assert [False, False, True] == seen


def test_what_is_computed_at_once_is_known_while_a_program_is_written(compiler):
    import jax
    import jax.numpy as jnp

    known = []

    def body(x):
        with compiler.at_once():
            known.append(int(jnp.ones(3).sum()))
        return x

    jax.jit(body)(1.0)

    assert [3] == known
