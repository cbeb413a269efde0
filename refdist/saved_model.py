"""`tf.saved_model`: the variables of a module, saved and loaded without the module's own code."""

from pathlib import Path

from refdist.module import Module, named_variables
from refdist.storage import read_arrays, write_arrays
from refdist.variables import Variable

_FILE = "variables.safetensors"


def save(obj: Module, export_dir: str) -> None:
    """Write the variables of a module to a folder; a distributed variable is one array there."""
    if not isinstance(obj, Module):
        raise ValueError(
            f"saved_model.save() got a {type(obj).__name__}; expected a tf.Module. Derive the class from it, or set the "
            f"variables as attributes of one."
        )
    write_arrays(Path(export_dir) / _FILE, {path: variable.numpy() for path, variable in named_variables(obj)})


def load(export_dir: str) -> Module:
    """Make a module with the saved variables; they are distributed if this is done in a strategy's scope."""
    root = Module("loaded")
    for path, array in read_arrays(Path(export_dir) / _FILE).items():
        *parents, name = (part.replace("~1", "/").replace("~0", "~") for part in path.split("/"))
        owner = root
        for parent in parents:
            if not hasattr(owner, parent):
                setattr(owner, parent, Module(parent))
            owner = getattr(owner, parent)
        setattr(owner, name, Variable(array, name=name))
    return root
