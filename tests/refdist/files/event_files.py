"""What the tests of event files share."""

import pytest

import refdist as tf
from refdist._core.files import event_file, summaries
from refdist._core.files.messages import message


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    monkeypatch.setattr(event_file, "FOR_GOOD", event_file.ForGood())
    summaries._not_written.cache_clear()
    summaries._runs_in_python.cache_clear()


@pytest.fixture
def writer(tmp_path):
    made = tf.summary.create_file_writer(str(tmp_path))
    yield made
    made.close()


def events(folder):
    """The events of the one file in a folder, after the one that says its version."""
    [file] = folder.iterdir()
    found = [message("Event").FromString(record.item()) for record in tf.data.TFRecordDataset(str(file))]
    assert "brain.Event:2" == found[0].file_version
    return found[1:]


def values(folder):
    return [(event.step, event.summary.value[0].tag, array_of(event.summary.value[0])) for event in events(folder)]


def array_of(value):
    dtypes = {1: tf.float32, 2: tf.float64, 3: tf.int32, 7: tf.string}
    return tf.io.parse_tensor(value.tensor.SerializeToString(), dtypes[value.tensor.dtype]).tolist()
