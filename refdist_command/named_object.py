"""What a user names on a command line: an object of a module, or of a file."""

import importlib
import os
from typing import Any

from refdist_command.shadows import look_in


class NotFound(Exception):
    """There is no such object."""


def named_object(name: str, *, what: str, example: str) -> Any:
    """Return what `module:object` names; modules of the working folder are found, too.

    Args:
        what: is expected there, for messages.
        example: a command line that is right.

    >>> named_object("math:pi", what="a number", example="add math:pi")
    3.141592653589793
    """
    module_name, _, path = name.partition(":")
    if not module_name or not path:
        raise NotFound(f"got {name!r}; expected module:function, {what}. Write for example: {example}")
    look_in(os.getcwd())
    try:
        found: Any = importlib.import_module(module_name.removesuffix(".py").replace("/", "."))
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise NotFound(
            f"{name} was not found ({error}); expected a function of a module that can be imported here. "
            f"Start in the folder of the module, or put that on PYTHONPATH."
        ) from error
    return found
