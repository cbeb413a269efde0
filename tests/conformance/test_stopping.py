"""The first interrupt is a wish, the second one an interrupt; what others handle stays with them."""

import select
import signal
import threading
from collections.abc import Generator

import pytest

from conformance.stopping import stopped_by_interrupts


@pytest.fixture(autouse=True)
def interrupting() -> Generator[None]:
    """Let an interrupt raise, as in a program that was not started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_the_first_interrupt_is_seen_by_all_who_wait_and_the_second_one_interrupts() -> None:
    with pytest.raises(KeyboardInterrupt), stopped_by_interrupts() as stop:
        assert ([], False) == (select.select([stop], [], [], 0)[0], stop.requested)
        signal.raise_signal(signal.SIGINT)
        for _ in range(2):
            assert ([stop], True) == (select.select([stop], [], [], 0)[0], stop.requested)
        signal.raise_signal(signal.SIGINT)


def test_afterwards_an_interrupt_interrupts() -> None:
    with stopped_by_interrupts():
        pass

    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_a_handler_of_others_is_left_alone() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
    try:
        with stopped_by_interrupts() as stop:
            signal.raise_signal(signal.SIGTERM)
            assert ([signal.SIGTERM], False) == (seen, stop.requested)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_another_thread_has_a_wish_that_no_interrupt_makes() -> None:
    seen: list[bool] = []

    def work() -> None:
        with stopped_by_interrupts() as stop:
            stop.set()
            stop.set()
            seen.append(stop.requested)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert [True] == seen
