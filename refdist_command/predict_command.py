"""The options of `refdist predict`: how long a collective or a training step takes on a cluster."""

import argparse
import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from refdist_command.cluster_words import Impossible, cluster_word, counts_word, library_word, size_word, sizes_word
from refdist_command.named_object import NotFound, named_object
from refdist_command.refusal import Refused

if TYPE_CHECKING:
    from simulator.libraries.library import Launch
    from simulator.machines.topology import Cluster

DESCRIPTION = """\
Say how long a collective or a training step takes on a cluster, without a
device. Sizes are bytes that every device has, as nccl-tests counts them.

examples:
  refdist predict all_reduce --cluster dgx_h100 --hosts 8 --size 128MiB
  refdist predict all_reduce --cluster dgx_h100 --hosts 1,8 --size 1MiB,1GiB
                             --library nccl:2.27 --algorithm ring
  refdist predict send --cluster ethernet:devices_per_host=4,gigabits=100
                       --hosts 2 --size 1MB --json
  refdist predict step my_module:step --cluster dgx_h100 --hosts 1,8
"""
COLLECTIVES = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "all_to_all", "send")
STEP_DESCRIPTION = """\
Say how long a data-parallel training step takes, from shapes alone.

`my_module:step` is a function without parameters, which returns the step and
its arguments as shapes, and further options of simulator.predict_step if need
be; or it is such a tuple itself:

    def step():
        strategy = tf.distribute.MirroredStrategy()
        ...
        return train_step, (tf.TensorSpec([4096, 8192]),)

    jax_step = step_of_jax, (weights, x), {"axis_name": "replicas"}

The step is a tf.function, a function that calls strategy.run, one of JAX that
meets the others by an axis name, or a compiled Keras model. The shapes are
those that one replica gets. A module that chooses no backend finds two
virtual GPUs, so that its strategy has replicas that exchange something.

examples:
  refdist predict step my_module:step --cluster dgx_h100 --hosts 8
  refdist predict step my_module:step --cluster dgx_a100 --hosts 1,4,16
                       --library nccl:2.27 --efficiency 0.5
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what `refdist predict` can be told."""
    what = parser.add_subparsers(required=True, metavar="WHAT", dest="what")
    for name in COLLECTIVES:
        one = what.add_parser(
            name,
            help=f"predict {name}",
            description=f"Say how long {name} takes on a cluster.",
            allow_abbrev=False,
        )
        _add_cluster(one)
        sizes = "bytes on every device: 4096, 128MiB, 1GB; several with commas"
        one.add_argument("--size", type=sizes_word, required=True, metavar="SIZE", help=sizes)
        if name == "all_reduce":
            one.add_argument("--algorithm", default="auto", metavar="NAME", help="ring, tree, ... (default: auto)")
        one.set_defaults(predict=_collective)
    step = what.add_parser(
        "step",
        help="predict a training step",
        description=STEP_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    step.add_argument("step", metavar="module:step", help="what returns the step and its shapes")
    _add_cluster(step)
    step.add_argument("--algorithm", default="auto", metavar="NAME", help="of its all-reduces (default: auto)")
    step.add_argument("--no-overlap", action="store_true", help="exchange only when nothing is computed")
    buckets = "gradients wait for each other until they have this size (default: 25MB)"
    step.add_argument("--bucket", type=size_word, default=25e6, metavar="SIZE", help=buckets)
    reached = "the share of its peak that a device reaches in products (default: 0.7)"
    step.add_argument("--efficiency", type=_share, metavar="SHARE", help=reached)
    step.set_defaults(predict=_step)


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cluster",
        type=cluster_word,
        required=True,
        metavar="NAME",
        help="a preset: dgx_h100, tpu_v5e:shape=4x4, ...; or a cluster of yours, or a function of the number of hosts: module:name",
    )
    parser.add_argument(
        "--hosts", type=counts_word, default=(1,), metavar="N", help="how many; several with commas (default: 1)"
    )
    parser.add_argument(
        "--library",
        type=library_word,
        metavar="NAME",
        help="nccl, nccl:2.27, rccl, or a file that Library.save has written; without one, messages on the links",
    )
    parser.add_argument("--gpus-per-process", type=_count, metavar="N", help="how the library is started (default: 1)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def execute(options: argparse.Namespace) -> int:
    """Predict, print, and return the exit code."""
    from refdist._core.base.extras import MissingExtra
    from simulator.libraries.library import Launch

    if options.gpus_per_process is not None and options.library is None:
        raise Refused("got --gpus-per-process without --library; expected both. Add --library nccl.")
    launch = None if options.gpus_per_process is None else Launch(options.gpus_per_process)
    try:
        clusters = [options.cluster(hosts) for hosts in options.hosts]
        rows, text = options.predict(options, clusters, launch)
    except (NotFound, Impossible, MissingExtra) as error:
        raise Refused(str(error)) from error
    print(json.dumps(rows, indent=1) if options.json else text)
    return 0


def _collective(
    options: argparse.Namespace, clusters: Sequence["Cluster"], launch: "Launch | None"
) -> tuple[list[dict[str, Any]], str]:
    """Predict a collective of each size on each cluster."""
    import simulator

    predict = getattr(simulator, f"predict_{options.what}")
    given = {"library": options.library, "launch": launch}
    if options.what == "all_reduce":
        given["algorithm"] = options.algorithm
    rows: list[dict[str, Any]] = []
    for hosts, cluster in zip(options.hosts, clusters, strict=True):
        for size in options.size:
            try:
                found = predict(cluster, size, **given)
            except (ValueError, TypeError, NotImplementedError, ModuleNotFoundError) as error:
                raise Impossible(str(error)) from error
            speed = size / found.seconds if found.seconds else None
            share = _BUS_SHARES[options.what](cluster.device_count)
            rows.append(
                {
                    "collective": options.what,
                    "cluster": cluster.name,
                    "hosts": hosts,
                    "devices": cluster.device_count,
                    "bytes": size,
                    "seconds": found.seconds,
                    "algorithm": found.algorithm,
                    "protocol": found.protocol or None,
                    "bytes_per_second": speed,
                    "bus_bytes_per_second": None if speed is None else speed * share,
                    "parts": dict(found.parts),
                }
            )
    return rows, _table_of_collectives(options, rows)


def _table_of_collectives(options: argparse.Namespace, rows: Sequence[Mapping[str, Any]]) -> str:
    from simulator.base.step_records import time_text

    library = "" if options.library is None else f", {options.library.name} {options.library.version}"
    cells = [["devices", "bytes", "time", "algorithm", "GB/s", "bus GB/s"]]
    for row in rows:
        algorithm = " ".join(filter(None, (row["algorithm"], row["protocol"])))
        speeds = [
            "" if row[one] is None else f"{row[one] / 1e9:.2f}" for one in ("bytes_per_second", "bus_bytes_per_second")
        ]
        cells.append([f"{row['devices']:,}", f"{row['bytes']:,}", time_text(row["seconds"]), algorithm, *speeds])
    return "\n".join([f"{options.what} on {rows[0]['cluster']}{library}", *_aligned(cells)])


def _step(
    options: argparse.Namespace, clusters: Sequence["Cluster"], launch: "Launch | None"
) -> tuple[list[dict[str, Any]], str]:
    """Predict a user's step on each cluster."""
    import refdist
    from refdist._core.base.extras import require
    from simulator import predict_step
    from simulator.predictions.predicted_step import OneReplica

    require("jax", "numba", by="refdist predict step")
    if "REFDIST_BACKEND" not in os.environ:
        # With one device, a strategy has one replica, whose step exchanges nothing. What the user's module chooses comes later.
        refdist.use("simulator", gpus=2)

    step, specs, further = _step_and_shapes(options.step)
    given: dict[str, Any] = {
        "library": options.library,
        "launch": launch,
        "algorithm": options.algorithm,
        "overlap": not options.no_overlap,
        "bucket_bytes": options.bucket,
        "efficiency": options.efficiency,
        **further,
    }
    try:
        found = [predict_step(step, specs, cluster=cluster, **given) for cluster in clusters]
    except OneReplica as error:
        raise Impossible(str(error)) from error
    rows = [
        {
            "step": options.step,
            "cluster": cluster.name,
            "hosts": hosts,
            "devices": one.devices,
            "seconds": one.seconds,
            "parts": one.parts,
            "flops": one.flops,
            "utilisation": one.utilisation,
            "exchanged_bytes": one.exchanged_bytes,
            "memory": one.memory,
        }
        for hosts, cluster, one in zip(options.hosts, clusters, found, strict=True)
    ]
    return rows, str(found[0]) if len(found) == 1 else _table_of_steps(options, rows)


def _table_of_steps(options: argparse.Namespace, rows: Sequence[Mapping[str, Any]]) -> str:
    from simulator.base.step_records import time_text

    cells = [["hosts", "devices", "step", "compute", "exposed", "of the peak", "efficiency"]]
    for row in rows:
        parts, efficiency = row["parts"], rows[0]["seconds"] / row["seconds"]
        times = map(time_text, (row["seconds"], parts["compute"], parts["exposed communication"]))
        shares = f"{row['utilisation']:.1%}", f"{efficiency:.1%}"
        cells.append([f"{row['hosts']:,}", f"{row['devices']:,}", *times, *shares])
    return "\n".join([f"{options.step} on {rows[0]['cluster']}", *_aligned(cells)])


def _step_and_shapes(name: str) -> tuple[Any, Any, dict[str, Any]]:
    """Return what `predict_step` is called with: a step, the shapes of its arguments, and further options."""
    example = "refdist predict step my_module:step --cluster dgx_h100"
    found = named_object(name, what="whose function returns a step and its shapes", example=example)
    if callable(found) and not _required(found):
        found = found()
    if not isinstance(found, tuple) or len(found) not in (2, 3) or (len(found) == 3 and not isinstance(found[2], dict)):
        raise Refused(
            f"{name} gave {found!r}; expected a step and the shapes of its arguments, and a dict of further options if need be. "
            f"Name a function without parameters that returns (step, shapes)."
        )
    step, specs, *further = found
    return step, specs, dict(*further)


def _required(found: Any) -> bool:
    """Whether a function cannot be called without arguments."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    try:
        given = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return True
    return any(one.default is inspect.Parameter.empty and one.kind not in kinds for one in given)


# What nccl-tests multiplies by, so that the speed of links comes out whatever the number of devices.
_BUS_SHARES: Mapping[str, Callable[[int], float]] = {
    "all_reduce": lambda devices: 2 * (devices - 1) / devices,
    **dict.fromkeys(("reduce_scatter", "all_gather", "all_to_all"), lambda devices: (devices - 1) / devices),
    **dict.fromkeys(("broadcast", "send"), lambda devices: 1.0),
}


def _aligned(cells: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in cells]


def _count(text: str) -> int:
    (count, *others) = counts_word(text)
    if others:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected one number. Write for example 8.")
    return count


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise argparse.ArgumentTypeError(f"got {text!r}; expected a share above 0 and up to 1. Write for example 0.5.")
    return share
