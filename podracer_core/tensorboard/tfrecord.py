"""The file that events are in: TFRecord, each record with its length and a checksum of both.

The format: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details; the checksum, CRC-32C:
RFC 3720, appendix B.4.
"""

import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Sums = npt.NDArray[np.uint32]

POLYNOMIAL = np.uint32(0x82F63B78)
MASK = np.uint32(0xA282EAD8)

SEED_BYTES = 4
"""So many first bytes the initial value of the checksum, all ones, is mixed with."""

_HEAD, _TAIL = struct.Struct("<QI"), struct.Struct("<I")


def framed(records: Sequence[bytes]) -> bytes:
    """`records`, none shorter than SEED_BYTES, as they stand in the file."""
    if not records:
        return b""
    lengths = [len(record) for record in records]
    length_sums = _masked(crc32c([length.to_bytes(8, "little") for length in lengths])).tolist()
    sums = _masked(crc32c(records)).tolist()
    parts = zip(lengths, length_sums, records, sums, strict=True)
    return b"".join(
        _HEAD.pack(length, length_sum) + record + _TAIL.pack(total) for length, length_sum, record, total in parts
    )


def crc32c(records: Sequence[bytes]) -> Sums:
    """The checksum of each of `records`, a byte of all of them at a time: one by one Python would take minutes.

    They are aligned at their ends. Zeros before a record change nothing, as its initial value is mixed into it.
    """
    width = max(map(len, records))
    starts = np.array([width - len(record) for record in records])
    data = np.frombuffer(b"".join(record.rjust(width, b"\0") for record in records), np.uint8).reshape(-1, width).copy()
    for place in range(SEED_BYTES):
        data[np.arange(len(records)), starts + place] ^= 0xFF
    sums = np.zeros(len(records), np.uint32)
    for column in np.ascontiguousarray(data.T):
        sums = _TABLE[(sums ^ column) & 0xFF] ^ (sums >> 8)
    return ~sums


def _table() -> Sums:
    """What each byte does to the checksum."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ POLYNOMIAL, table >> 1)
    return table


_TABLE = _table()


def _masked(sums: Sums) -> Sums:
    """As they are stored: the checksum of what holds checksums would be weak. It wraps around."""
    return ((sums >> np.uint32(15)) | (sums << np.uint32(17))) + MASK
