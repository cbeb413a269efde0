"""Calls of a function for which there is a program already: nearly all calls of a training loop, so they are quick."""

import contextvars
from collections.abc import Callable
from typing import Any

from refdist._core.base.where import HERE, Process, Where
from refdist._core.seam.peers import UNEVEN
from refdist._core.staging.argument_kinds import quick_key
from refdist._core.staging.captured_numbers import Look, without_changed
from refdist._core.staging.eager_functions import functions_run_eagerly
from refdist._core.staging.program_cache import Kept, ProgramCache
from refdist._core.strategies.default_strategy import default_strategy


class SteadyCalls:
    """Runs the program that is kept for the kind of arguments of a call, or leaves the call to `_called`."""

    python_function: Callable[..., Any]
    _numbers: tuple[Look, ...] = ()  # at what is part of its programs, and could change
    _programs: ProgramCache
    _enough: int  # so many arguments by their places are in the form that programs take

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        here = HERE.get()
        # As little as possible is looked at: while a program runs, it drives everything else out of the processor's caches.
        place, changes, programs = self._programs.steady
        same = here is place and Process.changes == changes and not kwargs and not UNEVEN
        program = programs.get(quick_key(args)) if same else None
        if program is None:
            program = None if kwargs else self._kept(here, args)
            if program is None:
                # In a copy of the context, as in `context.contained`.
                return contextvars.copy_context().run(self._called, *args, **kwargs)
        program.used = True
        same = True
        try:
            for owner, read, values, _ in self._numbers:
                same = same and read(owner) == values
        except Exception:  # a name is gone, or it refers to something that cannot be compared, such as an array
            same = False
        if not same:
            self._numbers = without_changed(self._numbers, self.python_function)
        return program.run(args)

    def _kept(self, here: Where, args: tuple[Any, ...]) -> Kept | None:
        """Find the program that is kept for a call, if nothing but running it is needed, and remember it for the next one."""
        frame, kinds = here.frame, quick_key(args)
        in_replica = frame is not None and (frame.replica is not None or frame.updating is not None)
        if kinds is None or len(args) < self._enough or in_replica or UNEVEN or functions_run_eagerly():
            return None
        if here.draft is not None or here.tapes is not None:  # which become part of another program, or are recorded
            return None
        around = default_strategy() if frame is None else frame.strategy
        program = self._programs.find_quickly((around, around.extended, True, kinds))
        if program is None or not program.enters_nothing:
            return None
        place, changes, programs = self._programs.steady
        if here is place and Process.changes == changes:
            programs[kinds] = program
        else:  # all three at once, because another thread may call from another place
            self._programs.steady = (here, Process.changes, {kinds: program})
        return program

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        """Do everything that a call may need: trace, write a program, meet other replicas, run in Python."""
        raise NotImplementedError
