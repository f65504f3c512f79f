"""Payloads that say which value they are."""

import pytest

from harness.stamped import SMALLEST, Stamp, TornError, read_stamp

ONE, OTHER = Stamp(7, 1, 3), Stamp(7, 2, 9)


@pytest.mark.parametrize("size", [SMALLEST, SMALLEST + 1, 100, 1 << 16, 300_001])
def test_a_payload_has_its_size_and_says_which_value_it_is(size):
    payload = ONE.payload(size)
    assert len(payload) == size
    assert read_stamp(payload) == ONE
    assert str(read_stamp(payload)) == "value 3 of writer 1 for key 7"


def test_there_is_a_smallest_size():
    with pytest.raises(ValueError, match="at least 24 bytes, not 23"):
        ONE.payload(SMALLEST - 1)


@pytest.mark.parametrize("position", [0, 3, 4, 12, 19, 20, 500, 995, 996, 999])
def test_every_changed_byte_is_seen(position):
    payload = bytearray(ONE.payload(1000))
    payload[position] ^= 1
    with pytest.raises(TornError):
        read_stamp(bytes(payload))


@pytest.mark.parametrize("cut", range(13, 999, 37))
def test_a_mixture_of_two_values_is_seen_wherever_the_one_ends(cut):
    with pytest.raises(TornError):
        read_stamp(ONE.payload(1000)[:cut] + OTHER.payload(1000)[cut:])


def test_a_mixture_says_what_it_is_made_of():
    with pytest.raises(
        TornError, match="begin as value 3 of writer 1 for key 7 and go on as value 9 of writer 2 for key 7 from byte 520"
    ):
        read_stamp(ONE.payload(1000)[:520] + OTHER.payload(1000)[520:])


@pytest.mark.parametrize("payload", [b"", bytes(10), bytes(1000), ONE.payload(1000)[:-1], ONE.payload(1000) + b"x"])
def test_what_is_no_whole_value_is_none(payload):
    with pytest.raises(TornError):
        read_stamp(payload)
