import json
import subprocess
import sys

from tests.refdist.saving import killed_saves


def test_a_program_that_is_killed_anywhere_in_a_save_goes_on_with_the_checkpoint_before_it_or_with_this_one(tmp_path):
    command = [sys.executable, "-W", "error::UserWarning", killed_saves.__file__, str(tmp_path / "kept"), "17"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (0, "") == (done.returncode, done.stderr)
    found = [json.loads(line) for line in done.stdout.splitlines()]

    *killed, last = found
    assert len(killed) > 10
    assert [True] * len(killed) == [one[1] for one in killed]
    assert not last[1]
    before = 0
    for place, _, step, weights, there, kept in found:
        assert step in (before, before + 1), place
        assert [float(step)] == weights, place
        assert there <= 4, place  # two that are kept, one that is new, and the list of them
        assert kept == 3 or not before, place
        before = step
    assert 1 < before < len(found), "some were killed before the new one was there, and some after"
