"""Settings of TensorFlow's own machinery: accepted and told again, because nothing here depends on them."""

_threads = {"inter": 0, "intra": 0}


def get_inter_op_parallelism_threads() -> int:
    """The number that was set; 0 leaves it to the system."""
    return _threads["inter"]


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Accept a number of threads for independent operations; backends choose theirs by themselves."""
    _threads["inter"] = _require_count(num_threads)


def get_intra_op_parallelism_threads() -> int:
    """The number that was set; 0 leaves it to the system."""
    return _threads["intra"]


def set_intra_op_parallelism_threads(num_threads: int) -> None:
    """Accept a number of threads within an operation; backends choose theirs by themselves."""
    _threads["intra"] = _require_count(num_threads)


def _require_count(given: int) -> int:
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise ValueError(f"The number of threads is {given!r}; expected an int of at least 0. Pass 0 to leave it open.")
    return given
