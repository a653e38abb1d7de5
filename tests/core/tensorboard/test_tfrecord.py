"""Records and their checksums, against those computed by the book."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podracer_core.tensorboard.tfrecord import crc32c, framed
from tests import event_files


@pytest.mark.parametrize(
    ("data", "total"),
    [
        (b"123456789", 0xE3069283),  # the algorithm's check value
        (bytes(32), 0x8A9136AA),  # this and the next: RFC 3720, appendix B.4
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
    ],
)
def test_the_checksum_is_that_of_the_standard(data: bytes, total: int) -> None:
    assert crc32c([data]).tolist() == [total]


@given(st.lists(st.binary(min_size=4, max_size=40), min_size=1, max_size=9))
def test_many_at_once_are_as_one_by_one(records: list[bytes]) -> None:
    assert crc32c(records).tolist() == [event_files.crc32c(record) for record in records]
    assert event_files.records(framed(records)) == records


def test_no_record_is_nothing() -> None:
    assert framed([]) == b""
