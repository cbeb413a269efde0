"""Calls of a function for which there is a program already: nearly all calls of a training loop, so they are quick."""

import contextvars
from typing import Any

from refdist._core.base.where import HERE
from refdist._core.seam.peers import UNEVEN
from refdist._core.staging.argument_kinds import quick_key
from refdist._core.staging.eager_functions import functions_run_eagerly
from refdist._core.staging.program_cache import ProgramCache
from refdist._core.strategies.default_strategy import default_strategy


class SteadyCalls:
    """Runs the program that is kept for the kind of arguments of a call, or leaves the call to `_called`."""

    _programs: ProgramCache
    _enough: int  # so many arguments by their places are in the form that programs take

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        here = HERE.get()
        frame = here.frame
        if (
            not kwargs
            and len(args) >= self._enough
            and here.draft is None  # the program of another function
            and here.tapes is None
            and not UNEVEN
            and (frame is None or (frame.replica is None and frame.updating is None))
            and (kinds := quick_key(args)) is not None
        ):
            around = default_strategy() if frame is None else frame.strategy
            program = self._programs.find_quickly((around, around.extended, True, kinds))
            if program is not None and program.enters_nothing and not functions_run_eagerly():
                return program.run(args)
        # In a copy of the context, as in `context.contained`.
        return contextvars.copy_context().run(self._called, *args, **kwargs)

    def _called(self, *args: Any, **kwargs: Any) -> Any:
        """Do everything that a call may need: trace, write a program, meet other replicas, run in Python."""
        raise NotImplementedError
