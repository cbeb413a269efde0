import re

import refdist as tf
from tests.markup import cells, parsed


def recorded(gpus, samples, batch, key=int):
    with tf.using("simulator", gpus=gpus), tf.simulator.ledger(key=key) as ledger:
        strategy = tf.distribute.MirroredStrategy()
        for _ in strategy.experimental_distribute_dataset(tf.data.Dataset.range(samples).batch(batch)):
            pass
    return ledger


def test_the_table_keeps_to_80_columns_and_names_every_replica():
    text = recorded(16, 512, 256).table()

    assert max(map(len, text.splitlines())) <= 80
    assert {f"replica {index}" for index in range(16)} == set(re.findall(r"replica \d+", text))


def test_long_loops_are_cut():
    text = recorded(2, 100, 2).table()

    assert "10 more steps" in text
    assert text.count("\n") < 50


def test_without_a_key_the_table_counts():
    assert "2 samples" in recorded(2, 4, 4, key=None).table()


def test_nothing_is_said_in_words():
    with tf.simulator.ledger() as ledger:
        pass

    assert "nothing was delivered" == ledger.table()
    assert ["nothing was delivered"] == [one.text for one in parsed(ledger).iter("p")]


def test_the_picture_shows_keys_as_text_and_marks_empty_pieces():
    page = parsed(recorded(2, 5, 4, key=lambda sample: f"<{sample}>"))

    assert [["0", "<0> <1>", "<2> <3>"], ["1", "<4>", "nothing"]] == cells(page)
    assert ["nothing"] == [one.text for one in page.iter("td") if one.get("class") == "none"]
