"""Pictures of strategies: what a strategy knows about those who draw them, in a later room."""

import pathlib
from typing import Any, Protocol

from refdist._core.base.later_rooms import ask


class Picture(Protocol):
    """A strategy, its variables, and perhaps one run: text when printed, a picture in notebooks."""

    def to_svg(self) -> str:
        """The picture, for pages and files."""
        ...

    def save(self, path: str | pathlib.Path) -> None:
        """Write a file: .svg or .txt, as its suffix says."""
        ...


def drawn(strategy: Any, program: Any, args: Any, kwargs: Any, *, in_replicas: bool) -> Picture:
    """The picture of a strategy."""
    picture: Picture = ask("draw", strategy, program, args, kwargs, in_replicas=in_replicas)
    return picture
