"""Conversations over TCP as a capture file that Wireshark opens: packets made up around bytes that were recorded elsewhere.

The file is a classic pcap with microseconds and bare IPv4 packets. Handshakes, acknowledgements and ends are made up so that each
connection is whole; sequence numbers and checksums are right. What is not known, such as real addresses and how the network cut
the stream, is not in the file.
"""

from __future__ import annotations

import array
import struct
import sys
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, Final, Literal

Sender = Literal["client", "server"]
Deed = Literal["open", "data", "half-close", "close", "reset"]

MAGIC: Final = 0xA1B2C3D4
RAW_IP: Final = 101
"""The link type of packets that begin with their IP header."""
LARGEST_SEGMENT: Final = 65483
"""Bytes of data in one packet over loopback; an IPv4 packet holds 65535 bytes with its headers."""
WHOLE: Final = 0x40000

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
_FIRST_PORT: Final = 20000
_PORTS: Final = 40000
_WRAP: Final = 2**32


@dataclass(frozen=True)
class Event:
    """Something that a side of a connection did, ``at`` seconds after the begin of the recording."""

    at: float
    connection: Hashable
    sender: Sender
    do: Deed
    data: bytes = b""


@dataclass(frozen=True)
class Segment:
    """One packet: ``seq`` and ``ack`` as they are in its header."""

    at: float
    connection: int
    sender: Sender
    flags: int
    seq: int
    ack: int
    data: bytes = b""


@dataclass
class _Side:
    next: int
    done: bool = False


@dataclass
class _Connection:
    number: int
    sides: dict[Sender, _Side] = field(default_factory=dict)


def other(sender: Sender) -> Sender:
    """The side that a sender talks to."""
    return "server" if sender == "client" else "client"


def segments(events: Iterable[Event], *, largest: int = LARGEST_SEGMENT) -> Iterator[Segment]:
    """The packets of a recording, in its order.

    A connection that begins with something else than ``open`` gets a handshake all the same. ``close`` and ``half-close`` send a
    FIN that the other side acknowledges, ``reset`` a RST; what a side does after its end is left out.
    """
    connections: dict[Hashable, _Connection] = {}
    for event in events:
        connection = connections.get(event.connection)
        if connection is None:
            connection = connections[event.connection] = _Connection(len(connections))
            yield from _handshake(connection, event.at)
        mine, theirs = connection.sides[event.sender], connection.sides[other(event.sender)]
        if event.do == "open" or mine.done:
            continue
        if event.do == "data":
            for start in range(0, len(event.data), largest):
                piece = event.data[start : start + largest]
                yield _segment(connection, event, PSH | ACK, piece)
                mine.next += len(piece)
            yield _acknowledgement(connection, event)
        elif event.do == "reset":
            yield _segment(connection, event, RST | ACK)
            mine.done = theirs.done = True
        else:
            yield _segment(connection, event, FIN | ACK)
            mine.next += 1
            mine.done = True
            yield _acknowledgement(connection, event)


def write_pcap(file: BinaryIO, packets: Iterable[Segment], *, started: float = 0.0, port: int = 65432, kept: int = WHOLE) -> int:
    """Write packets to a binary file and return how many there were.

    ``started`` are the seconds since 1970 that ``at`` counts from, ``port`` is that of the server. Of each packet no more than
    ``kept`` bytes are written, as captures do that are short of room.
    """
    file.write(struct.pack("<IHHiIII", MAGIC, 2, 4, 0, 0, kept, RAW_IP))
    count = 0
    for packet in packets:
        count += 1
        data = _packet(packet, port)
        seconds, micros = divmod(round((started + packet.at) * 1_000_000), 1_000_000)
        file.write(struct.pack("<IIII", seconds, micros, min(len(data), kept), len(data)) + data[:kept])
    return count


def _handshake(connection: _Connection, at: float) -> Iterator[Segment]:
    number = connection.number
    client, server = _Side(1000), _Side(5000)
    connection.sides = {"client": client, "server": server}
    yield Segment(at, number, "client", SYN, client.next, 0)
    client.next += 1
    yield Segment(at, number, "server", SYN | ACK, server.next, client.next)
    server.next += 1
    yield Segment(at, number, "client", ACK, client.next, server.next)


def _segment(connection: _Connection, event: Event, flags: int, data: bytes = b"") -> Segment:
    mine, theirs = connection.sides[event.sender], connection.sides[other(event.sender)]
    return Segment(event.at, connection.number, event.sender, flags, mine.next % _WRAP, theirs.next % _WRAP, data)


def _acknowledgement(connection: _Connection, event: Event) -> Segment:
    mine, theirs = connection.sides[event.sender], connection.sides[other(event.sender)]
    return Segment(event.at, connection.number, other(event.sender), ACK, theirs.next % _WRAP, mine.next % _WRAP)


def _packet(segment: Segment, port: int) -> bytes:
    block, number = divmod(segment.connection, _PORTS)
    client = struct.pack(">4B", 127, 0, block // 250 % 250, 2 + block % 250), _FIRST_PORT + number
    server = bytes((127, 0, 0, 1)), port
    source, target = (client, server) if segment.sender == "client" else (server, client)
    ports = struct.pack(">HH", source[1], target[1])
    header = ports + struct.pack(">IIBBHHH", segment.seq, segment.ack, 5 << 4, segment.flags, 0xFFFF, 0, 0)
    size = len(header) + len(segment.data)
    pseudo = source[0] + target[0] + struct.pack(">BBH", 0, 6, size)
    check = checksum(pseudo + header + segment.data)
    tcp = header[:16] + struct.pack(">H", check) + header[18:] + segment.data
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + size, 0, 0x4000, 64, 6, 0) + source[0] + target[0]
    return ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + tcp


def checksum(data: bytes) -> int:
    """The checksum of the internet: the complement of the sum of 16-bit words, carries added back."""
    words = array.array("H", data + b"\0" * (len(data) % 2))
    if sys.byteorder == "little":
        words.byteswap()
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
