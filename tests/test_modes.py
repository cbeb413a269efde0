"""Random programs do the same in every mode, and what numpy says: values, dtypes, shapes, structure, and errors."""

import itertools

import pytest

from refdist._core.base.where import entered
from refdist._core.testing.exploring import DrawnTurns
from tests.modes.differences import BY_DESIGN, MODES, WORKERS, Mode
from tests.modes.net import BUNDLE, FIRST, Disagreement, fallen, program_of, said, seeds_of, smallest
from tests.modes.numbers import Raises, Undefined
from tests.modes.oracle import Oracle
from tests.modes.processes import Cluster, disagreements_of_processes, program_of_processes
from tests.modes.program import TEMPLATES, Input, Program, Step, Variable, printed
from tests.modes.running import expected, outcome, wrong
from tests.own_warnings import own_warnings
from tests.thorough import examples

# Compiling takes most of the time, so that staged modes, and JAX, which compiles each operation, get fewer programs.
# The first of them say everything that can be said. For more, in other modes or with other seeds:
# python -m tests.modes 50000 --seed 1
COUNTS = {
    "host eager": examples(300, 2400),
    "simulator eager": examples(300, 2400),
    "simulator eager workers": examples(60, 400),
    "simulator around": examples(40, 240),
    "simulator inside": examples(24, 120),
    "jax around": examples(20, 120),
    "jax inside": examples(18, 60),
    "jax eager": examples(18, 90),
    "jax eager workers": examples(18, 25),
    "simulator around workers": examples(20, 60),
    "jax around workers": examples(18, 25),
}
PIECE = 120  # programs of a compiling mode in one test, and a fifth of others, so that several processes can share them


def pieces():
    for mode in (*MODES, *WORKERS):
        count = COUNTS[str(mode)]
        step = 5 * PIECE if not mode.staged and mode.backend != "jax" else PIECE
        for start in range(0, count, step):
            yield pytest.param(mode, slice(start, min(start + step, count)), id=f"{mode} from {start}")


@pytest.mark.parametrize(("mode", "piece"), list(pieces()))
def test_programs_do_in_every_mode_what_numpy_says(mode, piece):
    seeds = seeds_of(mode)[piece]
    found = [one if mode.workers else smallest(one) for one in itertools.islice(fallen(seeds, mode), 3)]

    assert [] == found, "\n\n".join(map(str, found))


@pytest.mark.parametrize("mode", [Mode("simulator", "eager"), Mode("simulator", "around")], ids=str)
def test_correct_programs_are_told_nothing(mode):
    count = 400 if mode.how == "eager" else 40
    correct = [one for one in map(program_of, range(count)) if right(expected(one, mode))]
    with own_warnings() as told:
        for one in correct:
            outcome(one, mode)

    assert [] == told
    assert len(correct) >= 0.7 * count


def right(should):
    return should is not None and should.error is None


def test_programs_do_in_processes_what_numpy_says():
    cluster = Cluster(workers=2, devices=1)
    programs = [program_of_processes(seed, cluster) for seed in range(examples(18, 36))]
    found = list(disagreements_of_processes(programs, cluster, ["eager", "around"], lasting=True))

    assert [] == found, "\n\n".join(map(str, found))


def test_the_programs_reach_everything_that_can_be_said():
    programs = [program_of(seed) for seed in range(1200)]
    verbs = {step.verb for one in programs for step in (*one.body, *one.after)}
    dtypes = {given.dtype for one in programs for given in one.inputs}
    variables = {(v.synchronization, v.aggregation) for one in programs for v in one.variables}

    assert set(TEMPLATES) == verbs
    assert len(dtypes) == 13
    assert len(variables) == 12
    assert {1, 2, 3, 7} == {one.replicas for one in programs}
    assert any(given.uneven for one in programs for given in one.inputs)
    raising = sum(expected(one, Mode("host", "eager")).error is not None for one in programs if answered(one))
    assert len(programs) / 20 < raising < len(programs) / 2


def answered(program):
    return expected(program, Mode("host", "eager")) is not None


@pytest.mark.parametrize(("backend", "workers"), FIRST)
def test_the_fewest_programs_that_a_mode_runs_say_everything(backend, workers):
    mode = Mode(backend, "around", workers)
    known = frozenset().union(*[said(seed, mode) for seed in seeds_of(mode)[: min(COUNTS.values())]])
    dtypes = {one for one in known if isinstance(one, str) and one.startswith("a ")}

    assert set() == set(TEMPLATES) - known, "let made_first() choose the first seeds anew"
    assert (12 if backend == "jax" else 13, 12) == (len(dtypes), len(known - set(TEMPLATES) - dtypes))


def test_every_departure_is_asked_about_by_the_oracle():
    """A name that the oracle does not know would leave nothing out, and say that it does."""
    import pathlib

    text = "".join(
        path.read_text() for path in pathlib.Path(__file__).parent.glob("modes/*.py") if "differ" not in path.name
    )

    assert [] == [name for name in BY_DESIGN if f'"{name}"' not in text]


SUM = Program(
    "mirrored",
    2,
    (Input("float32", (1.0, 2.0)), Input("float32", ([1.0], [2.0]))),
    (Variable("float32", 0.0, "AUTO", "SUM"),),
    (Step("all_reduce", ("SUM", "x0")), Step("assign_add", ("v0", "x2")), Step("neg", ("x1",))),
    (Step("reduce", ("MEAN", "x0", None)),),
)


def test_the_oracle_adds_up_over_replicas():
    (body, after) = Oracle(SUM).call()

    assert [[1.0, 2.0], [[1.0], [2.0]], [3.0, 3.0], [6.0, 6.0], [[-1.0], [-2.0]]] == [
        [part.tolist() for part in value.parts] for value in body
    ]
    assert after[0].parts[0] == 1.5


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda part: part + 1, "should be"),
        (lambda part: part.astype("float64"), "float64"),
        (lambda part: part[None], "(1,)"),
    ],
)
def test_a_wrong_value_dtype_or_shape_is_told(change, what):
    mode = Mode("host", "eager")
    should, did = expected(SUM, mode), outcome(SUM, mode)
    assert wrong(should, did) is None
    did.calls[0][0][2] = [change(part) for part in did.calls[0][0][2]]

    assert what in wrong(should, did)


def test_an_error_that_only_one_of_the_two_raises_is_told():
    mode = Mode("host", "eager")
    should, did = expected(SUM, mode), outcome(SUM, mode)

    assert "raised ValueError: no" in wrong(should, did._replace(error=ValueError("no")))
    assert "should raise" in wrong(should._replace(error=Raises("this")), did)
    assert wrong(should._replace(error=Raises("this")), did._replace(error=ValueError("no"))) is None


def test_a_program_is_made_smaller_as_long_as_it_is_still_wrong(monkeypatch):
    from refdist._core.backends.host_backend import HostBackend

    monkeypatch.setattr(HostBackend, "fold", lambda self, tensors: tensors[0] - tensors[1])
    found = Disagreement(Mode("host", "eager"), SUM, "x2 of call 0: should be")
    small = smallest(found).program

    assert (1, 1, 1) == (len(small.body) + len(small.after), len(small.inputs), small.calls)
    assert "all_reduce('SUM', x0)" in printed(small) or "reduce('MEAN', x0" in printed(small)


def test_what_has_no_one_answer_is_not_run():
    unsure = Program(
        "mirrored", 1, (Input("float32", (0.1,)),), (), (Step("/", ("x0", 3.0)), Step("<", ("x1", "x0"))), ()
    )

    with pytest.raises(Undefined, match="not exact"):
        Oracle(unsure).call()


def test_programs_repeat_bit_for_bit():
    mode = Mode("simulator", "eager")
    for seed in range(BUNDLE):
        one, again = outcome(program_of(seed), mode), outcome(program_of(seed), mode)

        assert repr((one.calls, one.copies)) == repr((again.calls, again.copies))


@pytest.mark.parametrize(
    ("mode", "count"), [(Mode("simulator", "eager"), 60), (Mode("simulator", "eager", True), 15)], ids=str
)
def test_the_order_of_the_replicas_changes_nothing(mode, count):
    turns = DrawnTurns(0)
    with entered(turns=lambda several: drawn.append(several) or turns(several)):
        drawn = []
        found = list(itertools.islice(fallen(seeds_of(mode)[:count], mode), 3))

    assert [] == found, "\n\n".join(map(str, found))
    assert len(drawn) > count
