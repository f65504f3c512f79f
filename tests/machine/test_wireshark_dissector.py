"""The dissector of Wireshark tells of captured conversations what is in them, however they are cut into packets."""

import re
import struct
from collections import defaultdict

import pytest
from sharks import LM, capture, events, rows, run, told
from spoken import Said, framed, header_size, spoken, words

from docs.generator.machine.generations import conversation_generations
from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.vector import raw
from reports.pcap import segments
from wire.release import Release, ReleaseRange

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
            values["key"].append(frame[size - 150 : size].strip(b" \t\n\r\v\f"))
        if complete and len(frame) > size:
            values["payload"].append(frame[size:].hex())
    return values, False


FIRST = {"client": "command", "server": "code"}
FIELD = {"client": "command", "server": "reply.code"}
KNOWN = {"client": range(1, 6), "server": (200, 400)}


def same_key(sent, shown):
    """Bytes that are no text are shown with escapes, whose backslashes Wireshark 4.4 writes twice."""
    shown = shown.replace("\\\\", "\\")
    try:
        text = sent.decode()
    except UnicodeDecodeError:
        text = sent.decode("latin-1")
        return "".join(sign if " " <= sign <= "~" else f"\\x{ord(sign):02x}" for sign in text) == shown
    return "".join(sign if sign >= " " and sign != "\x7f" else f"\\x{ord(sign):02x}" for sign in text) == shown


def differences(release, said, found, connection):
    """Fields of one connection that are not what was sent; where a direction gets out of step, up to there."""
    streams = streams_of(said)
    wrong = []
    for sender in ("client", "server"):
        values, lost = expected(release, sender, streams[connection, sender])
        got = {name: found[sender][name] for name in (*NUMBERS, FIELD[sender], "shape.dimension", "payload", "key", "unread")}
        if lost != bool(got.pop("unread")):
            wrong.append((sender, "out of step", lost))
        keys = [key for key in got.pop("key") if sender == "client"]
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


COMPARED = ["tcp.stream", "tcp.srcport"]
COMPARED += [f"lmcache.{name}" for name in (*NUMBERS, *FIELD.values(), "shape.dimension", "payload", "key", "unread")]


def all_differences(tshark, path, said, *arguments, **given):
    connections = capture(path, said, **given)
    found = told(rows(tshark, path, *arguments, fields=COMPARED))
    wrong = {}
    for stream, ((release, name), connection, cut) in enumerate(connections):
        sides = {sender: found[stream, sender] for sender in ("client", "server")}
        problems = differences(release, said[release, name], sides, connection)
        if problems:
            wrong[str(release), name, connection, cut] = problems
    return wrong


ZEROS = {("0.3.2", "lm.server.all-zeros", "a", None)}
"""182 bytes of zeros, where 186 are waited for: it is the key that tells of which size a header is."""


def test_every_field_of_the_conversations_of_each_generation_is_as_it_was_sent(tshark, tmp_path):
    assert all_differences(tshark, tmp_path / "all.pcap", conversations(REPRESENTATIVES)).keys() == ZEROS


IN_PIECES = [
    f"lm.server.{name}" for name in ("put-get", "pipelined", "pipelined-put-get", "overwrite-shorter", "empty-value", "get-miss")
]
TWO = [Release.parse("0.3.2"), NEWEST]
"""A release of each size of headers."""


@pytest.mark.parametrize("passes", [[], ["-2"]], ids=["one pass", "two passes"])
def test_the_same_is_told_however_packets_are_cut(passes, tshark, tmp_path):
    said = conversations(TWO, *IN_PIECES)
    assert all_differences(tshark, tmp_path / "cut.pcap", said, *passes, cuts=(1, 4, 31, 33, 150, 187, 1000)) == {}


def test_a_large_payload_is_put_together(tshark, tmp_path):
    said = conversations(TWO, LARGE)
    assert all_differences(tshark, tmp_path / "large.pcap", said, cuts=(1460, 65000)) == {}


def test_a_large_payload_is_shown_in_pieces_where_that_is_wanted(tshark, tmp_path):
    said = conversations([NEWEST], LARGE)
    capture(tmp_path / "large.pcap", said, cuts=(1000,))
    found = told(rows(tshark, tmp_path / "large.pcap", "-o", "lmcache.together:FALSE"))
    sent = {sender: data for (_, sender), data in streams_of(said[NEWEST, LARGE]).items()}
    for sender in ("client", "server"):
        ((frame, _), *_) = [one for one in framed(NEWEST, sender, sent[sender]) if len(one[0]) > 100_000]
        pieces = found[0, sender]["payload.piece"]
        assert len(pieces) > 1000
        assert "".join(pieces) == frame[header_size(NEWEST, sender) :].hex()


def swapped_pairs(packets):
    """Packets with data change places with the next ones of their side."""
    packets, place = list(packets), 0
    while place + 2 < len(packets):
        one, other = packets[place], packets[place + 2]
        if one.data and other.data and (one.connection, one.sender) == (other.connection, other.sender):
            packets[place], packets[place + 2] = other, one
            place += 3
        place += 1
    return packets


def sent_twice(packets):
    """Each packet with data comes a second time, two packets later."""
    found, again = [], []
    for packet in packets:
        found += [packet, *again[1:]]
        again = [packet, *again[:1]] if packet.data else []
    return found


@pytest.mark.parametrize("changed", [swapped_pairs, sent_twice])
def test_packets_out_of_order_and_packets_sent_twice_are_told_once_and_in_order(changed, tshark, tmp_path):
    said = conversations(TWO, *IN_PIECES)
    wanted = ("-o", "tcp.reassemble_out_of_order:TRUE")
    assert all_differences(tshark, tmp_path / "changed.pcap", said, *wanted, cuts=(40, 100), changed=changed) == {}


def test_behind_bytes_that_are_missing_it_goes_on_with_the_next_packet_that_begins_with_a_header(tshark, tmp_path):
    """Of a PUT, a GET and a HEALTH in a connection the packet with the GET is not in the capture."""
    said = conversations([NEWEST], "lm.server.put-get")
    capture(tmp_path / "gap.pcap", said, changed=lambda packets: [one for one in packets if one.data[:1] != b"\2"])
    found = told(rows(tshark, tmp_path / "gap.pcap"))
    assert found[0, "client"]["command"] == ["1", "5"]
    assert found[0, "client"]["missing"] == ["186"]
    assert found[0, "server"]["reply.code"] == ["200", "200"]
    assert any("may be the reply to another" in text for text in found[0, "server"]["_ws.expert.message"])


def test_a_part_of_a_payload_that_is_missing_costs_nothing_else(tshark, tmp_path):
    said = conversations([NEWEST], LARGE)
    (name,) = said
    total = len(list(segments_of(said)))

    def hole(packets):
        return [one for number, one in enumerate(packets) if not total // 4 < number < total // 4 + 20]

    capture(tmp_path / "hole.pcap", said, cuts=(1460,), changed=hole)
    found = told(rows(tshark, tmp_path / "hole.pcap"))
    whole = {sender: expected(NEWEST, sender, data)[0] for (_, sender), data in streams_of(said[name]).items()}
    for sender in ("client", "server"):
        assert found[0, sender][FIELD[sender]] == whole[sender][FIELD[sender]]
        assert found[0, sender]["unread"] == []


def segments_of(said):
    return segments([event for start, (name, one) in enumerate(said.items()) for event in events(one, name, start, 1460)])


def test_of_a_capture_with_short_packets_headers_are_told_and_payloads_passed_over(tshark, tmp_path):
    said = conversations(TWO, *IN_PIECES)
    connections = capture(tmp_path / "short.pcap", said, kept=40 + 100)
    found = told(rows(tshark, tmp_path / "short.pcap"))
    for stream, ((release, name), connection, _) in enumerate(connections):
        if "pipelined" in name:
            continue  # several requests in a packet, of which the second is cut off
        streams = streams_of(said[release, name])
        for sender in ("client", "server"):
            values, _ = expected(release, sender, streams[connection, sender])
            for field in (FIELD[sender], "length", "dtype"):
                assert found[stream, sender][field] == values[field], (release, name, field)


@pytest.mark.parametrize("release", ["0.3.2", "0.3.5", "0.5.6"])
def test_with_a_release_given_it_warns_of_each_request_that_a_server_gave_up_on(release, tshark, tmp_path):
    """Warnings that say so come where a captured server did not give all the replies that were due, and nowhere else."""
    release = Release.parse(release)
    (generation,) = [one for one in conversation_generations() if release in one.releases]
    said = conversations([release])
    connections = capture(tmp_path / "one.pcap", said)
    found = told(rows(tshark, tmp_path / "one.pcap", "-o", f"lmcache.generation:{generation.releases}"))
    wrong, ends = [], 0
    for stream, ((_, name), connection, _) in enumerate(connections):
        due, answered = replies_due(release, streams_of(said[release, name]), connection)
        warnings = "; ".join(found[stream, "client"]["_ws.expert.message"])
        ends += answered < due
        if due and bool(ENDS.search(warnings)) != (answered < due):
            wrong.append((name, connection, due, answered, warnings))
    assert wrong == []
    assert ends > 10


ENDS = re.compile("LM-SRV-007|LM-SRV-008|There is no (dtype|location)|has no format|is not UTF-8|No request begins")


def replies_due(release, streams, connection):
    """How many replies a client may expect, and how many there are."""
    due = 0
    for frame, _ in framed(release, "client", streams[connection, "client"]):
        if len(frame) >= header_size(release, "client"):
            due += words(release, "client", frame)["command"] in {2, 3, 5}
    return due, len(list(framed(release, "server", streams[connection, "server"])))


@pytest.fixture(scope="module")
def read_twice(tshark, tmp_path_factory):
    """Rows by stream and side of a conversation of each generation, read in two passes."""
    path = tmp_path_factory.mktemp("twice") / "twice.pcap"
    said = conversations(REPRESENTATIVES, "lm.server.put-get", "lm.server.get-miss")
    connections = capture(path, said)
    return connections, said, rows(tshark, path, "-2")


def test_requests_and_replies_lead_to_each_other(read_twice):
    _, _, found = read_twice
    replies = {row["frame.number"][0]: row for row in found if row["reply.code"]}
    requests = {row["frame.number"][0]: row for row in found if row["command"] and not row["reply.code"]}
    assert len(replies) > 20
    for number, row in replies.items():
        (asked,) = row["request_in"]
        assert requests[asked]["reply_in"] == [number]
        assert (requests[asked]["command"], requests[asked]["key"]) == (row["command"], row["key"])
        assert requests[asked]["tcp.stream"] == row["tcp.stream"]


def test_the_time_of_a_reply_is_that_between_the_packets(read_twice):
    """Conversations are written with a step each millisecond."""
    _, _, found = read_twice
    times = {value for row in found for value in row["time"]}
    assert times
    assert all(abs(float(value) - 0.001) < 0.00001 for value in times)


def test_hits_and_misses_are_told_apart(read_twice):
    _, _, found = read_twice
    hits = {(row["command"][0], row["reply.code"][0], *map(TRUTH.get, row["hit"])) for row in found if row["reply.code"]}
    assert hits == {("2", "200", True), ("2", "400", False), ("5", "200")}


TRUTH = {"1": True, "0": False, "True": True, "False": False}
"""Booleans as Wireshark 4.0 and 4.4 write them."""


def test_the_release_of_a_client_is_among_those_that_it_could_be(read_twice):
    connections, _, found = read_twice
    for stream, ((release, _), _, _) in enumerate(connections):
        fits = [text for row in found if row["tcp.stream"] == [str(stream)] for text in row["fits"]]
        assert fits
        for text in fits:
            assert any(release in ReleaseRange.parse(part) for part in text.split("; ")), (release, text)


def test_the_parts_of_captured_keys_are_told(tshark, tmp_path):
    """Requests that releases wrote for keys of every kind, against the parts that they were given."""
    said, given = {}, {}
    for release in REPRESENTATIVES:
        for vector in load_corpus(release).vectors["encode_request"]:
            if vector.ok is not None and vector.args["command"] != "PUT":
                said[release, vector.id] = [Said("a", "client", "data", raw(vector.answer["bytes"]))]
                given[release, vector.id] = vector.args["key"]
    connections = capture(tmp_path / "keys.pcap", said)
    found = told(rows(tshark, tmp_path / "keys.pcap"))
    assert len(connections) > 100
    for stream, (name, _, _) in enumerate(connections):
        shown, key = found[stream, "client"], given[name]
        assert "".join(shown["key.model"]) == key["model"], name
        assert (shown["key.world_size"], shown["key.worker_id"]) == ([str(key["world_size"])], [str(key["worker_id"])]), name
        assert shown["key.layer"] == ([] if key["layer"] is None else [str(key["layer"])]), name
        assert shown["key.tag"] == [f"{tag}%{value}" for tag, value in key["tags"]], name
        ((kind, value),) = key["chunk_hash"].items()
        number = kind == "int" and name[0] >= Release.parse("0.3.6")
        assert shown["key.chunk_hash"] == [f"{int(value):x}" if number else value], name


def test_what_the_summary_line_says(tshark, tmp_path):
    capture(tmp_path / "one.pcap", conversations([NEWEST], "lm.server.put-get", "lm.server.get-miss"))
    shown = run(tshark, tmp_path / "one.pcap", "-Y", "lmcache", "-T", "fields", "-e", "_ws.col.Protocol", "-e", "_ws.col.Info")
    assert shown.splitlines() == [f"LMCache\t{line}" for line in SUMMARY]


SUMMARY = [
    "PUT 64 bytes KV_2LTD uint8 [2, 1, 1, 32] put-get@1@0@1a2b3c4d@half",
    "GET put-get@1@0@1a2b3c4d@half",
    "Reply to GET: hit 64 bytes KV_2LTD uint8 [2, 1, 1, 32]",
    "HEALTH put-get@1@0@1a2b3c4d@half",
    "Reply to HEALTH: SUCCESS",
    "GET get-miss@1@0@1a2b3c4d@half",
    "Reply to GET: miss",
    "HEALTH get-miss@1@0@1a2b3c4d@half",
    "Reply to HEALTH: SUCCESS",
]


def counted(tshark, file, filters, *arguments):
    """Of each filter how many packets it finds, all told by one tshark."""
    shown = run(tshark, file, "-q", "-z", ",".join(["io,stat,0", *filters]), *arguments)
    (line,) = [one for one in shown.splitlines() if "<>" in one]
    frames = [int(one) for one in line.strip("|").split("|")[1::2]]
    return dict(zip(filters, frames, strict=True))


FOUND = {
    'lmcache.command == "GET" && lmcache.reply.code == 400': 1,
    "lmcache.request || lmcache.reply": 9,
    'lmcache.key.model == "get-miss" || lmcache.dtype == "uint8" && lmcache.payload': 4,
}


def test_filters_find_what_they_say_and_wireshark_takes_every_filter_of_the_page(tshark, tmp_path):
    page = (LM.parent / "index.md").read_text()
    table = page.partition("| filter | finds |")[2].partition("\n\n")[0]
    filters = [one for line in table.splitlines()[2:] for one in re.findall("`([^`]+)`", line.split(" | ")[0])]
    assert len(filters) > 8
    capture(tmp_path / "one.pcap", conversations([NEWEST], "lm.server.put-get", "lm.server.get-miss"))
    counts = counted(tshark, tmp_path / "one.pcap", dict.fromkeys([*FOUND, *filters]))
    assert {one: counts[one] for one in FOUND} == FOUND


PORTS = (65432, 5555, 6001, 45000)
"""Wireshark takes 6001 for another protocol, X11."""


@pytest.mark.parametrize(
    ("arguments", "told_of"),
    [
        ([], [65432]),
        (["-d", "tcp.port==6001,lmcache", "-o", "lmcache.ports:4000,5550-5560"], [5555, 6001]),
        (["-o", "lmcache.heuristic:TRUE"], [65432, 5555, 45000]),
        (["-o", "lmcache.heuristic:TRUE", "-o", "tcp.try_heuristic_first:TRUE"], PORTS),
    ],
    ids=["no ports", "a range of ports, and decode as", "all ports that are free", "all ports"],
)
def test_it_is_asked_about_ports_that_it_is_told_of(arguments, told_of, several_ports, tshark):
    """A conversation has five packets with bytes of lm://."""
    found = counted(tshark, several_ports, [f"lmcache && tcp.port == {port}" for port in PORTS], *arguments)
    assert list(found.values()) == [5 * (port in told_of) for port in PORTS]


@pytest.fixture(scope="module")
def several_ports(tmp_path_factory):
    """The same conversation with a server on each port, one behind the other in one file."""
    folder = tmp_path_factory.mktemp("ports")
    together = folder / "ports.pcap"
    for port in PORTS:
        capture(folder / "one.pcap", conversations([NEWEST], "lm.server.put-get"), port=port)
        data = (folder / "one.pcap").read_bytes()
        with together.open("ab") as file:
            file.write(data[PCAP_HEADER if file.tell() else 0 :])
    return together


PCAP_HEADER = 24
