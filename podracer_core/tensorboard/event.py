"""TensorBoard's messages, of which a run needs few, encoded as protobuf does.

The messages: tensorboard/compat/proto/event.proto and summary.proto, tensorboard/plugins/hparams/plugin_data.proto in
https://github.com/tensorflow/tensorboard; the encoding: https://protobuf.dev/programming-guides/encoding/.
"""

import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache

_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_VARINT, _BITS_64, _BYTES, _BITS_32 = 0, 1, 2, 5
"""How a field's value is written."""

HPARAMS = "hparams"
SUCCESS, FAILURE = 1, 2
"""How a session, as the plugin calls a run, ended."""

Value = str | bool | float


def first(wall_time: float) -> bytes:
    """What every file begins with."""
    return _double(1, wall_time) + _bytes(3, b"brain.Event:2")


def scalars(wall_time: float, step: int, values: Iterable[tuple[str, float]]) -> bytes:
    """Numbers by their tags, which float32 can hold."""
    summary = b"".join([_scalar_head(tag) + _FLOAT.pack(value) for tag, value in values])
    return _event(wall_time, step, summary)


@lru_cache(maxsize=1024)
def _scalar_head(tag: str) -> bytes:
    """Of a value of the summary all but its last four bytes, the number."""
    head = _bytes(1, tag.encode()) + _key(2, _BITS_32)
    return _key(1, _BYTES) + _varint(len(head) + _FLOAT.size) + head


def session_start(wall_time: float, hparams: Mapping[str, Value]) -> bytes:
    """What the run was made with, for the HPARAMS tab."""
    entries = b"".join(_bytes(1, _bytes(1, name.encode()) + _bytes(2, _any(value))) for name, value in hparams.items())
    return _of_hparams(wall_time, "session_start_info", _bytes(3, entries + _double(5, wall_time)))


def session_end(wall_time: float, status: int) -> bytes:
    return _of_hparams(wall_time, "session_end_info", _bytes(4, _integer(1, status) + _double(2, wall_time)))


def _of_hparams(wall_time: float, kind: str, data: bytes) -> bytes:
    """A summary that the plugin reads, which looks at its metadata alone."""
    plugin = _bytes(1, HPARAMS.encode()) + _bytes(2, data)
    value = _bytes(1, f"_hparams_/{kind}".encode()) + _bytes(9, _bytes(1, plugin))
    return _event(wall_time, 0, _bytes(1, value))


def _any(value: Value) -> bytes:
    """A google.protobuf.Value."""
    if isinstance(value, bool):
        return _integer(4, value)
    if isinstance(value, str):
        return _bytes(3, value.encode())
    return _double(2, value)


def _event(wall_time: float, step: int, summary: bytes) -> bytes:
    return _double(1, wall_time) + _integer(2, step) + _bytes(5, summary)


# Fields by their numbers


def _key(number: int, kind: int) -> bytes:
    return bytes([number << 3 | kind])


def _double(number: int, value: float) -> bytes:
    return _key(number, _BITS_64) + _DOUBLE.pack(value)


def _integer(number: int, value: int) -> bytes:
    return _key(number, _VARINT) + _varint(value)


def _bytes(number: int, value: bytes) -> bytes:
    return _key(number, _BYTES) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; the eighth says that more follow."""
    groups = bytearray()
    while value > 0x7F:
        groups.append(value & 0x7F | 0x80)
        value >>= 7
    groups.append(value)
    return bytes(groups)
