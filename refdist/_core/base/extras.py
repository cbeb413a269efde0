"""What only some of the work needs: modules that `pip install refdist` leaves out, and how to get them."""

import importlib.util

_EXTRA_OF = {"jax": "jax", "malt": "jax", "numba": "simulator"}
_PROJECT_OF = {"malt": "diastatic-malt"}


class MissingExtra(ModuleNotFoundError):
    """A module is not installed that belongs to an extra of refdist."""


def require(*names: str, by: str = "This") -> None:
    """Raise unless these modules are installed.

    Args:
        by: what needs them, as the beginning of a sentence.

    >>> require("numpy")
    """
    for name in names:
        if importlib.util.find_spec(name) is None:
            project, extra = _PROJECT_OF.get(name, name), _EXTRA_OF[name]
            raise MissingExtra(
                f"{by} needs {project}, which is not installed; expected it in this environment. Run pip install "
                f"'refdist[{extra}]', or 'refdist[all]' for everything.",
                name=name,
            )
