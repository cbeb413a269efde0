"""How far predictions are from public measurements: `python -m simulator.validate`."""

import argparse
import csv
import dataclasses
import pathlib
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from refdist_command.writable_file import writable_file
from simulator import libraries, presets
from simulator.libraries.library import Launch, Library
from simulator.machines.topology import Cluster
from simulator.predictions.prediction import by_library
from simulator.predictions.scaled_step import predict_scaled_step
from simulator.predictions.step_timeline import MEASURED_SLOWDOWN
from simulator.validation.validation_picture import picture

FOLDER = pathlib.Path(__file__).parent / "validation"
DESCRIPTION = """\
Compare predicted times with public measurements of collectives and of training
steps, and print the mean errors as tables in Markdown.

examples:
  refdist validate
  refdist validate --rows
  refdist validate --picture accuracy.svg
"""
CLASSES: tuple[tuple[str, float], ...] = (
    ("below 64 KB", 65536.0),
    ("64 KB to 1 MB", 1048576.0),
    ("1 MB to 32 MB", 33554432.0),
    ("32 MB to 1 GB", 1073741824.0),
    ("1 GB and above", float("inf")),
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One measurement, and what was predicted for it."""

    machine: str
    group: str
    what: str  # the collective, or the model
    devices: int
    hosts: int
    size: float
    measured: float
    predicted: float
    used: bool  # while the predictions were built
    unseen: bool = False  # until all predictions were made

    @property
    def error(self) -> float:
        """Relative to what was measured."""
        return self.predicted / self.measured - 1


def collective_rows(folder: pathlib.Path = FOLDER) -> list[Row]:
    """The collectives, predicted."""
    machines = _machines(folder)
    rows: list[Row] = []
    for read in _read(folder / "collectives.csv"):
        machine = machines[read["machine"]]
        devices, hosts, size = int(read["devices"]), int(read["hosts"]), float(read["bytes"])
        cluster, library = _cluster(machine, devices, hosts), _library(machine, read["version"])
        launch = Launch(int(read["gpus_per_process"]))
        found = by_library(read["collective"], cluster, size, library, launch).seconds
        rows.append(
            Row(
                read["machine"], machine.get("group", "core"), read["collective"], devices, hosts, size,
                float(read["microseconds"]) * 1e-6, found, read["used_while_building"] == "yes",
                read["used_while_building"] == "unseen",
            )
        )  # fmt: skip
    return rows


def step_rows(folder: pathlib.Path = FOLDER, *, overlap_slowdown: float = 0.0) -> list[Row]:
    """Steps of data-parallel training, predicted from the time on one device and the bytes of the gradients."""
    machines = _machines(folder)
    rows: list[Row] = []
    for read in _read(folder / "steps.csv"):
        machine = machines[read["machine"]]
        devices, hosts = int(read["devices"]), int(read["hosts"])
        found = predict_scaled_step(
            float(read["single_device_seconds"]), float(read["gradient_bytes"]),
            cluster=_cluster(machine, devices, hosts), library=_library(machine, ""), overlap=read["overlap"] == "yes",
            overlap_slowdown=overlap_slowdown,
        ).seconds  # fmt: skip
        rows.append(
            Row(
                read["machine"], read["framework"], read["model"], devices, hosts, float(read["gradient_bytes"]),
                float(read["seconds"]), found, used=False,
            )
        )  # fmt: skip
    return rows


def report(collectives: Sequence[Row], steps: Sequence[Row], slowed: Sequence[Row]) -> str:
    """The errors as tables in Markdown.

    Args:
        slowed: the steps, predicted with kernels that slow down beside exchanges.
    """
    core = [row for row in collectives if row.group == "core"]
    lines = [
        "Mean of the absolute errors; in brackets, how many measurements. No constant was fitted to them.",
        "",
        *_table(
            "collectives",
            [("all", collectives)]
            + [("of these, unseen until everything was built", [row for row in collectives if row.unseen])]
            + [("machines with public constants", core)]
            + [("of these, not looked at while building", [row for row in core if not row.used])]
            + [("other machines", [row for row in collectives if row.group != "core"])]
            + [(kind.replace("_", " "), [row for row in core if row.what == kind]) for kind in _kinds(core)],
        ),
        "",
        *_table(
            "machine", [(name, [row for row in collectives if _label(row) == name]) for name in _labels(collectives)]
        ),
        "",
        "| steps | mean error | bias | rows |",
        "|---|---|---|---|",
        *(
            f"| {name} | {_mean(rows):.1%} | {sum(row.error for row in rows) / len(rows):+.1%} | {len(rows)} |"
            for name, rows in (*_by_step(steps), *_by_framework(", kernels slowed by 18.9 %", slowed))
        ),
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the command line asks for, and return the exit code."""
    parser = argparse.ArgumentParser(
        "python -m simulator.validate",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_options(parser)
    return perform(parser.parse_args(arguments))


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what it can be told."""
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER, help="where the measurements are")
    parser.add_argument(
        "--picture", type=writable_file, metavar="FILE", help="write predicted against measured as an SVG"
    )
    parser.add_argument("--rows", action="store_true", help="print every measurement, too")


def perform(given: argparse.Namespace) -> int:
    """Print the errors, or write them and a picture to files."""
    if not (given.folder / "collectives.csv").is_file():
        print(
            f"There are no measurements in {given.folder}; expected collectives.csv, steps.csv and machines.toml. Leave "
            f"--folder out for those of refdist.",
            file=sys.stderr,
        )
        return 2
    collectives, steps = collective_rows(given.folder), step_rows(given.folder)
    print(report(collectives, steps, step_rows(given.folder, overlap_slowdown=MEASURED_SLOWDOWN)))
    if given.rows:
        for row in (*collectives, *steps):
            sizes = f"{row.devices:>4} {row.hosts:>3} {row.size:>14.0f}"
            print(
                f"{row.machine:<22}{row.what:<26}{sizes} {row.measured:>12.3e} {row.predicted:>12.3e} {row.error:>+8.1%}"
            )
    if given.picture is not None:
        given.picture.write_text(picture([(row.measured, row.predicted, row.group) for row in collectives]), "utf-8")
    return 0


def _table(title: str, groups: Iterable[tuple[str, Sequence[Row]]]) -> Iterator[str]:
    yield f"| {title} | all | " + " | ".join(name for name, _ in CLASSES) + " |"
    yield "|---" * (len(CLASSES) + 2) + "|"
    for name, rows in groups:
        cells = [_cell(rows)]
        least = 0.0
        for _, most in CLASSES:
            cells.append(_cell([row for row in rows if least <= row.size < most]))
            least = most
        yield f"| {name} | " + " | ".join(cells) + " |"


def _cell(rows: Sequence[Row]) -> str:
    return f"{_mean(rows):.1%} ({len(rows)})" if rows else ""


def _mean(rows: Sequence[Row]) -> float:
    return sum(abs(row.error) for row in rows) / len(rows)


def _kinds(rows: Sequence[Row]) -> list[str]:
    return sorted({row.what for row in rows})


def _label(row: Row) -> str:
    return f"{row.machine}, {row.hosts} x {row.devices // row.hosts}"


def _labels(rows: Sequence[Row]) -> list[str]:
    return sorted({_label(row) for row in rows})


def _by_step(rows: Sequence[Row]) -> Iterator[tuple[str, Sequence[Row]]]:
    yield "all", rows
    yield "one host", [row for row in rows if row.hosts == 1]
    yield "several hosts", [row for row in rows if row.hosts > 1]
    yield from list(_by_framework("", rows))[1:]
    for machine in sorted({row.machine for row in rows}):
        yield machine, [row for row in rows if row.machine == machine]


def _by_framework(note: str, rows: Sequence[Row]) -> Iterator[tuple[str, Sequence[Row]]]:
    yield f"all{note}", rows
    for framework in sorted({row.group for row in rows}):
        yield f"{framework}{note}", [row for row in rows if row.group == framework]


def _read(path: pathlib.Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


def _machines(folder: pathlib.Path) -> dict[str, Any]:
    with (folder / "machines.toml").open("rb") as file:
        return tomllib.load(file)


def _library(machine: dict[str, Any], version: str) -> Library:
    make: Callable[[str], Library] = getattr(libraries, machine.get("library", "nccl"))
    return make(version or machine.get("version", "2.27"))


def _cluster(machine: dict[str, Any], devices: int, hosts: int) -> Cluster:
    """The preset with so many devices on each host, and what the machine has otherwise."""
    local = devices // hosts
    if machine["preset"] == "pcie_box":
        cluster = presets.pcie_box(local)
    else:
        whole: Cluster = getattr(presets, machine["preset"])(max(hosts, 1))
        inside, outside = whole.links[0], whole.links[-1]
        speeds = inside.bandwidth_bytes_per_second, inside.latency_seconds
        between = outside.bandwidth_bytes_per_second, outside.latency_seconds
        made = Cluster.star(devices, *speeds) if hosts == 1 else Cluster.hosts(hosts, local, *speeds, *between)
        cluster = dataclasses.replace(made, kind=whole.kind, fabric=whole.fabric)
    assert cluster.fabric is not None
    return dataclasses.replace(cluster, fabric=dataclasses.replace(cluster.fabric, **machine.get("fabric", {})))


if __name__ == "__main__":
    sys.exit(main())
