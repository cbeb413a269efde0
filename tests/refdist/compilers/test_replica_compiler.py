"""What a replica can say about itself and the others while a program is written, and what is compared between them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import refdist as tf
from refdist._core.base.enums import ReduceOp
from refdist._core.compilers.replica_compiler import bits, in_program, unlike

FLOAT = np.dtype(np.float32)
ROWS = np.float32([[1, 2], [3, 4], [8, 9]])
BACKENDS = {"simulator": ("GPU", "gpus"), "jax": ("CPU", "cpus")}


def compiler_of(backend, count):
    kind, option = BACKENDS[backend]
    with tf.using(backend, **{option: count}):
        return tf.distribute.MirroredStrategy([f"{kind}:{number}" for number in range(count)]).extended.compiler()


@pytest.fixture(params=[1, 3])
def compiler(request):
    return compiler_of("simulator", request.param)


def sayings(compiler, x):
    """All that a replica can say about itself and the others, given its own row."""
    everybodys = compiler.of_all_replicas(x)
    said = {
        "sum": compiler.combine(ReduceOp.SUM, x),
        "mean": compiler.combine(ReduceOp.MEAN, x),
        "sum of a constant": compiler.combine(ReduceOp.SUM, jnp.asarray([1.0, 2.0])),
        "joined": compiler.join(x, -1),
        "joined rows": compiler.join(x[None], 0),
        "joined nothing": jnp.concatenate([compiler.join(x[:0], 0), x]),
        "everybody's": jnp.stack(everybodys),
        "own of all": compiler.own_of(everybodys),
        "only on the first": compiler.on_replica(0, x, x * 0),
        "only on the last": compiler.on_replica(compiler.count - 1, x, x * 0),
    }
    if compiler.count > 1:
        said["number"] = compiler.replica_number()
    return said


@pytest.fixture(scope="module", params=[("simulator", 1), ("simulator", 3), ("jax", 3)], ids=str)
def said(request):
    """What each replica says in one program, by the name of the saying."""
    compiler = compiler_of(*request.param)
    names, specs = [], []

    def body(x):
        made = sayings(compiler, x)
        names[:], specs[:] = made, [(one.shape, one.dtype) for one in made.values()]
        return list(made.values()), [True] * len(made)

    program = compiler.write(body, [((2,), FLOAT)], [compiler.count > 1])
    outputs = compiler.compile(program)(compiler.lift_each(list(ROWS[: compiler.count])))
    lowered = [
        compiler.lower_each(output, spec) if compiler.count > 1 else [compiler.lower(output)]
        for output, spec in zip(outputs, specs, strict=True)
    ]
    return {name: np.stack([np.asarray(one) for one in each]) for name, each in zip(names, lowered, strict=True)}


def rows_of(said):
    return ROWS[: len(said["sum"])]


def test_each_replica_knows_its_number(said):
    assert list(range(len(rows_of(said)))) == said.get("number", np.zeros(1)).tolist()


def test_what_is_combined_is_the_same_on_all(said):
    rows = rows_of(said)

    assert [rows.sum(0).tolist()] * len(rows) == said["sum"].tolist()
    assert [rows.mean(0).tolist()] * len(rows) == said["mean"].tolist()


def test_a_constant_is_combined_with_those_of_the_others(said):
    count = len(rows_of(said))

    assert [[count, 2 * count]] * count == said["sum of a constant"].tolist()


def test_what_is_joined_stands_in_the_order_of_the_replicas(said):
    rows = rows_of(said)

    assert [rows.ravel().tolist()] * len(rows) == said["joined"].tolist()
    assert [rows.tolist()] * len(rows) == said["joined rows"].tolist()
    assert rows.tolist() == said["joined nothing"].tolist()


def test_each_replica_sees_the_tensors_of_all_and_finds_its_own_among_them(said):
    rows = rows_of(said)

    assert [rows.tolist()] * len(rows) == said["everybody's"].tolist()
    assert rows.tolist() == said["own of all"].tolist()


def test_one_replica_can_have_another_value_than_the_others(said):
    rows = rows_of(said)
    numbers = np.arange(len(rows))[:, None]

    assert np.where(numbers == 0, rows, 0).tolist() == said["only on the first"].tolist()
    assert np.where(numbers == len(rows) - 1, rows, 0).tolist() == said["only on the last"].tolist()


def test_a_body_that_returns_a_tensor_of_another_program_is_told_so(compiler):
    kept = []
    jax.make_jaxpr(lambda x: kept.append(x) or x)(1.0)

    with pytest.raises(jax.errors.UnexpectedTracerError):
        compiler.write(lambda x: ([x + kept[0]], [False]), [((), FLOAT)], [False])


def test_steps_of_replicas_that_differ_are_noted_in_their_program_only(compiler):
    def written(differ):
        def body(x):
            parts = [
                compiler.write_replica(lambda number=number: [x + 1 if differ and number else x * 2])
                for number in range(compiler.count)
            ]
            return compiler.merge(parts, [[0] * compiler.count]), [compiler.count > 1]

        return compiler.write(body, [((), FLOAT)], [compiler.count > 1]).steps_differ

    assert [compiler.count > 1, False] == [written(differ=True), written(differ=False)]


@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float32", "complex64"])
def test_bits_are_equal_exactly_where_those_in_memory_are(dtype):
    several = [0, -0.0, 1, 2, np.nan, -np.nan, np.inf, *([1j, -0j, complex(0, np.nan)] if dtype == "complex64" else [])]
    numbers = np.array([one for one in several if dtype not in ("bool", "int32") or np.isfinite(one)]).astype(dtype)
    rows = np.asarray(bits(jnp.asarray(numbers))).reshape(-1, len(numbers))
    same = (rows[:, :, None] == rows[:, None, :]).all(0)

    assert [[a.tobytes() == b.tobytes() for b in numbers] for a in numbers] == same.tolist()
    assert same.diagonal().all(), "nan too"


def test_a_constant_becomes_part_of_a_program_and_a_tracer_is_one_already():
    constant, seen = jnp.ones(2), []
    jaxpr = jax.make_jaxpr(lambda x: seen.append((x, in_program(x))) or in_program(constant) + x)(constant)

    assert seen[0][0] is seen[0][1]
    assert "copy" in str(jaxpr)


@pytest.mark.parametrize(
    ("other", "rounded", "expected"),
    [
        (1.0, False, False),
        (1.0000001, False, True),
        (1.0000001, True, False),
        (1.001, True, True),
        (np.nan, True, True),
    ],
)
def test_values_from_other_steps_may_differ_in_the_last_bits_only(other, rounded, expected):
    found = unlike(jnp.float32([1, 2]), jnp.float32([other, 2]), rounded=rounded)

    assert [expected, False] == found.tolist()
    assert not unlike(jnp.float32([jnp.nan]), jnp.float32([jnp.nan]), rounded=rounded).any()
