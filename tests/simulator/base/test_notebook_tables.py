"""What the simulator shows in notebooks: well-formed, escaped, and with the facts."""

import jax
import pytest

from simulator import Cluster, libraries, predict_all_reduce, predict_step, presets, sweep
from tests.markup import SVG, cells, parsed

SPECS = jax.ShapeDtypeStruct((256, 256), "bfloat16"), jax.ShapeDtypeStruct((8, 256), "bfloat16")


def step(w, x):
    return w - jax.lax.pmean(jax.grad(lambda w: (x @ w).sum())(w), "replicas")


def test_a_cluster_shows_its_devices_and_links():
    rows = cells(parsed(presets.dgx_h100(8)))

    assert ["devices", "64 x H100, 8 on a host"] in rows
    assert ["peak of a device", "989 TFLOP/s"] in rows
    assert ["host up", "8", "384 GB/s", "1.050 us"] in rows


def test_what_a_cluster_does_not_limit_is_told():
    rows = cells(parsed(Cluster.star(4, bandwidth_bytes_per_second=1e9, latency_seconds=0.0)))

    assert 3 == sum(row[1] == "without limit" for row in rows)
    assert ["up", "4", "1.00 GB/s", "0 s"] in rows


def test_a_cluster_with_hostile_names_and_many_links_is_small_and_escaped():
    names = ["<script>", *map(str, range(500))]
    cluster = Cluster.of_links(names, [(name, "switch", 1e9, 1e-6) for name in names])
    rows = cells(parsed(cluster))

    assert "<script> to switch" in [row[0] for row in rows]
    assert 4 + 10 == len(rows)


@pytest.mark.parametrize("options", [{"library": libraries.nccl()}, {"algorithm": "ring"}], ids=["nccl", "ring"])
def test_a_collective_shows_of_what_its_time_consists(options):
    rows = dict(cells(parsed(predict_all_reduce(presets.dgx_h100(), 1e8, **options))))

    assert rows["time"].endswith(" us")
    assert ("  latency" in rows) == ("protocol" in rows) == ("library" in options)
    assert ("messages" in rows) == ("algorithm" in options)
    assert "on the busiest link" in rows


def test_a_step_shows_its_parts_and_prints_in_one_line():
    found = predict_step(step, SPECS, cluster=presets.dgx_h100(), library=libraries.nccl(), axis_name="replicas")
    page = parsed(found)

    assert page.find("table/caption").text.startswith("step on 8 x H100: ")
    assert "  exposed communication" in [row[0] for row in cells(page)]
    assert repr(found).startswith("<StepPrediction of ")


def test_a_sweep_is_a_picture_whose_style_is_its_own():
    found = sweep(
        step, SPECS, clusters={"<script>&": lambda count: presets.dgx_h100(count // 8)}, replicas=[8, 16], axis_name="replicas"
    )  # fmt: skip
    page = parsed(found)
    rules = page.find(f"{SVG}style").text

    assert "<script>& auto" in [one.text for one in page.iter(f"{SVG}text")]
    assert all(
        part.strip().startswith((".rd-curves", "@media", "}")) for part in rules.replace("}", "}\n").split("\n") if part
    )
    assert "prefers-color-scheme:dark" in rules
    assert "<Sweep of 2 steps>" == repr(found)
