"""Less frequent garbage collection while very many replicas are paused, because what they hold is not garbage."""

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager

MANY = 256  # from this many replicas on, it is worthwhile
_OBJECTS_PER_REPLICA = 40

_lock = threading.Lock()
_runs = 0
_usual: tuple[int, int, int] = (0, 0, 0)


@contextmanager
def fewer_collections(replicas: int) -> Generator[None]:
    """Raise the number of new objects that triggers a collection to what one meeting of all replicas creates.

    Otherwise the collector would go through all paused replicas again and again, which takes a third of the time at 10,000.
    """
    global _runs, _usual
    with _lock:
        if _runs == 0:
            _usual = gc.get_threshold()
        _runs += 1
        young, *others = gc.get_threshold()
        if 0 < young < replicas * _OBJECTS_PER_REPLICA:  # 0 means that the user has switched collections off
            gc.set_threshold(replicas * _OBJECTS_PER_REPLICA, *others)
    try:
        yield
    finally:
        with _lock:
            _runs -= 1
            if _runs == 0:
                gc.set_threshold(*_usual)
