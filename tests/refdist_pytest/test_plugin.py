"""The plugin in the project of a user, in an environment of its own with the wheel in it."""

import os
import subprocess
import sys
import venv

import pytest

from tests.packages import built

PROJECT = """
import pytest
import refdist as tf


def train(strategy):
    with strategy.scope():
        total = tf.Variable(0.0, aggregation=tf.VariableAggregation.SUM)

    @tf.function
    def step(iterator):
        strategy.run(lambda x: total.assign_add(tf.reduce_sum(tf.cast(x, tf.float32))), args=(next(iterator),))

    iterator = iter(strategy.experimental_distribute_dataset(tf.data.Dataset.range(16).batch(8)))
    step(iterator)
    step(iterator)
    return float(total.numpy())


@pytest.mark.refdist(key=int)
def test_training(refdist_strategy, refdist_ledger):
    assert 120.0 == train(refdist_strategy)
    refdist_ledger.check(each_once=True, global_batch=8)


@pytest.mark.refdist(gpus=2, workers=2, key=int)
def test_workers(refdist_cluster, refdist_ledger):
    def program(strategy):
        def data(context):
            return tf.data.Dataset.range(8).shard(context.num_input_pipelines, context.input_pipeline_id).batch(2)

        for x in strategy.distribute_datasets_from_function(data):
            strategy.run(lambda x: tf.reduce_sum(x), args=(x,))
        return strategy.cluster_resolver.task_id

    assert [0, 1] == refdist_cluster.run(program)
    refdist_ledger.check(each_once=True, expected=range(8))


@pytest.mark.refdist(cluster=lambda: tf.simulator.Cluster.star(4, 12.5e9, 500e-9))
def test_time(refdist_strategy):
    refdist_strategy.run(lambda: tf.simulator.busy(1e-3))
    assert 1e-3 == tf.simulator.now()


@pytest.mark.refdist(gpus=2, checks=False)
def test_unchecked(refdist_strategy):
    assert 2 == refdist_strategy.num_replicas_in_sync
"""
FAILING = """
import pytest
import refdist as tf


@pytest.mark.refdist(gpus=3)
def test_idle(refdist_strategy):
    for x in refdist_strategy.experimental_distribute_dataset(tf.data.Dataset.range(8).batch(4)):
        refdist_strategy.run(lambda x: x, args=(x,))


@pytest.mark.refdist(gpus=2)
def test_drift(refdist_strategy):
    with refdist_strategy.scope():
        w = tf.Variable(1.0, name="w")
    refdist_strategy.run(lambda: w + 1)
    refdist_strategy.experimental_local_results(w)[1].assign(5.0)


@pytest.mark.refdist(gpus=2)
def test_nothing_ran(refdist_strategy):
    pass


@pytest.mark.refdist(gpus=2, workers=2)
def test_wrong_fixture(refdist_strategy):
    pass


@pytest.mark.refdist(gpus=2)
def test_meeting(refdist_strategy):
    def step():
        context = tf.distribute.get_replica_context()
        if context.replica_id_in_sync_group == 0:
            context.all_reduce("SUM", tf.constant(1.0))

    refdist_strategy.run(step)
"""
UNITTEST = """
import unittest
import pytest
import refdist as tf


class TestUnit(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def given(self, refdist_strategy):
        self.strategy = refdist_strategy

    def test_replicas(self):
        self.strategy.run(lambda: tf.constant(1.0))
        assert 3 == self.strategy.num_replicas_in_sync
"""


IN_ORDER = """
import jax.numpy as jnp
import pytest
import refdist as tf


def test_a_function_on_the_simulator_starts_jax():
    with tf.using("simulator", gpus=4):
        strategy = tf.distribute.MirroredStrategy()
        assert 4.0 == float(tf.function(lambda: strategy.reduce("SUM", strategy.run(lambda: tf.constant(1.0)), axis=None))())
    assert 1.0 == jnp.ones(2)[0]


@pytest.mark.refdist(gpus=DEVICES)
def test_marked(refdist_strategy):
    assert DEVICES == refdist_strategy.reduce("SUM", refdist_strategy.run(lambda: tf.constant(1)), axis=None)


@pytest.mark.refdist(gpus=2, workers=3)
def test_workers(refdist_cluster):
    def program(strategy):
        strategy.run(lambda: tf.constant(1.0))
        return strategy.num_replicas_in_sync

    assert [6, 6, 6] == refdist_cluster.run(program)


def test_unmarked_workers(refdist_cluster):
    assert [None, None] == refdist_cluster.run(lambda strategy: strategy.run(lambda: None) and None)


def test_own_choice():
    with tf.using("jax", cpus=DEVICES):
        assert DEVICES == len(tf.config.list_logical_devices("CPU"))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of an environment in which the wheel is installed, and everything else is where it is now."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("installed")
    wheel = built("wheel", folder)
    venv.create(folder / "venv")
    own = folder / "venv" / "bin" / "python"
    quiet = ["--quiet", "--disable-pip-version-check", "--no-deps"]
    install = ["--python", str(own), "install", *quiet, "--no-index", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True)
    (packages,) = (folder / "venv" / "lib").glob("python*/site-packages")
    # Folders, not installations: what is installed for editing is not found through them.
    (packages / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("-packages")))
    return own


def run(python, folder, *options, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "PYTEST_", "PYTHON"))
    }
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:hypothesispytest", *options]
    done = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        env={**environment, "JAX_PLATFORMS": "cpu"},
    )
    return done.returncode, done.stdout + done.stderr


def test_it_imports_nothing_but_pytest_until_a_test_uses_it(python, tmp_path):
    program = (
        "import sys, pytest\nbefore = {name.partition('.')[0] for name in sys.modules}\nimport refdist_pytest.plugin\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules} - before))"
    )
    done = subprocess.run([python, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ["refdist_pytest"] == done.stdout.split()

    code, output = run(
        python, tmp_path, "-q", test_other="import sys\ndef test_other(): assert 'refdist' not in sys.modules"
    )
    assert (0, True) == (code, "1 passed" in output), output


def test_a_project_of_a_user_passes_beside_xdist(python, tmp_path):
    code, output = run(python, tmp_path, "-n", "2", "--refdist-seed", "7", "-v", test_project=PROJECT)

    assert (0, True) == (code, "6 passed" in output), output
    for name in ("training[simulator-1]", "training[simulator-4]", "workers[simulator-2]", "time[simulator]"):
        assert f"test_{name}" in output
    assert "--refdist-seed=7" in output


def test_what_is_wrong_at_the_end_of_a_test_fails_it_and_shows_who_got_what(python, tmp_path):
    code, output = run(python, tmp_path, "--refdist-watch", test_failing=FAILING)

    assert (1, True) == (code, "4 failed, 1 warning, 1 error" in output), output
    assert "replica 0 of 2, on GPU:0: waiting in all_reduce(SUM)" in output
    assert "lockstep.py" not in output, "frames inside of refdist hide those of the test"
    assert "Replica 2 got no sample in any of 2 steps" in output
    assert "     0  2 samples  2 samples  -" in output
    assert "--refdist-backend=simulator --refdist-replicas=3 --refdist-seed=0 --refdist-watch" in output
    assert "mirrored variable 'w" in output
    assert "Nothing ran on the replicas" in output
    assert "Use refdist_cluster.run(program)" in output


def test_a_method_of_a_unittest_class_runs_on_the_last_number_of_replicas(python, tmp_path):
    code, output = run(python, tmp_path, "--refdist-replicas", "1,3", test_unit=UNITTEST)

    assert (0, True) == (code, "1 passed" in output), output


def test_jax_has_enough_devices_whatever_ran_before(python, tmp_path):
    options = ["--refdist-backend", "simulator,jax", "--refdist-replicas", "1,4", "-k", "training"]
    code, output = run(python, tmp_path, *options, test_project=PROJECT)

    assert (0, True) == (code, "4 passed" in output), output


@pytest.mark.parametrize("beside", [[], ["-n", "1"]], ids=["alone", "xdist"])
def test_jax_has_the_devices_of_a_marker_where_tests_on_the_simulator_come_first(python, tmp_path, beside):
    options = ["--refdist-backend", "simulator,jax", "--refdist-replicas", "2", *beside]
    code, output = run(python, tmp_path, *options, test_in_order=IN_ORDER.replace("DEVICES", "5"))

    assert (0, True) == (code, "8 passed" in output), output


def test_jax_has_the_devices_of_the_configuration_although_a_conftest_starts_it(python, tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nrefdist_host_devices = 3\n")
    started = "import jax.numpy as jnp\njnp.ones(2)"
    code, output = run(python, tmp_path, "-k", "own", conftest=started, test_order=IN_ORDER.replace("DEVICES", "3"))
    assert (0, True) == (code, "1 passed" in output), output

    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    code, output = run(python, tmp_path, "-k", "own")
    assert 1 == code
    assert "refdist_host_devices = 3 in its configuration" in output


def test_a_file_of_the_project_that_hides_a_package_of_refdist_is_named(python, tmp_path):
    test = "def test_one(refdist_strategy): pass"
    code, output = run(python, tmp_path, test_hidden=test, simulator="", conftest="import simulator")

    assert 1 == code
    assert f"finds {tmp_path / 'simulator.py'}; expected the package of refdist" in output


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        (["--refdist-replicas", "2,x"], "Write --refdist-replicas 1,2,4"),
        (["--refdist-replicas", "0"], "expected numbers of at least 1"),
        (["--refdist-backend", "tpu"], "expected some of simulator, jax, host"),
    ],
)
def test_wrong_options_say_what_to_write(python, tmp_path, option, remedy):
    code, output = run(python, tmp_path, *option)

    assert pytest.ExitCode.USAGE_ERROR == code
    assert remedy in output


def test_a_wrong_marker_says_what_to_write(python, tmp_path):
    text = "import pytest\n@pytest.mark.refdist(gpu=4)\ndef test_one(refdist_strategy): pass"
    code, output = run(python, tmp_path, test_marked=text)

    assert 0 != code
    assert "expected some of gpus=, workers=, cluster=" in output
    assert "plugin.py" not in output
