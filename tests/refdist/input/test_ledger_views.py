import re

import refdist as tf


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
    assert "<p>nothing was delivered</p>" == ledger._repr_html_()


def test_the_picture_shows_keys_as_text_and_marks_empty_pieces():
    page = recorded(2, 5, 4, key=lambda sample: f"<{sample}>")._repr_html_()

    assert "&lt;4&gt;" in page
    assert "<0>" not in page
    assert 1 == page.count('class="none"')
