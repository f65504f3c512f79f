"""Capture files made of captured conversations, and what tshark with our dissector finds in them."""

import itertools
import subprocess
from collections import defaultdict
from dataclasses import dataclass

from docs.generator.links import ROOT
from reports.pcap import Event, segments, write_pcap

LM = ROOT / "docs" / "spec" / "machine" / "lmcache_lm.lua"
SEPARATOR, BETWEEN = "\x1e", "\x1f"
OURS = """
    command reply.code length format dtype location shape.dimension shape
    key key.engine key.model key.world_size key.worker_id key.chunk_hash key.dtype key.layer key.tag
    payload payload.piece unread missing request_in reply_in payload_in time hit releases fits
"""
FIELDS = ("frame.number", "tcp.stream", "tcp.srcport", "_ws.expert.message", *(f"lmcache.{name}" for name in OURS.split()))
PORT = 65432


@dataclass(frozen=True)
class Row:
    """The fields of one packet, each with all of its values."""

    values: dict

    def __getitem__(self, name):
        return self.values[name if name in self.values else f"lmcache.{name}"]

    @property
    def sender(self):
        return "server" if self["tcp.srcport"] == [str(PORT)] else "client"


def run(tshark, file, *arguments):
    """The standard output of tshark; it may complain about nothing but its user."""
    words = [tshark, "-n", "-r", str(file), "-X", f"lua_script:{LM}", *arguments]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("Running as user")]
    assert (done.returncode, complaints) == (0, []), done.stderr
    assert "Lua Error" not in done.stdout
    return done.stdout


def rows(tshark, file, *arguments, fields=FIELDS):
    """What tshark finds, packet by packet."""
    asked = [word for name in fields for word in ("-e", name)]
    separators = ["-E", f"separator={SEPARATOR}", "-E", f"aggregator={BETWEEN}"]
    shown = run(tshark, file, "-T", "fields", "-Y", "lmcache", *separators, *asked, *arguments)
    found = []
    for line in shown.split("\n")[:-1]:
        values = [value.split(BETWEEN) if value else [] for value in line.split(SEPARATOR)]
        found.append(Row(dict(zip(fields, values, strict=True))))
    return found


def told(found):
    """The values of each field by stream and side, in the order of the packets."""
    streams = defaultdict(lambda: defaultdict(list))
    for row in found:
        (stream,) = row["tcp.stream"]
        for name, values in row.values.items():
            streams[int(stream), row.sender][name.removeprefix("lmcache.")] += values
    return streams


def events(said, name, start, cut=None):
    """A conversation as events of a recording, ``cut`` into pieces or as it was sent."""
    for index, one in enumerate(said):
        size = cut or one.pieces or max(len(one.data), 1)
        for place in range(0, max(len(one.data), 1), size):
            at = start + index / 1000 + place / 1_000_000_000
            yield Event(at, (name, one.connection, cut), one.sender, one.do, one.data[place : place + size])


def capture(path, conversations, *, cuts=(None,), changed=None, **given):
    """Write conversations, by name, to a file, each in every cut; returns name, connection and cut of each stream."""
    told_events = [
        event
        for start, ((name, said), cut) in enumerate(itertools.product(conversations.items(), cuts))
        for event in events(said, name, start, cut)
    ]
    packets = list(segments(told_events))
    with path.open("wb") as file:
        write_pcap(file, changed(packets) if changed else packets, **{"port": PORT, **given})
    return list(dict.fromkeys(event.connection for event in told_events))
