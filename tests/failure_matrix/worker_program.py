"""The program of the workers: a few steps, and then one of them goes wrong. `worker_program.py folder way index`."""

import ctypes
import json
import os
import pathlib
import signal
import sys
import threading
import time

FOLDER, WAY, ODD = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
ME = json.loads(os.environ["TF_CONFIG"])["task"]["index"]
IS_ODD = ODD == ME
STARTS = ("missing", "wrong-address", "twice", "port-in-use", "jax-started", "disagreeing")


def note(name, **facts):
    """Leave a file for whoever judges; two processes may have one index."""
    path = FOLDER / f"{name}-{ME}-{os.getpid()}.json"
    hidden = path.with_suffix(".part")
    hidden.write_text(json.dumps({"worker": ME, "pid": os.getpid(), "at": time.time(), **facts}))
    hidden.rename(path)


note("started")

import refdist as tf  # noqa: E402

tf.use("jax")
if WAY == "jax-started" and IS_ODD:
    import jax

    jax.devices()
if WAY == "killed-joining" and IS_ODD:
    note("moment")
    os._exit(3)


def total(value):
    return tf.distribute.get_replica_context().all_reduce("SUM", value)


def collected(value):
    return tf.distribute.get_replica_context().all_gather(value, axis=0)


def body():
    weight.assign_add(total(tf.constant([1.0, 2.0])))
    return weight + 0.0


def other_body():
    weight.assign_add(total(tf.constant([1.0, 2.0]) * 100.0))
    return weight + 1.0


def of_other_shape():
    return total(tf.ones([4 if IS_ODD else 2]))


def by_other_verb():
    return (collected if IS_ODD else total)(tf.ones([2]))


def eager(function):
    return lambda: strategy.run(function)


def staged(function):
    return tf.function(eager(function))


def for_ever(step):
    while True:
        step()


def later(seconds):
    """Kill this process in a moment, whatever it is doing then."""

    def kill():
        note("moment")
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Timer(seconds, kill).start()


def moment(act):
    """Do what goes wrong, in the odd worker."""
    if IS_ODD:
        note("moment")
        act()


def raise_error():
    raise RuntimeError("on purpose")


def spin():
    while True:
        pass


def go_wrong():
    """Do what the way of failing says; those that have nothing to do go on with their steps."""
    if WAY in STARTS:
        return None  # those that nothing is wrong with have joined
    if WAY in ("killed-staged", "killed-eager"):
        if IS_ODD:
            later(0.3)
        return for_ever(step if WAY == "killed-staged" else eager(body))
    acts = {
        "killed-between": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "stopped": lambda: os.kill(os.getpid(), signal.SIGSTOP),
        "exception": raise_error,
        "left": lambda: os._exit(3),
        "left-well": lambda: os._exit(0),
        "segfault": lambda: ctypes.string_at(0),
        "early-end": sys.exit,
        "endless": spin,
    }
    different = {
        "other-program": staged(other_body if IS_ODD else body),
        "other-shape": staged(of_other_shape),
        "other-shape-eager": eager(of_other_shape),
        "other-verb": staged(by_other_verb),
        "other-verb-eager": eager(by_other_verb),
    }
    if WAY in acts:
        moment(acts[WAY])
    elif WAY in different:
        moment(lambda: None)
        different[WAY]()
    elif WAY == "skipped":
        moment(lambda: None)
        for _ in range(19 if IS_ODD else 20):
            step()
        strategy.run(of_other_shape)
        return None
    elif WAY == "slow":
        moment(lambda: time.sleep(6))
        step()
        return None
    return for_ever(step)


note("joining")
try:
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    with strategy.scope():
        weight = tf.Variable([0.0, 0.0])
    step = staged(body)
    for _ in range(3):
        step()
        strategy.run(body)
    note("ready")
    go_wrong()
except Exception as error:
    note("raised", kind=type(error).__name__, text=str(error))
    raise
note("finished")
