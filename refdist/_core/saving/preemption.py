"""Saves a checkpoint when the program is about to be ended, and ends it so that it is started again."""

import contextlib
import contextvars
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from refdist._core.base.errors import InvalidArgumentError
from refdist._core.saving.checkpoint import Checkpoint, host_counter
from refdist._core.saving.checkpoint_manager import CheckpointManager
from refdist._core.saving.crew import Crew, crew_of
from refdist._core.saving.termination_notices import AskedNotice, Notice, SignalNotice
from refdist._core.variables.variable import Variable

RESTART = 42  # the exit code that means: start me again
_RUNS = "checkpointed_runs"  # the documented name in checkpoints
_MARGIN = (
    6  # how many steps before its end the grace period counts as over: steps vary, and the last one is still to come
)


class TerminationConfig:
    """How a program learns that it is about to be ended, and what it does then.

    >>> TerminationConfig(grace_period=60).grace_period
    60

    Args:
        termination_watcher_fn: says whether the program is about to be ended; called before each step, and so must return at
            once. Without it, SIGTERM means that.
        exit_fn: ends the program after the checkpoint is saved; without it, the exit code is 42.
        grace_period: how many seconds there are from the notice to the end. With 0 or None, the program ends after the
            current step; otherwise it saves, trains on, and saves again shortly before the end.
        save_fn: saves the checkpoint; without it, `CheckpointManager.save` does.
    """

    def __init__(
        self,
        termination_watcher_fn: Callable[[], Any] | None = None,
        exit_fn: Callable[[], Any] | None = None,
        grace_period: float | None = None,
        save_fn: Callable[..., Any] | None = None,
    ) -> None:
        self.termination_watcher_fn, self.exit_fn = termination_watcher_fn, exit_fn
        self.grace_period, self.save_fn = grace_period, save_fn


class PreemptionCheckpointHandler:
    """Saves a checkpoint when the program is about to be ended, and ends it; made again, it restores that checkpoint.

    The notice is SIGTERM, or what `TerminationConfig.termination_watcher_fn` says, and may reach one worker only: at the beginning
    of each `run` all workers tell each other, so that they save after the same step, once, and all end. Clouds are not asked
    whether they want to end the machine; pass a function that asks yours.

    >>> import tempfile
    >>> import refdist as tf
    >>> weight, folder = tf.Variable(0.0), tempfile.mkdtemp()
    >>> config = TerminationConfig(lambda: weight >= 2.0, exit_fn=lambda: print("saved and ended"))
    >>> handler = PreemptionCheckpointHandler(None, tf.train.Checkpoint(weight=weight), folder, config)
    >>> for _ in range(3):
    ...     _ = handler.run(lambda: weight.assign_add(1.0))
    saved and ended
    >>> tf.train.load_variable(folder, "weight")
    np.float32(2.0)

    Args:
        cluster_resolver: that of the strategy; None without a cluster.
        checkpoint_or_checkpoint_manager: what is saved; the number of calls is added to it. For a checkpoint, a manager is
            made that keeps two, so that there is one before the last.
        checkpoint_dir: where it is saved, needed for a checkpoint.
        termination_config: what to do other than by default.
    """

    def __init__(
        self,
        cluster_resolver: Any,
        checkpoint_or_checkpoint_manager: Checkpoint | CheckpointManager,
        checkpoint_dir: str | None = None,
        termination_config: TerminationConfig | None = None,
    ) -> None:
        if cluster_resolver is not None and "ps" in cluster_resolver.cluster_spec().as_dict():
            raise NotImplementedError(
                "PreemptionCheckpointHandler() got a cluster with parameter servers; expected one of workers that train in step, "
                "because the others have no step in common. Save in the coordinator with a tf.train.CheckpointManager."
            )
        config = termination_config or TerminationConfig()
        self._manager = _manager(checkpoint_or_checkpoint_manager, checkpoint_dir)
        self._runs = _runs_of(self._manager.checkpoint)
        self._manager.restore_or_initialize()
        self._calls = int(self._runs.numpy())
        watcher = config.termination_watcher_fn
        self._notice: Notice = SignalNotice() if watcher is None else AskedNotice(watcher)
        self._grace: float = config.grace_period or 0.0
        self._exit, self._save_fn = config.exit_fn or _exit_to_be_restarted, config.save_fn
        self._crew: Crew = crew_of(self._manager.checkpoint)
        self._checks, self._checked, self._step_seconds = 0, time.time(), 0.0
        self._final, self._ended = False, False  # whether the next save is the last; whether that has been

    @property
    def total_run_calls(self) -> int:
        """How often `run` was called, also before the program was started again; deprecated, as documented."""
        warnings.warn(
            "total_run_calls is deprecated; keep a tf.Variable in the checkpoint that counts steps.",
            DeprecationWarning,
            stacklevel=2,
        )
        return self._calls

    def run(self, distributed_train_function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call a function that trains for one step; before it, save and end the program if any worker is to be ended.

        In a cluster all workers exchange a word for that in each call, so that a step should take much longer than that.
        """
        self._save_and_end_if_due()
        result = distributed_train_function(*args, **kwargs)
        self._count()
        return result

    def save_checkpoint_if_preempted(self, *args: Any, **kwargs: Any) -> None:
        """Save and end the program if any worker is to be ended; to be called after each step, instead of `run`.

        Args:
            args: what `CheckpointManager.save` gets, or the `save_fn`.
            kwargs: the same.
        """
        self._save_and_end_if_due(*args, **kwargs)
        self._count()

    def watch_preemption_scope(self) -> AbstractContextManager[None]:
        """Enter the scope in which programs for TPUs call `run`, which does everything itself."""
        return contextlib.nullcontext()

    def _count(self) -> None:
        self._calls += 1
        self._runs.assign(self._calls)  # at once, so that checkpoints which the program saves itself have it too

    def _save_and_end_if_due(self, *args: Any, **kwargs: Any) -> None:
        if self._ended:  # by an exit_fn that does not end the program
            return
        own = "due" if self._is_due() else ""
        if "due" not in self._of_each("PreemptionCheckpointHandler", own):
            return
        self._save(*args, **kwargs)
        self._of_each("the end of PreemptionCheckpointHandler", "")  # nobody ends the program while others still save
        if self._grace > 0 and not self._final:
            self._final = True
            return
        self._ended = True
        self._notice.close()
        self._exit()

    def _is_due(self) -> bool:
        """Say whether this worker wants to save now."""
        now = time.time()
        if self._checks:
            self._step_seconds += (now - self._checked - self._step_seconds) / self._checks
        self._checks, self._checked = self._checks + 1, now
        received = self._notice.received()
        if received is None or not self._final:
            return received is not None
        return now >= received + self._grace - _MARGIN * self._step_seconds

    def _of_each(self, kind: str, own: str) -> Any:
        if self._checks <= 2:  # some models have no variables before their first step
            self._crew = crew_of(self._manager.checkpoint)
        return self._crew.of_each(kind, own)

    def _save(self, *args: Any, **kwargs: Any) -> None:
        if self._save_fn is not None:
            self._save_fn(*args, **kwargs)
            return
        if len(args) < 2:
            kwargs.setdefault("check_interval", False)  # an interval is no reason to lose steps
        self._manager.save(*args, **kwargs)


def _manager(given: Any, folder: str | None) -> CheckpointManager:
    if isinstance(given, CheckpointManager):
        return given
    if not isinstance(given, Checkpoint):
        raise TypeError(
            f"PreemptionCheckpointHandler() got {given!r}; expected a tf.train.Checkpoint or a tf.train.CheckpointManager. Write "
            f"PreemptionCheckpointHandler(resolver, tf.train.Checkpoint(model=...), checkpoint_dir)."
        )
    if not folder:
        raise InvalidArgumentError(
            "PreemptionCheckpointHandler() got a checkpoint and no checkpoint_dir; expected both, to know where to save. Pass "
            "checkpoint_dir=..., or a tf.train.CheckpointManager, which has one."
        )
    return CheckpointManager(given, folder, max_to_keep=2)


def _runs_of(checkpoint: Checkpoint) -> Variable:
    """The variable of a checkpoint that counts the calls; another handler may have made it already."""
    if not hasattr(checkpoint, _RUNS):
        setattr(checkpoint, _RUNS, contextvars.Context().run(host_counter, _RUNS))
    return getattr(checkpoint, _RUNS)


def _exit_to_be_restarted() -> None:
    sys.exit(RESTART)
