"""Recordings as capture files, read back by the few rules of the formats."""

import io
import struct

from reports.pcap import Event, Segment, segments, write_pcap

EVENTS = [
    Event(0.5, "a", "client", "open"),
    Event(0.75, "a", "client", "data", b"question"),
    Event(1.0, "b", "client", "open"),
    Event(1.25, "a", "server", "data", b"answer!"),
    Event(1.5, "b", "client", "reset"),
    Event(1.75, "a", "client", "half-close"),
    Event(2.0, "a", "server", "data", b"and more"),
    Event(2.25, "a", "server", "close"),
]


def packets(events=EVENTS, **given):
    file = io.BytesIO()
    count = write_pcap(file, segments(events), **given)
    data = file.getvalue()
    magic, major, minor, _, _, _, link = struct.unpack_from("<IHHiIII", data)
    assert (magic, major, minor, link) == (0xA1B2C3D4, 2, 4, 101)
    found, position = [], 24
    while position < len(data):
        seconds, micros, kept, size = struct.unpack_from("<IIII", data, position)
        found.append((seconds + micros / 1e6, data[position + 16 : position + 16 + kept], size))
        position += 16 + kept
    assert count == len(found)
    return found


def tcp(packet):
    source, target, seq, ack = struct.unpack_from(">HHII", packet, 20)
    return source, target, seq, ack, packet[33], packet[40:]


def ones_complement_sum(data):
    total = sum(data[0::2]) * 256 + sum(data[1::2])
    while total > 0xFFFF:
        total = total % 0x10000 + total // 0x10000
    return total


def test_the_checksums_of_every_packet_are_right():
    for _, packet, _ in packets():
        pseudo = packet[12:20] + bytes((0, 6)) + struct.pack(">H", len(packet) - 20)
        assert ones_complement_sum(packet[:20]) == 0xFFFF
        assert ones_complement_sum(pseudo + packet[20:]) == 0xFFFF


def test_sequence_numbers_continue_and_each_byte_is_acknowledged():
    following, acknowledged = {}, {}
    for _, packet, _ in packets():
        source, target, seq, ack, flags, data = tcp(packet)
        if flags & 0x02:
            following[source, target] = seq + 1
            continue
        assert seq == following[source, target]
        following[source, target] += len(data) + (flags & 0x01)
        assert ack == following[target, source]
        acknowledged[target, source] = ack
    assert {key: following[key] for key in acknowledged} == acknowledged


def test_what_was_said_is_in_the_file_with_its_time_and_direction():
    said = [
        (at, source == 65432, data)
        for at, packet, _ in packets()
        if (found := tcp(packet))
        for source, data in [(found[0], found[5])]
        if data
    ]
    assert said == [(0.75, False, b"question"), (1.25, True, b"answer!"), (2.0, True, b"and more")]


def test_connections_have_ports_of_their_own_and_the_server_the_one_that_is_given():
    ports = {frozenset(tcp(packet)[:2]) for _, packet, _ in packets(port=5555)}
    assert len(ports) == 2
    assert all(5555 in pair for pair in ports)


def test_ends_are_told_apart():
    ends = [(tcp(packet)[0] == 65432, tcp(packet)[4] & 0x05) for _, packet, _ in packets() if tcp(packet)[4] & 0x05]
    assert ends == [(False, 0x04), (False, 0x01), (True, 0x01)]


def test_large_data_goes_into_several_packets():
    sizes = [len(tcp(packet)[5]) for _, packet, _ in packets([Event(0, 1, "client", "data", bytes(200_000))])]
    assert sum(sizes) == 200_000
    assert max(sizes) <= 65495


def test_a_short_capture_tells_how_long_its_packets_were():
    assert all(len(packet) == min(size, 44) for _, packet, size in packets(kept=44))
    assert any(size > 44 for _, _, size in packets(kept=44))


def test_nothing_is_said_after_an_end():
    late = [Event(0, 1, "client", "close"), Event(1, 1, "client", "data", b"late")]
    assert not any(isinstance(one, Segment) and one.data for one in segments(late))
