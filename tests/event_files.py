"""Reads TensorBoard's event files with protobuf's own decoder and a checksum by the book, to compare with."""

from dataclasses import dataclass, field
from functools import cache
from typing import Any

from google.protobuf import descriptor_pool, message_factory, struct_pb2
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

DOUBLE, FLOAT, INT64, INT32, STRING, MESSAGE, BYTES = 1, 2, 3, 5, 9, 11, 12

# As tensorboard/compat/proto and tensorboard/plugins/hparams/plugin_data.proto number them.
MESSAGES: dict[str, dict[str, tuple[int, int | str]]] = {
    "Event": {"wall_time": (1, DOUBLE), "step": (2, INT64), "file_version": (3, STRING), "summary": (5, "Summary")},
    "Summary": {"value": (1, "*Value")},
    "Value": {"tag": (1, STRING), "simple_value": (2, FLOAT), "metadata": (9, "Metadata")},
    "Metadata": {"plugin_data": (1, "PluginData")},
    "PluginData": {"plugin_name": (1, STRING), "content": (2, BYTES)},
    "HParams": {"version": (1, INT32), "session_start_info": (3, "Start"), "session_end_info": (4, "End")},
    "Start": {"hparams": (1, "*Entry"), "start_time_secs": (5, DOUBLE)},
    "Entry": {"key": (1, STRING), "value": (2, "google.protobuf.Value")},
    "End": {"status": (1, INT32), "end_time_secs": (2, DOUBLE)},
}


@dataclass
class Read:
    """scalars: (wall_time, step, value) by tag; status: 1 success, 2 failure, None while it runs"""

    scalars: dict[str, list[tuple[float, int, float]]] = field(default_factory=dict)
    hparams: dict[str, Any] = field(default_factory=dict)
    began: float = 0.0
    status: int | None = None
    ended: float | None = None


def read(content: bytes) -> Read:
    """What is in an event file; an AssertionError where it is damaged."""
    found = Read()
    first, *events = [_parsed("Event", record) for record in records(content)]
    assert first.file_version == "brain.Event:2"
    for event in events:
        for value in event.summary.value:
            if value.HasField("simple_value"):
                found.scalars.setdefault(value.tag, []).append((event.wall_time, event.step, value.simple_value))
            else:
                _take_hparams(found, value)
    return found


def _take_hparams(found: Read, value: Any) -> None:
    plugin = value.metadata.plugin_data
    assert plugin.plugin_name == "hparams"
    data = _parsed("HParams", plugin.content)
    if value.tag == "_hparams_/session_start_info":
        start = data.session_start_info
        found.hparams = {entry.key: getattr(entry.value, entry.value.WhichOneof("kind")) for entry in start.hparams}
        found.began = start.start_time_secs
    else:
        assert value.tag == "_hparams_/session_end_info"
        found.status, found.ended = data.session_end_info.status, data.session_end_info.end_time_secs


def records(content: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(content):
        size = int.from_bytes(content[at : at + 8], "little")
        data = content[at + 12 : at + 12 + size]
        assert int.from_bytes(content[at + 8 : at + 12], "little") == masked(content[at : at + 8])
        assert int.from_bytes(content[at + 12 + size : at + 16 + size], "little") == masked(data)
        found.append(data)
        at += 16 + size
    return found


def masked(data: bytes) -> int:
    total = crc32c(data)
    return ((total >> 15 | total << 17) + 0xA282EAD8) & 0xFFFFFFFF


def crc32c(data: bytes) -> int:
    """RFC 3720's, a bit at a time."""
    total = 0xFFFFFFFF
    for byte in data:
        total ^= byte
        for _ in range(8):
            total = total >> 1 ^ (0x82F63B78 if total & 1 else 0)
    return total ^ 0xFFFFFFFF


def _parsed(name: str, data: bytes) -> Any:
    message = _classes()[name]()
    message.ParseFromString(data)
    return message


@cache
def _classes() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    file = FileDescriptorProto(name="events.proto", syntax="proto2", dependency=[struct_pb2.DESCRIPTOR.name])
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for key, (number, kind) in fields.items():
            one = message.field.add(name=key, number=number, label=FieldDescriptorProto.LABEL_OPTIONAL)
            if isinstance(kind, int):
                one.type = kind  # type: ignore[assignment]
                continue
            one.type, one.type_name = FieldDescriptorProto.TYPE_MESSAGE, f".{kind.lstrip('*')}"
            if kind.startswith("*"):
                one.label = FieldDescriptorProto.LABEL_REPEATED
    pool.Add(file)
    return {name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in MESSAGES}
