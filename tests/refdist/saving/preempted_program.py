"""A program that sends SIGTERM to itself: `python preempted_program.py FOLDER`; it prints how each of its starts has ended."""

import json
import os
import signal
import sys
import threading
import time
import warnings

import refdist as tf

STEPS, STEP_SECONDS = 6, 10.0
NOW = [1000.0]


def started(folder, signals=(), **config):
    """Train from the last checkpoint on, with a SIGTERM in some of the steps."""
    trained = tf.Variable(0)
    checkpoint = tf.train.Checkpoint(trained=trained)
    configuration = tf.distribute.experimental.TerminationConfig(**config)
    handler = tf.distribute.experimental.PreemptionCheckpointHandler(None, checkpoint, folder, configuration)
    print(json.dumps(["started", handler.total_run_calls, int(trained)]), flush=True)

    def step():
        NOW[0] += STEP_SECONDS
        trained.assign_add(1)
        if int(trained) in signals:
            os.kill(os.getpid(), signal.SIGTERM)
        return int(trained)

    while int(trained) < STEPS:
        handler.run(step)
    del handler
    print(json.dumps(["trained", int(trained)]), flush=True)


def before(number, frame):
    print(json.dumps(["the handler from before", number]), flush=True)


def restored(folder):
    """The handler from before is back after the last save, and when a PreemptionCheckpointHandler is forgotten."""
    signal.signal(signal.SIGTERM, before)
    started(folder, (3,), exit_fn=lambda: print(json.dumps(["left", signal.getsignal(signal.SIGTERM) is before])))
    started(folder)
    print(json.dumps(["forgotten", signal.getsignal(signal.SIGTERM) is before]))
    os.kill(os.getpid(), signal.SIGTERM)


def in_a_thread(folder):
    """Signals reach the main thread only."""

    def make():
        try:
            started(folder)
        except ValueError as error:
            print(json.dumps(["refused", str(error)]))

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()


def with_grace(folder):
    """Of 80 s, the last 6 steps of 10 s are kept back; and then the last step is over."""
    time.time = lambda: NOW[0]
    started(folder, (2,), grace_period=80)


def forked(name, part, *arguments):
    """Run a part of the program in a process of its own."""
    child = os.fork()
    if not child:
        code = 0
        try:
            part(*arguments)
        except SystemExit as error:
            code = error.code
        sys.stdout.flush()
        os._exit(code)
    _, status = os.waitpid(child, 0)
    print(json.dumps([name, os.waitstatus_to_exitcode(status)]), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore", DeprecationWarning)
    folder = sys.argv[1]
    forked("first", started, folder + "/a", (2,))
    forked("second", started, folder + "/a", (5,))
    forked("third", started, folder + "/a")
    forked("restored", restored, folder + "/b")
    forked("in a thread", in_a_thread, folder + "/c")
    forked("with grace", with_grace, folder + "/d")
    forked("own code", lambda: started(folder + "/e", (1,), exit_fn=lambda: sys.exit(7)))
