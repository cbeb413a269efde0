"""`tf.io`: records, examples, images, and files."""

from refdist._core.files.example_parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    VarLenFeature,
    parse_example,
    parse_single_example,
    parse_single_sequence_example,
)
from refdist._core.files.file_system import matching_files, read_file, write_file
from refdist._core.files.images import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    encode_jpeg,
    encode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from refdist._core.files.tensor_bytes import (
    decode_base64,
    decode_csv,
    decode_raw,
    encode_base64,
    parse_tensor,
    serialize_tensor,
)
from refdist._core.input.tfrecord import TFRecordOptions, TFRecordWriter
from refdist._core.ops.missing_names import lacking as _lacking
from refdist.io import gfile

__getattr__ = _lacking("io")

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "decode_raw",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "matching_files",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_tensor",
    "write_file",
]
