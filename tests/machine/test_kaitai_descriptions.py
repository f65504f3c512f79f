"""The Kaitai Struct descriptions read every captured frame of every release, and say what the captures say."""

import struct
from io import BytesIO

import pytest
from kaitai import LANGUAGES, classes, described
from kaitaistruct import KaitaiStream, KaitaiStructError
from spoken import framed, halves, header_size, words

from docs.generator.machine.generations import generation_of, generations
from docs.generator.machine.kaitai import identifier, name_of_file
from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.vector import raw

RELEASES = captured_releases()
NOT_READ = (KaitaiStructError, EOFError, UnicodeDecodeError)
KEY_NUMBERS = {"lm.request.decode.key-nul-padded"}
"""Requests that are wrong only in a number inside of the key, which descriptions leave as text."""
WHITE_SPACE = {"lm.request.decode.key-leading-space", "lm.request.decode.key-trailing-newline"}
"""Requests with white space around the key that no encoder writes: lmcache takes all of it off, a description spaces behind."""


def read(kind, data, *params):
    """The frame, and how many bytes it took."""
    stream = KaitaiStream(BytesIO(data))
    return kind(*params, stream), stream.pos()


def whole(kind, data, *params):
    """The frame, or None where it is refused or is not all of the bytes."""
    try:
        found, size = read(kind, data, *params)
    except NOT_READ:
        return None
    return found if size == len(data) else None


def about(frame):
    """What a frame says of its payload, in the words of the corpus."""
    location = getattr(frame, "location", None)
    return {
        "length": frame.length,
        "format": frame.format.name,
        "dtype": captured_dtype(frame.dtype.name),
        "shape": frame.shape[: frame.rank],
        "location": None if location is None else location.name,
    }


def captured_dtype(name):
    return {"half": "float16", "none": None}.get(name, name)


def captured_about(value, *, padded):
    shape = value["shape"] + [0] * (4 - len(value["shape"])) if padded else value["shape"]
    location = None if value["location"] is None else identifier(value["location"])
    return {
        "length": value["length"],
        "format": value["format"].lower(),
        "dtype": value["dtype"],
        "shape": shape,
        "location": location,
    }


def without_nothing(told):
    """Location none and no location are one thing to a capture."""
    return {**told, "location": None if told["location"] == "none" else told["location"]}


def key_parts(key):
    """The parts of a key, joined as they were."""
    fixed = [
        getattr(key, name) for name in ("engine", "model", "world_size", "worker_id", "chunk_hash", "dtype") if hasattr(key, name)
    ]
    behind = ["@" + one.text.name + one.text.percent + one.text.value for one in getattr(key, "suffixes", [])]
    return "@".join(fixed) + "".join(behind)


def captured_key(value):
    """What of a captured key stands in every generation as it was given, or as a number."""
    return value["model"], value["world_size"], value["worker_id"], value["layer"], [list(tag) for tag in value["tags"]]


def told_key(key):
    behind = [one.text for one in getattr(key, "suffixes", [])]
    layers = [int(one.name) for one in behind if not one.is_tag]
    tags = [[one.name, one.value] for one in behind if one.is_tag]
    return key.model, int(key.world_size), int(key.worker_id), (layers or [None])[0], tags


def differing_frames(release, parser):
    """Ids of captured frames that the parser reads otherwise than the release wrote or read them, or takes another size of."""
    corpus = load_corpus(release).vectors
    wrong = []
    for vector in corpus["encode_request"]:
        if vector.ok is not None:
            data = raw(vector.answer["bytes"])
            frame = whole_header(parser, data)
            good = frame is not None and frame.command.name == vector.args["command"].lower()
            good = good and without_nothing({**about(frame), "shape": frame.shape}) == captured_about(vector.args, padded=True)
            good = good and told_key(frame.key)[:4] == captured_key(vector.args["key"])[:4]
            good = good and key_parts(frame.key).encode() == data[-150:].rstrip(b" ")
            wrong += [] if good else [vector.id]
    for vector in corpus["encode_reply"]:
        if vector.ok is not None:
            frame = whole_header(parser, raw(vector.answer["bytes"]), reply=True)
            good = frame is not None and frame.code.name == vector.args["code"].lower()
            good = good and without_nothing({**about(frame), "shape": frame.shape}) == captured_about(vector.args, padded=True)
            wrong += [] if good else [vector.id]
    for op, reply in (("decode_request", False), ("decode_reply", True)):
        for vector in corpus[op]:
            frame = whole_header(parser, raw(vector.args["bytes"]), reply=reply)
            if vector.id in WHITE_SPACE:
                good = vector.ok is not None
            elif vector.ok is None or frame is None:
                good = (vector.ok is None) == (frame is None) or (vector.ok is None and vector.id in KEY_NUMBERS)
            else:
                first = frame.code if reply else frame.command
                named = vector.answer["code" if reply else "command"]
                # Before 0.3.6 any number passes, and comes back as itself.
                good = (first == named) if isinstance(named, int) else first.name == named.lower()
                good = good and without_nothing(about(frame)) == captured_about(vector.answer, padded=False)
                good = good and (reply or told_key(frame.key)[:4] == captured_key(vector.answer["key"])[:4])
            wrong += [] if good else [vector.id]
    return wrong


def whole_header(parser, data, *, reply=False):
    """A header by itself: payload that it promises is made up."""
    kind = parser.Reply if reply else parser.Request
    first, length = struct.unpack_from("<2i", data.ljust(8, b"\0"))
    promised = bytes(length) if 0 < length < 2**24 and first == (200 if reply else 1) else b""
    if length >= 2**24:
        data = data[:4] + bytes(4) + data[8:]
        frame = whole(kind, data)
        if frame is not None:
            frame.length = length
        return frame
    return whole(kind, data + promised)


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_captured_frames_are_read_field_by_field(release, parsers):
    assert differing_frames(release, parsers[generation_of(release).slug]) == []


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_captured_metadata_is_read_field_by_field(release, parsers):
    parser = parsers[generation_of(release).slug].RemoteMetadata
    corpus = load_corpus(release).vectors
    for vector in corpus["encode_metadata"]:
        if vector.ok is not None:
            data = raw(vector.answer["bytes"])
            told = metadata(parser, data, len(vector.args["groups"]))
            assert told is not None, vector.id
            shapes = [{**group, "shape": group["shape"] + [0] * (4 - len(group["shape"]))} for group in vector.args["groups"]]
            assert told[0] == (vector.args["length"], vector.args["format"].lower(), shapes), vector.id
            assert told[2] == len(data), vector.id
    for vector in corpus["decode_metadata"]:
        told = metadata(parser, raw(vector.args["bytes"]), vector.args["groups"])
        assert (told is None) == (vector.ok is None), vector.id
        if told is not None:
            assert told[1] == (vector.answer["length"], vector.answer["format"].lower(), vector.answer["groups"]), vector.id


def metadata(parser, data, groups):
    """Length, format and groups with all four dimensions, the same with those that count, and the bytes that were taken."""
    several = "num_groups" in parser.__init__.__code__.co_varnames
    if groups != 1 and not several:
        return None
    try:
        found, size = read(parser, data, *([groups] if several else []))
    except NOT_READ:
        return None
    parts = found.groups if several else [found.group]
    padded = [{"dtype": captured_dtype(one.dtype.name), "shape": one.shape} for one in parts]
    counted = [{"dtype": captured_dtype(one.dtype.name), "shape": one.shape[: one.rank]} for one in parts]
    return (found.length, found.format.name, padded), (found.length, found.format.name, counted), size


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_each_direction_of_a_captured_conversation_is_read_as_a_whole(release, parsers):
    parser = parsers[generation_of(release).slug]
    streams = refused = 0
    for transcript in load_corpus(release).transcripts:
        found, closed = halves(transcript)
        for (connection, sender), stream in found.items():
            kind = parser.Request if sender == "client" else parser.Reply
            frames = list(framed(release, sender, stream))
            alone = [whole(kind, frame) for frame, _ in frames]
            for (frame, complete), one in zip(frames, alone, strict=True):
                assert one is None or complete, transcript.id
                if complete and one is None:
                    refused += 1
                    assert connection in closed, f"{transcript.id}: the server did not mind this request"
                elif one is not None:
                    assert_equal_words(release, sender, frame, one)
            root = whole(parser, stream)
            assert (root is not None) == all(one is not None for one in alone), transcript.id
            if root is not None:
                together = root.requests if sender == "client" else root.replies
                assert [bytes_of(release, sender, one) for one in together] == [frame for frame, _ in frames], transcript.id
                streams += 1
    assert streams > 150
    assert refused > 0


def assert_equal_words(release, sender, frame, one):
    expected = words(release, sender, frame)
    told = {name: int(getattr(one, name)) for name in expected if not name.startswith("shape")}
    told |= {f"shape{index}": number for index, number in enumerate(one.shape)}
    assert told == expected
    size = header_size(release, sender)
    assert (getattr(one, "payload", None) or b"") == frame[size:]
    if sender == "client":
        assert key_parts(one.key).encode() == frame[size - 150 : size].rstrip(b" ")


def bytes_of(release, sender, one):
    """The bytes of a frame, from what was read."""
    order = words(release, sender, bytes(36))
    numbers = [one.shape[int(name[5:])] if name.startswith("shape") else int(getattr(one, name)) for name in order]
    key = key_parts(one.key).encode().ljust(150) if sender == "client" else b""
    return struct.pack(f"<{len(numbers)}i", *numbers) + key + (getattr(one, "payload", None) or b"")


def test_parsers_in_javascript_read_the_same(compiler, compiled, tmp_path):
    for name, text in compiled.items():
        if name.endswith(".js"):
            (tmp_path / name).write_text(text)
    frames, expected = [], []
    for release in RELEASES:
        name = "LmcacheLm" + "".join(word.capitalize() for word in generation_of(release).slug.split("_"))
        for transcript in load_corpus(release).transcripts[:12]:
            for (_, sender), stream in halves(transcript)[0].items():
                for frame, complete in framed(release, sender, stream):
                    if complete and len(frame) < 5000:
                        frames.append({"parser": name, "type": "Request" if sender == "client" else "Reply", "hex": frame.hex()})
                        expected.append((sender, release, frame))
    told = compiler.read_in_javascript(tmp_path, frames)
    assert len(told) > 500
    for (sender, release, frame), one in zip(expected, told, strict=True):
        numbers = words(release, sender, frame)
        location = numbers.pop("location", None)
        size = header_size(release, sender)
        assert (one["numbers"], one["location"]) == (list(numbers.values()), location)
        assert (one["payload"] or "") == frame[size:].hex()
        if sender == "client":
            key = frame[size - 150 : size].rstrip().decode().split("@")
            assert "@".join(one["key"]) in "@".join(key)


def test_the_newest_description_compiles_to_every_language(compiler, descriptions):
    files = compiler.files([descriptions[generations()[-1].slug]], *LANGUAGES)
    assert len(files) >= len(LANGUAGES)


def swapped(sequence, left, right):
    """Two members of a sequence change their places."""
    names = [one["id"] for one in sequence]
    i, j = names.index(left), names.index(right)
    sequence[i], sequence[j] = sequence[j], sequence[i]


DEFECTS = {
    "two fields in the other order": lambda one: swapped(one["types"]["request"]["seq"], "format", "dtype"),
    "location of a request at its end": lambda one: swapped(one["types"]["request"]["seq"], "location", "shape"),
    "location of a reply before its shape": lambda one: swapped(one["types"]["reply"]["seq"], "location", "shape"),
    "big-endian": lambda one: one["meta"].update(endian="be"),
    "a shorter key": lambda one: one["types"]["request"]["seq"][-2].update(size=146),
    "zeros around the key": lambda one: one["types"]["request"]["seq"][-2].update({"pad-right": 0}),
    "the payload of a GET": lambda one: one["types"]["request"]["seq"][-1].update({"if": "command == command::get"}),
    "a format too many": lambda one: one["enums"]["format"].update({9: "later"}),
    "float16 with the number of bfloat16": lambda one: one["enums"]["dtype"].update({2: "bfloat16", 3: "float16"}),
    "padding that counts": lambda one: one["types"]["reply"]["instances"]["rank"].update(value=4),
    "parts of a key in the other order": lambda one: swapped(one["types"]["key"]["seq"], "world_size", "worker_id"),
}


@pytest.fixture(scope="module")
def defective(compiler, descriptions):
    """Parsers of the newest generation with a defect each."""
    changed = {}
    for number, (defect, change) in enumerate(DEFECTS.items()):
        one = changed[defect] = described(descriptions[generations()[-1].slug])
        one["meta"]["id"] = f"lmcache_lm_{number}"
        change(one)
    parsers = classes(compiler.files(changed.values(), "python"))
    return {defect: parsers[one["meta"]["id"]] for defect, one in changed.items()}


@pytest.mark.parametrize("defect", DEFECTS)
def test_a_changed_description_is_noticed(defect, defective):
    assert differing_frames(RELEASES[-1], defective[defect])


def test_each_description_says_which_releases_it_is_for():
    names = [name_of_file(one) for one in generations()]
    assert len(set(names)) == len(names)
    for release in RELEASES:
        assert sum(release in one.releases for one in generations()) == 1
