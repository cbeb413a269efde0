"""`tf.io`: files of records."""

from refdist._core.input.tfrecord import TFRecordOptions, TFRecordWriter

__all__ = ["TFRecordOptions", "TFRecordWriter"]
