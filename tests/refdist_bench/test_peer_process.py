import shutil
import sys

import pytest

from refdist_bench.benchmark_case import Case, Who
from refdist_bench.measuring import measure
from refdist_bench.peers import peer_process
from refdist_bench.peers.peer_process import Peer, PeerFailed

# What stands in the place of TensorFlow: a step that says its size, and one that works in a new process only.
STEPS = """
import os, types
tf = types.SimpleNamespace(__version__="9.9")
made = []

def sized(replicas, size):
    print("this is no answer")
    return lambda: float(size)

def jealous(replicas):
    made.append(1)
    if len(made) > 1:
        raise ValueError("only once")
    return lambda: None

STEPS = {"sized": sized, "jealous": jealous, "dead": lambda replicas: os._exit(3)}
"""


@pytest.fixture
def peer(tmp_path, monkeypatch):
    shutil.copy(peer_process.FOLDER / "__main__.py", tmp_path)
    (tmp_path / "tensorflow_steps.py").write_text(STEPS)
    monkeypatch.setattr(peer_process, "FOLDER", tmp_path)
    with Peer(sys.executable) as started:
        yield started


def asked(step, **more):
    return Case("case", "case", "group", tensorflow={"eager": {"step": step, "replicas": 2, **more}})


def test_a_case_is_measured_in_the_other_interpreter(peer):
    case = asked("sized", size=7)
    found = measure(case, 0.01, more_sides=peer.sides(case))

    assert "9.9" == peer.versions["tensorflow"]
    assert [(Who.TENSORFLOW, "TensorFlow eager")] == [(side.who, side.name) for side in found.sides]
    assert found.problem is None
    assert 7.0 == peer.sides(case)[0].start().first()[1]


def test_a_step_that_a_used_process_refuses_is_made_in_a_new_one(peer):
    (side,) = peer.sides(asked("jealous"))

    assert [None, None] == [side.start().first()[1] for _ in range(2)]


@pytest.mark.parametrize(
    ("step", "said"), [("sized", "TypeError"), ("nothing", "KeyError"), ("dead", "ended with 3 instead of an answer")]
)
def test_what_goes_wrong_there_is_said_here(peer, step, said):
    (side,) = peer.sides(asked(step))

    with pytest.raises(PeerFailed, match=said):
        side.start().first()
