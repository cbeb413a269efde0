"""Options of checkpoints and saved models: most say how TensorFlow is to write its files, and change nothing here."""

import os
from collections.abc import Callable, Sequence
from typing import Any


class CheckpointOptions:
    """How a checkpoint is written: here always at once, and as one file.

    >>> CheckpointOptions(enable_async=True).enable_async
    True
    """

    def __init__(
        self,
        experimental_io_device: str | None = None,
        experimental_enable_async_checkpoint: bool = False,
        experimental_write_callbacks: Sequence[Callable[..., Any]] | None = None,
        enable_async: bool = False,
        experimental_skip_slot_variables: bool = False,
        experimental_sharding_callback: Any = None,
    ) -> None:
        self.experimental_io_device = experimental_io_device
        self.enable_async = enable_async or experimental_enable_async_checkpoint
        self.experimental_enable_async_checkpoint = self.enable_async
        self.experimental_write_callbacks = experimental_write_callbacks
        self.experimental_skip_slot_variables = experimental_skip_slot_variables
        _require_absent("CheckpointOptions()", experimental_sharding_callback=experimental_sharding_callback)
        _require_absent("CheckpointOptions()", experimental_skip_slot_variables=experimental_skip_slot_variables)
        self.experimental_sharding_callback = experimental_sharding_callback


class SaveOptions:
    """How a model is saved."""

    def __init__(
        self,
        namespace_whitelist: Sequence[str] | None = None,
        save_debug_info: bool = False,
        function_aliases: dict[str, Any] | None = None,
        experimental_debug_stripper: bool = False,
        experimental_io_device: str | None = None,
        experimental_variable_policy: Any = None,
        experimental_custom_gradients: bool = True,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
        experimental_sharding_callback: Any = None,
        extra_tags: Sequence[str] | None = None,
    ) -> None:
        self.namespace_whitelist = list(namespace_whitelist or [])
        self.save_debug_info, self.experimental_debug_stripper = save_debug_info, experimental_debug_stripper
        self.experimental_io_device, self.extra_tags = experimental_io_device, extra_tags
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_image_format = experimental_image_format
        refused = {
            "function_aliases": function_aliases,
            "experimental_variable_policy": experimental_variable_policy,
            "experimental_skip_saver": experimental_skip_saver,
            "experimental_sharding_callback": experimental_sharding_callback,
        }
        _require_absent("SaveOptions()", **refused)
        self.function_aliases, self.experimental_skip_saver = dict[str, Any](), False
        self.experimental_variable_policy = self.experimental_sharding_callback = None


class LoadOptions:
    """How a saved model is loaded."""

    def __init__(
        self,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: str | None = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy: Any = None,
        experimental_load_function_aliases: bool = False,
    ) -> None:
        self.allow_partial_checkpoint, self.experimental_io_device = allow_partial_checkpoint, experimental_io_device
        refused = {
            "experimental_skip_checkpoint": experimental_skip_checkpoint,
            "experimental_variable_policy": experimental_variable_policy,
            "experimental_load_function_aliases": experimental_load_function_aliases,
        }
        _require_absent("LoadOptions()", **refused)
        self.experimental_skip_checkpoint = self.experimental_load_function_aliases = False
        self.experimental_variable_policy = None


def require_options(options: Any, kind: type, what: str) -> None:
    """Raise unless options are of a class, or None."""
    if options is not None and not isinstance(options, kind):
        raise TypeError(
            f"{what} got options={options!r}, a {type(options).__name__}; expected {kind.__name__}, or None. Leave it out."
        )


def path_of(path: Any, what: str) -> str:
    """The text of a path."""
    try:
        return os.fsdecode(path)
    except TypeError as error:
        raise TypeError(
            f"{what} got {path!r}, a {type(path).__name__}; expected a path. Pass it as text, or as a pathlib.Path."
        ) from error


def _require_absent(what: str, **given: Any) -> None:
    for name, value in given.items():
        if value:
            raise NotImplementedError(
                f"{what} got {name}={value!r}; expected it to be left out, because there is one file, with one array for each "
                f"variable. Leave it out."
            )
