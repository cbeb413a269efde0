import gc
import signal
import threading
import time

import pytest

from refdist._core.saving.termination_notices import AskedNotice, SignalNotice


@pytest.fixture
def come():
    """What a handler of the test has got: it takes what would end the test."""
    signals = []
    before = signal.signal(signal.SIGTERM, own := lambda number, frame: signals.append(number))
    signals.append(own)
    yield signals
    gc.collect()
    signal.signal(signal.SIGTERM, before)


def test_every_notice_notes_the_first_signal_until_it_is_closed(come, monkeypatch):
    first, second = SignalNotice(), SignalNotice()
    assert (None, None) == (first.received(), second.received())
    for now in (5.0, 6.0):
        monkeypatch.setattr(time, "time", lambda now=now: now)
        signal.raise_signal(signal.SIGTERM)
    assert (5.0, 5.0) == (first.received(), second.received())
    first.close()
    third = SignalNotice()
    signal.raise_signal(signal.SIGTERM)
    assert 6.0 == third.received()
    second.close()
    assert come[0] is not signal.getsignal(signal.SIGTERM)
    third.close()

    assert come == [signal.getsignal(signal.SIGTERM)]
    signal.raise_signal(signal.SIGTERM)
    assert come[1:] == [signal.SIGTERM]


def test_one_that_is_forgotten_watches_no_longer_wherever_that_happens(come):
    notices = [SignalNotice()]
    notices.clear()
    assert come[0] is signal.getsignal(signal.SIGTERM)

    notices = [SignalNotice()]
    thread = threading.Thread(target=notices.clear)
    thread.start()
    thread.join()
    assert come[0] is not signal.getsignal(signal.SIGTERM), "only the main thread can set a handler"
    signal.raise_signal(signal.SIGTERM)
    assert come[1:] == [signal.SIGTERM], "and it has passed the signal on"
    assert come[0] is signal.getsignal(signal.SIGTERM)


def test_a_handler_that_was_set_later_stays(come):
    notice = SignalNotice()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    notice.close()

    assert signal.SIG_IGN == signal.getsignal(signal.SIGTERM)


def test_a_function_is_asked_until_it_says_yes_and_the_notice_counts_from_the_time_before(monkeypatch):
    answers = [False, None, True]
    monkeypatch.setattr(time, "time", lambda: 10.0 - len(answers))
    notice = AskedNotice(lambda: answers.pop(0))
    received = [notice.received() for _ in range(4)]
    notice.close()

    assert [None, None, 8.0, 8.0] == received
