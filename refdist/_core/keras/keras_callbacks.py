"""Callbacks that write files, on several workers: the first writes them, and the others write to a folder that is thrown away.

The others do not merely skip it: to read a variable, such as the moving average of a layer, may take all workers.
"""

import functools
import importlib
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from typing import Any

from refdist._core.replicas import context

_backup: Any = importlib.import_module("keras.src.callbacks.backup_and_restore")
_checkpoint: Any = importlib.import_module("keras.src.callbacks.model_checkpoint")
_tensorboard: Any = importlib.import_module("keras.src.callbacks.tensorboard")

_PATHS_OF_BACKUP = (
    "backup_dir",
    "_weights_path",
    "_training_metadata_path",
    "_prev_weights_path",
    "_prev_training_metadata_path",
)


def install() -> None:
    """Let workers other than the first write elsewhere."""
    kind = _backup.BackupAndRestore
    kind._save_model = _writing_elsewhere(kind._save_model, *_PATHS_OF_BACKUP)
    kind.on_train_end = _writing_elsewhere(kind.on_train_end, *_PATHS_OF_BACKUP)  # which deletes what was written
    kind = _checkpoint.ModelCheckpoint
    kind._save_model = _writing_elsewhere(kind._save_model, "filepath")
    kind = _tensorboard.TensorBoard
    kind.set_model = _writing_elsewhere(kind.set_model, "log_dir")  # from which it makes its other paths


def _writing_elsewhere(original: Callable[..., None], *paths: str) -> Callable[..., None]:
    """Make a method of a callback use other paths, unless it runs on the first worker."""

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> None:
        if context.get_strategy().extended.plan.worker == 0:
            original(self, *args, **kwargs)
            return
        attributes: dict[str, Any] = vars(self)
        before = {path: attributes[path] for path in paths}
        folder = _folder(self)
        attributes.update({path: os.path.join(folder, os.path.basename(name)) for path, name in before.items()})
        try:
            original(self, *args, **kwargs)
        finally:
            attributes.update(before)

    return method


def _folder(callback: Any) -> str:
    """The folder of a callback that is thrown away with it."""
    attributes: dict[str, Any] = vars(callback)
    if "_own_folder" not in attributes:
        attributes["_own_folder"] = tempfile.mkdtemp()
        weakref.finalize(callback, shutil.rmtree, attributes["_own_folder"], ignore_errors=True)
    return attributes["_own_folder"]
