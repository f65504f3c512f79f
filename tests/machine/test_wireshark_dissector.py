"""The dissector of Wireshark tells of captured conversations what is in them, however they are cut into packets."""

import struct
from collections import defaultdict

from sharks import capture, rows, told
from spoken import framed, header_size, spoken, words

from docs.generator.machine.generations import conversation_generations
from fixturegen.corpus import captured_releases, load_corpus

RELEASES = captured_releases()
REPRESENTATIVES = [[one for one in RELEASES if one in generation.releases][-1] for generation in conversation_generations()]
NEWEST = RELEASES[-1]
LARGE = "lm.server.large-value"
NUMBERS = ("length", "format", "dtype", "location")


def conversations(releases, *names):
    """Captured conversations by release and id; without names all but the largest."""
    found = {}
    for release in releases:
        for transcript in load_corpus(release).transcripts:
            if transcript.id in names or (not names and transcript.id != LARGE):
                found[release, transcript.id] = list(spoken(transcript))
    return found


def streams_of(said):
    """What each side of each connection of one conversation sent."""
    found = defaultdict(bytes)
    for one in said:
        found[one.connection, one.sender] += one.data
    return found


def unreadable(release, sender, frame):
    """Whether no header begins here: the first number is none that there is, and what else there is cannot be one, either."""
    numbers = words(release, sender, frame)
    if numbers[FIRST[sender]] in KNOWN[sender]:
        return False
    known = numbers["format"] in range(9) and numbers["dtype"] in range(9) and numbers.get("location", 0) in range(3)
    known = known and (sender == "server" or b"@" in frame[-150:])
    return abs(numbers[FIRST[sender]]) > 65535 or not known


def expected(release, sender, stream):
    """The values of the fields of one direction, by the few rules of framing, and whether it gets out of step."""
    values, size = defaultdict(list), header_size(release, sender)
    for frame, complete in framed(release, sender, stream):
        if len(frame) < size:
            return values, len(frame) >= 16 and struct.unpack_from("<i", frame)[0] not in KNOWN[sender]
        if unreadable(release, sender, frame):
            return values, True
        numbers = words(release, sender, frame)
        values[f"{FIELD[sender]}"].append(str(numbers[FIRST[sender]]))
        for name in NUMBERS:
            values[name] += [str(numbers[name])] if name in numbers else []
        values["shape.dimension"] += [str(numbers[f"shape{index}"]) for index in range(4)]
        if sender == "client":
            values["key"].append(frame[size - 150 : size].strip(b" \t\n\r\v\f").replace(b"\0", rb"\0"))
        if complete and len(frame) > size:
            values["payload"].append(frame[size:].hex())
    return values, False


FIRST = {"client": "command", "server": "code"}
FIELD = {"client": "command", "server": "reply.code"}
KNOWN = {"client": range(1, 6), "server": (200, 400)}


def same_key(sent, shown):
    """Bytes that are no text are shown as signs in their place."""
    return sent == shown or b"\xef\xbf\xbd" in shown


def differences(release, said, found, connection):
    """Fields of one connection that are not what was sent; where a direction gets out of step, up to there."""
    streams = streams_of(said)
    wrong = []
    for sender in ("client", "server"):
        values, lost = expected(release, sender, streams[connection, sender])
        got = {name: found[sender][name] for name in (*NUMBERS, FIELD[sender], "shape.dimension", "payload", "key", "unread")}
        if lost != bool(got.pop("unread")):
            wrong.append((sender, "out of step", lost))
        keys = [key.encode("utf-8", "surrogateescape") for key in got.pop("key") if sender == "client"]
        sent = [key for key in values.pop("key", []) if key]  # of an empty one tshark prints nothing
        if not (len(keys) >= len(sent) and (lost or len(keys) == len(sent)) and all(map(same_key, sent, keys))):
            wrong.append((sender, "key", sent, keys))
        for name, shown in got.items():
            if (shown[: len(values[name])] if lost else shown) != values[name]:
                wrong.append((sender, name, values[name][:8], shown[:8]))
    asked = [command for command in found["client"]["command"] if command in {"2", "3", "5"}]
    if found["server"]["command"] != asked[: len(found["server"]["reply.code"])]:
        wrong.append(("server", "command", asked, found["server"]["command"]))
    return wrong


def all_differences(tshark, path, said, *arguments, **given):
    connections = capture(path, said, **given)
    found = told(rows(tshark, path, *arguments))
    wrong = {}
    for stream, ((release, name), connection) in enumerate(connections):
        sides = {sender: found[stream, sender] for sender in ("client", "server")}
        problems = differences(release, said[release, name], sides, connection)
        if problems:
            wrong[str(release), name, connection] = problems
    return wrong


def test_every_field_of_the_conversations_of_each_generation_is_as_it_was_sent(tshark, tmp_path):
    assert all_differences(tshark, tmp_path / "all.pcap", conversations(REPRESENTATIVES)) == {}
