"""`tf.io`: records, examples, images, and files."""

from refdist._core.input.tfrecord import TFRecordOptions, TFRecordWriter
from refdist._core.ops.late_names import late_names as _late_names

_LATE = {
    "refdist._core.files.example_parsing": """
        FixedLenFeature FixedLenSequenceFeature RaggedFeature VarLenFeature parse_example parse_single_example
    """,
    "refdist._core.files.sequence_parsing": "parse_sequence_example parse_single_sequence_example",
    "refdist._core.files.file_system": "matching_files read_file write_file",
    "refdist._core.files.images": """
        decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png encode_jpeg
        encode_png extract_jpeg_shape is_jpeg
    """,
    "refdist._core.files.tensor_bytes": "decode_base64 decode_csv decode_raw encode_base64 parse_tensor serialize_tensor",
}
__getattr__, __dir__ = _late_names("io", globals(), _LATE, "gfile")

__all__ = [
    "TFRecordOptions",
    "TFRecordWriter",
]
