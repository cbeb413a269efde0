import json

import pytest

from refdist_command.subcommands import main
from simulator import libraries, predict_all_reduce, predict_send, predict_step, presets

MODULE = """
import jax
import refdist as tf
from simulator import presets


def replica_step(w, x):
    gradient = jax.grad(lambda w: (x @ w).sum())(w)
    return w - 0.1 * jax.lax.pmean(gradient, "replicas")


jax_step = replica_step, [jax.ShapeDtypeStruct((64, 64), "float32")] * 2, {"axis_name": "replicas"}


def step():
    with tf.using("simulator", gpus=2):
        strategy = tf.distribute.MirroredStrategy()
        with strategy.scope():
            w = tf.Variable(tf.ones([64, 64]), aggregation=tf.VariableAggregation.SUM)

    def replica(x):
        w.assign_sub(x @ w)

    return tf.function(lambda x: strategy.run(replica, args=(x,))), (tf.TensorSpec([64, 64]),)


def step_of_help():
    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        w = tf.Variable(tf.ones([64, 64]), aggregation=tf.VariableAggregation.SUM)

    def replica(x):
        w.assign_sub(x @ w)

    @tf.function
    def train_step(x):
        strategy.run(replica, args=(x,))

    return train_step, (tf.TensorSpec([64, 64]),)


def step_of_own_devices():
    tf.use("simulator", gpus=3)
    return step_of_help()


def step_of_one_device():
    tf.use("simulator", gpus=1)
    return step_of_help()


def not_a_step():
    return 1


box = presets.pcie_box(4)


def boxes(hosts):
    return presets.dgx_a100(hosts, network_gigabits=100)
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module of the user's, in the working folder."""
    name = f"predicted_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    return name


def predicted(capsys, *words):
    assert 0 == main(["predict", *words, "--json"])
    return json.loads(capsys.readouterr().out)


def test_a_collective_takes_what_the_simulator_says_for_each_cluster_and_size(capsys):
    line = ["all_reduce", "--cluster", "dgx_h100", "--hosts", "1,8", "--size", "8KiB,128MiB", "--library", "nccl:2.27"]
    rows = predicted(capsys, *line, "--algorithm", "ring", "--gpus-per-process", "8")

    assert [(8, 8192), (8, 2**27), (64, 8192), (64, 2**27)] == [(row["devices"], row["bytes"]) for row in rows]
    launch, library = libraries.Launch(8), libraries.nccl("2.27")
    for row in rows:
        found = predict_all_reduce(presets.dgx_h100(row["hosts"]), row["bytes"], "ring", library=library, launch=launch)
        assert (found.seconds, found.algorithm, found.protocol) == (row["seconds"], row["algorithm"], row["protocol"])
        assert row["bus_bytes_per_second"] == pytest.approx(
            row["bytes"] / found.seconds * 2 * (row["devices"] - 1) / row["devices"]
        )


def test_a_table_has_a_row_for_each_size(capsys):
    assert 0 == main(["predict", "send", "--cluster", "tpu_v5e:shape=4x4", "--size", "1MB,2MB"])
    head, names, *rows = capsys.readouterr().out.splitlines()

    assert "send on TPU v5e" == head
    assert ["devices", "bytes", "time"] == names.split()[:3]
    assert ["1,000,000", "2,000,000"] == [row.split()[1] for row in rows]
    seconds = predict_send(presets.tpu_v5e((4, 4)), 10**6).seconds
    assert f"{seconds * 1e6:.2f}" == rows[0].split()[2]


def test_a_step_of_a_program_is_predicted_from_its_shapes(capsys, module):
    (row,) = predicted(capsys, "step", f"{module}:jax_step", "--cluster", "dgx_h100", "--efficiency", "0.5")

    step, specs, options = vars(__import__(module))["jax_step"]
    expected = predict_step(step, specs, cluster=presets.dgx_h100(), efficiency=0.5, **options)
    assert (expected.seconds, expected.flops, 8) == (row["seconds"], row["flops"], row["devices"])


def test_a_step_on_several_numbers_of_hosts_is_a_curve(capsys, module):
    assert 0 == main(["predict", "step", f"{module}:step", "--cluster", "dgx_h100", "--hosts", "1,4", "--no-overlap"])
    _, names, first, second = capsys.readouterr().out.splitlines()

    assert ["hosts", "devices", "step"] == names.split()[:3]
    assert (["1", "8"], ["4", "32"]) == (first.split()[:2], second.split()[:2])
    assert "100.0%" == first.split()[-1]
    assert float(second.split()[-1].rstrip("%")) < 100


@pytest.mark.parametrize("name", ["step_of_help", "step_of_own_devices"])
def test_a_step_of_a_module_that_chooses_no_backend_exchanges_what_it_does_on_several_devices(capsys, module, name):
    (row,) = predicted(capsys, "step", f"{module}:{name}", "--cluster", "dgx_h100")

    assert 64 * 64 * 4 == row["exchanged_bytes"]


def test_a_backend_that_is_chosen_from_outside_stays_chosen(capsys, module, monkeypatch):
    monkeypatch.setenv("REFDIST_BACKEND", "simulator:gpus=1")

    assert 2 == main(["predict", "step", f"{module}:step_of_help", "--cluster", "dgx_h100"])
    assert "strategy with 1 replica for a cluster of 8 devices" in capsys.readouterr().err


def test_a_step_of_one_replica_is_predicted_for_one_device_only(capsys, module):
    assert 2 == main(["predict", "step", f"{module}:step_of_one_device", "--cluster", "dgx_h100"])
    assert "after tf.use" in capsys.readouterr().err


def test_clusters_of_the_user_are_taken(capsys, module):
    (own,) = predicted(capsys, "broadcast", "--cluster", f"{module}:box", "--size", "1MB")
    (made,) = predicted(capsys, "broadcast", "--cluster", f"{module}:boxes", "--hosts", "2", "--size", "1MB")

    assert (4, 16) == (own["devices"], made["devices"])


def test_a_library_that_was_saved_is_taken(capsys, tmp_path):
    path = str(tmp_path / "library.json")
    libraries.nccl("2.18").save(path)
    line = ["all_reduce", "--cluster", "dgx_h100", "--size", "1MiB", "--library"]

    assert predicted(capsys, *line, path)[0]["seconds"] == predicted(capsys, *line, "nccl:2.18")[0]["seconds"]


ALL_REDUCE = "all_reduce --cluster dgx_h100 --size 1MB"


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("all_reduce --cluster dgx_h10 --size 1", ["got 'dgx_h10'", "dgx_h100", "--cluster my_module:cluster"]),
        ("all_reduce --cluster dgx_h100:speed=4 --size 1", ["with network_gigabits=", "the part 'speed=4'"]),
        ("all_reduce --cluster dgx_h100:network_gigabits=fast --size 1", ["the part 'network_gigabits=fast'"]),
        ("all_reduce --cluster dgx_h100:network_gigabits=7 --size 1", ["cannot be made", "100, 200"]),
        ("all_reduce --cluster pcie_box --size 1", ["cannot be made", "devices"]),
        ("all_reduce --cluster tpu_v5e:shape=4x4 --hosts 2 --size 1", ["--hosts is 2", "tpu_v5e:shape=4x4"]),
        ("all_reduce --cluster nowhere:box --size 1", ["nowhere:box was not found", "PYTHONPATH"]),
        ("all_reduce --cluster math:pi --size 1", ["gave 3.14", "expected a simulator.Cluster"]),
        ("all_reduce --cluster dgx_h100 --size 1M", ["got '1M'", "MiB", "Write for example 128MiB"]),
        ("all_reduce --cluster dgx_h100 --hosts 0 --size 1", ["got '0'", "Write for example 1,8"]),
        (f"{ALL_REDUCE} --library nccl:1", ["'2.27'"]),
        (f"{ALL_REDUCE} --library {__file__}", ["is no library", "Library.save"]),
        ("all_reduce --cluster tpu_v4 --size 1", ["got no shape", "--cluster tpu_v4:shape=4x4x4"]),
        (f"{ALL_REDUCE} --library gloo", ["got 'gloo'", "Write for example nccl:2.27"]),
        (f"{ALL_REDUCE} --algorithm best", ["The algorithm is 'best'", "ring"]),
        (f"{ALL_REDUCE} --gpus-per-process 8", ["without --library", "Add --library nccl"]),
        (f"{ALL_REDUCE} --gpus-per-process 1,2", ["got '1,2'", "one number"]),
        ("all_reduce --cluster dgx_h100", ["--size"]),
        ("all_sum --cluster dgx_h100 --size 1", ["'all_sum'", "all_reduce"]),
        ("step nothing --cluster dgx_h100", ["got 'nothing'", "refdist predict step my_module:step"]),
        ("step math:pi --cluster dgx_h100", ["math:pi gave 3.14", "(step, shapes)"]),
        ("step math:pi --cluster dgx_h100 --efficiency 2", ["got '2'", "Write for example 0.5"]),
    ],
)
def test_what_cannot_be_predicted_is_refused_with_what_to_write(capsys, line, parts):
    try:
        code = main(["predict", *line.split()])
    except SystemExit as left:  # as argparse refuses
        code = left.code

    assert 2 == code
    said = capsys.readouterr().err
    assert all(part in said for part in parts), said


def test_a_function_that_returns_no_step_is_refused(capsys, module):
    assert 2 == main(["predict", "step", f"{module}:not_a_step", "--cluster", "dgx_h100"])
    assert "expected a step and the shapes" in capsys.readouterr().err
