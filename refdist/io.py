"""`tf.io`: files of records."""

from refdist.records import TFRecordOptions, TFRecordWriter

__all__ = ["TFRecordOptions", "TFRecordWriter"]
