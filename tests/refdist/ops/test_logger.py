import logging

import pytest

import refdist as tf

log = tf.compat.v1.logging


@pytest.fixture(autouse=True)
def level():
    before = tf.get_logger().level
    yield
    tf.get_logger().setLevel(before)


def test_messages_go_to_the_logger_of_tensorflow(caplog):
    log.set_verbosity(log.INFO)
    for say in (log.debug, log.info, log.warn, log.error, log.fatal):
        say("%d words", 2)
    log.vlog(log.ERROR, "x")
    log.flush()

    assert (log.INFO, "tensorflow") == (log.get_verbosity(), tf.get_logger().name)
    assert ["INFO", "WARNING", "ERROR", "CRITICAL", "ERROR"] == [one.levelname for one in caplog.records]
    assert "2 words" == caplog.messages[0]


def test_lines_are_counted(caplog):
    caplog.set_level(logging.INFO, "tensorflow")
    for number in range(5):
        log.log_first_n(log.INFO, "first %d", 2, number)
        log.log_every_n(log.INFO, "every %d", 3, number)
        log.log_if(log.INFO, "if", number == 4)

    assert ["first 0", "every 0", "first 1", "every 3", "if"] == caplog.messages
