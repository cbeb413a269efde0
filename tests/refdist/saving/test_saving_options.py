import pytest

import refdist as tf
from refdist._core.saving.saving_options import LoadOptions, SaveOptions


def test_what_says_how_files_are_written_is_accepted_and_callbacks_are_called(tmp_path):
    called = []
    options = tf.train.CheckpointOptions(
        experimental_io_device="/job:localhost",
        enable_async=True,
        experimental_write_callbacks=[called.append, lambda: called.append("done")],
    )
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    path = checkpoint.save(str(tmp_path / "p"), options=options)
    checkpoint.restore(path, options=options).assert_consumed()
    checkpoint.read(path, options)

    assert [path, "done"] == called
    assert options.experimental_enable_async_checkpoint


@pytest.mark.parametrize(
    "made",
    [
        lambda: tf.train.CheckpointOptions(experimental_sharding_callback=object()),
        lambda: tf.train.CheckpointOptions(experimental_skip_slot_variables=True),
        lambda: SaveOptions(function_aliases={"a": 1}),
        lambda: LoadOptions(experimental_skip_checkpoint=True),
    ],
)
def test_what_would_change_the_file_is_refused(made):
    with pytest.raises(NotImplementedError, match="expected it to be left out"):
        made()


def test_options_of_another_kind_are_refused(tmp_path):
    with pytest.raises(TypeError, match="expected CheckpointOptions"):
        tf.train.Checkpoint(v=tf.Variable(1.0)).save(str(tmp_path / "p"), options=3)


def test_the_others_are_accepted():
    assert SaveOptions(save_debug_info=True, extra_tags=["x"]).save_debug_info
    assert LoadOptions(allow_partial_checkpoint=True).allow_partial_checkpoint
