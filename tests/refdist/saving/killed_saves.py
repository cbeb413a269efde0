"""A program that is killed at every place of a save, again and again; it prints what it finds after each.

`python killed_saves.py FOLDER STRIDE`: the places are lines of the code that saves, every STRIDE-th of them.
"""

import json
import os
import signal
import sys

import refdist as tf

FILES = ("array_file.py", "checkpoint.py", "checkpoint_manager.py", "checkpoint_state.py")


def started(folder):
    """What a program does when it starts: it goes on where it was."""
    weights, step = tf.Variable([0.0] * 1000), tf.Variable(0)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(weights=weights, step=step), folder, max_to_keep=2)
    manager.restore_or_initialize()
    return manager, weights, step


def killed_at(place):
    """Make a trace function that kills the process at the line of that number."""
    left = [place]

    def trace(frame, event, _):
        if not frame.f_code.co_filename.endswith(FILES):
            return None
        left[0] -= event == "line"
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def main(folder, stride):
    os.makedirs(folder)
    for place in range(stride, 1000, stride):
        child = os.fork()
        if not child:
            manager, weights, step = started(folder)
            step.assign_add(1)
            weights.assign_add([1.0] * 1000)
            sys.settrace(killed_at(place))
            manager.save()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        killed = os.WIFSIGNALED(status)
        manager, weights, step = started(folder)
        there = [name for name in os.listdir(folder) if not name.endswith(".unfinished")]
        manager.save()  # undisturbed, so that it also tidies up
        kept = [name for name in os.listdir(folder) if not name.endswith(".unfinished")]
        print(json.dumps([place, killed, int(step), sorted(set(weights.numpy().tolist())), len(there), len(kept)]))
        if not killed:
            return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
