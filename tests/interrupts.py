"""Ctrl-C at every place where it can come: what a program leaves behind must be whole."""

import dis
import functools
import inspect
import itertools
import sys

PACKAGES = ("refdist.", "simulator.", "contextlib")  # the last enters and leaves some of their `with` blocks


def boundaries(action, inside=PACKAGES):
    """Count the places of an action, in the files of some packages, where a Ctrl-C can come."""
    if sys.version_info >= (3, 12):
        _Interrupter(None, inside).run(action)  # only from the next run on it tells of each instruction
    counter = _Interrupter(None, inside)
    counter.run(action)
    return counter.passed


def interrupted(action, number, inside=PACKAGES):
    """Run an action, and raise KeyboardInterrupt at one of these places; say whether it came through."""
    interrupter = _Interrupter(number, inside)
    try:
        interrupter.run(action)
    except KeyboardInterrupt:
        return True
    assert interrupter.passed <= number, "a KeyboardInterrupt was swallowed"
    return False


class _Interrupter:
    """A tracer that counts the places where a Ctrl-C can come, and raises at one of them."""

    def __init__(self, number, inside):
        self._number, self._inside = number, inside
        self.passed = 0

    def run(self, action):
        before = sys.gettrace()
        sys.settrace(self._called)
        try:
            action()
        finally:
            sys.settrace(before)

    def _called(self, frame, event, arg):
        if not frame.f_globals.get("__name__", "").startswith(self._inside):
            return None
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        if (
            not frame.f_code.co_flags & inspect.CO_GENERATOR
        ):  # Python calls those to end them, too, and nobody hears of an error then
            self._boundary()
        return self._step

    def _step(self, frame, event, arg):
        if event == "opcode" and frame.f_lasti in _boundaries(frame.f_code):
            self._boundary()
        return self._step

    def _boundary(self):
        self.passed += 1
        if self.passed - 1 == self._number:
            sys.settrace(None)
            raise KeyboardInterrupt


@functools.cache
def _boundaries(code):
    """Where Python looks for signals, beside the beginning of a function: behind a call, and where it jumps back.

    What it finds behind a call is raised at the call, as far as `try` and `with` are concerned. So the place behind the last
    call of such a block, which is outside of it, is none.
    """
    instructions = list(dis.get_instructions(code))
    found = {one.argval for one in instructions if "JUMP_BACKWARD" in one.opname}
    table = [(entry.start, entry.end, entry.target) for entry in dis._parse_exception_table(code)]

    def handler(offset):
        return [target for start, end, target in table if start <= offset < end]

    for call, following in itertools.pairwise(instructions):
        if call.opname in ("CALL", "CALL_KW", "CALL_FUNCTION_EX") and handler(call.offset) == handler(following.offset):
            found.add(following.offset)
    return frozenset(found)
