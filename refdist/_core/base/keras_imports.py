"""Sees to it that Keras, where the program itself imports it (`import keras`), is on JAX and knows of strategies."""

import importlib.util
import os
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.abc import Loader, MetaPathFinder
else:
    Loader = MetaPathFinder = object  # loading them takes 10 ms, and they only say what methods there are

_NAME, _BACKEND, _OTHER = "keras", "KERAS_BACKEND", "tensorflow"


def choose_backend() -> None:
    """Let Keras take JAX, unless the program has chosen another backend that is there."""
    chosen = os.environ.get(_BACKEND, "")
    if not chosen and _OTHER not in sys.modules:  # whose own tf.keras would be this one
        os.environ[_BACKEND] = "jax"
    elif chosen == _OTHER and importlib.util.find_spec(_OTHER) is None:
        os.environ[_BACKEND] = "jax"  # such a program says `import refdist as tf` in place of TensorFlow


def install(loaded: Callable[[], None]) -> None:
    """Call a function as soon as the program has imported Keras, if that is on JAX."""
    if sys.modules.get(_NAME) is not None:
        _tell(loaded)
    elif not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder(loaded))


def _tell(loaded: Callable[[], None]) -> None:
    keras: Any = sys.modules[_NAME]
    if keras.config.backend() == "jax":
        loaded()


class _Finder(MetaPathFinder):
    """Finds Keras where it is, and puts itself around what loads it."""

    def __init__(self, loaded: Callable[[], None]) -> None:
        self._loaded, self._finding = loaded, False

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        if fullname != _NAME or self._finding:
            return None
        self._finding = True
        try:
            spec = importlib.util.find_spec(_NAME)
        finally:
            self._finding = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._loaded)
        return spec


class _Loader(Loader):
    """Loads Keras as its own loader does, which it leaves in its place."""

    def __init__(self, own: Loader, loaded: Callable[[], None]) -> None:
        self._own, self._loaded = own, loaded

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        choose_backend()
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._own
        self._own.exec_module(module)
        _tell(self._loaded)
