"""The protocol messages of TensorFlow's files: made of tables, so that nobody has to run the compiler of protobuf.

They have a pool of descriptors of their own, because a program may load TensorFlow or TensorBoard too.
"""

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_KINDS = {
    "bytes": _Field.TYPE_BYTES,
    "string": _Field.TYPE_STRING,
    "float": _Field.TYPE_FLOAT,
    "double": _Field.TYPE_DOUBLE,
    "int32": _Field.TYPE_INT32,
    "int64": _Field.TYPE_INT64,
    "bool": _Field.TYPE_BOOL,
}

# A line for each field: number, name, and type; "*" repeats it, "map" makes a dict of it, "|" makes it one of several choices.
_MESSAGES = {
    "BytesList": "1 value *bytes",
    "FloatList": "1 value *float",
    "Int64List": "1 value *int64",
    "Feature": "1 bytes_list |BytesList, 2 float_list |FloatList, 3 int64_list |Int64List",
    "Features": "1 feature map:Feature",
    "Example": "1 features Features",
    "FeatureList": "1 feature *Feature",
    "FeatureLists": "1 feature_list map:FeatureList",
    "SequenceExample": "1 context Features, 2 feature_lists FeatureLists",
    "TensorDim": "1 size int64",
    "TensorShapeProto": "2 dim *TensorDim, 3 unknown_rank bool",
    "TensorProto": """1 dtype int32, 2 tensor_shape TensorShapeProto, 4 tensor_content bytes, 5 float_val *float,
        6 double_val *double, 7 int_val *int32, 8 string_val *bytes, 10 int64_val *int64, 11 bool_val *bool""",
    "PluginData": "1 plugin_name string, 2 content bytes",
    "SummaryMetadata": "1 plugin_data PluginData, 2 display_name string, 3 summary_description string",
    "SummaryValue": "1 tag string, 8 tensor TensorProto, 9 metadata SummaryMetadata",
    "Summary": "1 value *SummaryValue",
    "Event": "1 wall_time double, 2 step int64, 3 file_version |string, 5 summary |Summary",
}


def _described() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name="refdist.proto", package="tensorflow", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for text in fields.split(","):
            number, field, kind = text.split()
            _describe(message, int(number), field, kind)
    return file


def _describe(message: descriptor_pb2.DescriptorProto, number: int, name: str, kind: str) -> None:
    repeated = kind.startswith(("*", "map:"))
    field = message.field.add(name=name, number=number)
    field.label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
    if kind.startswith("|"):
        if not message.oneof_decl:
            message.oneof_decl.add(name="kind" if message.name == "Feature" else "what")
        field.oneof_index = 0
    if kind.startswith("map:"):
        entry = message.nested_type.add(name=f"{name.title().replace('_', '')}Entry")
        entry.options.map_entry = True
        _describe(entry, 1, "key", "string")
        _describe(entry, 2, "value", kind.removeprefix("map:"))
        kind = f"{message.name}.{entry.name}"
    kind = kind.lstrip("*|")
    field.type = _KINDS.get(kind, _Field.TYPE_MESSAGE)
    if kind not in _KINDS:
        field.type_name = f".tensorflow.{kind}"


_POOL = descriptor_pool.DescriptorPool()
_POOL.AddSerializedFile(_described().SerializeToString())


def message(name: str) -> Any:
    """The class of a message.

    >>> message("Example").FromString(message("Example")().SerializeToString()) == message("Example")()
    True
    """
    return message_factory.GetMessageClass(_POOL.FindMessageTypeByName(f"tensorflow.{name}"))


def __getattr__(name: str) -> Any:
    if name not in _MESSAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return message(name)
