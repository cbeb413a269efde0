import gc
import threading

import pytest

from refdist._core.replicas.garbage import fewer_collections


@pytest.fixture(autouse=True)
def usual_threshold():
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def test_many_replicas_raise_the_threshold_and_give_it_back():
    with fewer_collections(10_000):
        assert (400_000, 10, 10) == gc.get_threshold()
        with fewer_collections(20_000):
            assert 800_000 == gc.get_threshold()[0]
        assert 800_000 == gc.get_threshold()[0]

    assert (700, 10, 10) == gc.get_threshold()


def test_a_threshold_that_is_higher_already_is_left_alone():
    gc.set_threshold(10_000_000, 10, 10)
    with fewer_collections(300):
        assert (10_000_000, 10, 10) == gc.get_threshold()


def test_collections_that_are_off_stay_off():
    gc.set_threshold(0, 10, 10)
    with fewer_collections(10_000):
        assert (0, 10, 10) == gc.get_threshold()


def test_an_error_gives_it_back():
    with pytest.raises(KeyError), fewer_collections(10_000):
        raise KeyError

    assert (700, 10, 10) == gc.get_threshold()


def test_runs_that_overlap_in_threads_give_it_back_in_the_end():
    entered, leave = threading.Event(), threading.Event()

    def work():
        with fewer_collections(1_000):
            entered.set()
            leave.wait(timeout=60)

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait(timeout=60)
    with fewer_collections(10_000):
        leave.set()
        thread.join()

    assert (700, 10, 10) == gc.get_threshold()
