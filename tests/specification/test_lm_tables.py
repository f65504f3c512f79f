"""The published tables of ``lm://`` decode every captured frame, and refuse what the real code refused."""

import functools
import re
import struct

import pytest
from key_reader import Refused, read_key
from specification_reader import RELEASES, captured, column_of, holds, number, only, tables

BINARY = {"BINARY", "BINARY_BUFFER"}
FIELDS = {"command": "Commands", "code": "Codes of a reply", "format": "Formats", "dtype": "Dtypes", "location": "Locations"}


@functools.cache
def layout(release, heading):
    """Field to its place and size, as the table of a header has it for a release, and the size of the whole."""
    rows = tables("lm.md", heading)[0]
    places = {row["field"]: (column_of(row, release, "offset, "), row["size"], row["type"]) for row in rows if row["type"]}
    total = next(column_of(row, release, "offset, ") for row in rows if row["field"] == "in all")
    return {name: (int(at), int(size), kind) for name, (at, size, kind) in places.items() if at != "-"}, int(total)


@functools.cache
def names(field, release):
    """Number to name of a field in a release; the location needs no range where headers have none."""
    rows = tables("lm.md", FIELDS[field])[0]
    name = next(head for head in rows[0] if head == field)
    known = [row for row in rows if "releases" not in row or holds(row["releases"], release)]
    return {int(row["number"]): None if row[name] == "none" else row[name] for row in known}


def fields(release, heading, data):
    held, size = layout(release, heading)
    if len(data) != size:
        raise Refused(f"{len(data)} bytes")
    found = {}
    for name, (place, length, kind) in held.items():
        raw = data[place : place + length]
        found[name] = struct.unpack("<i", raw)[0] if kind == "int32" else raw
    return found


@functools.cache
def generation(release):
    return only(tables("lm.md", "Generations")[0], release)


def shape(release, found, name):
    dims = [found[f"shape{index}"] for index in range(4)]
    rule = generation(release)["dimensions of a shape"]
    while rule == "1 to 4" and name not in BINARY and len(dims) > 1 and dims[-1] == 0:
        dims.pop()
    return dims


def meaning(release, heading, data):
    """What a header says by the published tables alone."""
    found = fields(release, heading, data)
    strict = generation(release)["command or code outside the table"] == "refused"
    said = {"length": found["length"]}
    for field in set(FIELDS) & set(found):
        known = names(field, release)
        if found[field] in known:
            said[field] = known[found[field]]
        elif field in {"command", "code"} and not strict:
            said[field] = found[field]
        else:
            raise Refused(f"{field} {found[field]}")
    said["shape"] = shape(release, found, said["format"])
    if "key" in found:
        said["key"] = read_key(release, found["key"].decode().strip(), as_server=True)
    return said


def decode(release, operation, heading, vector):
    data = bytes.fromhex(vector["args"]["bytes"]["hex"])
    try:
        return meaning(release, heading, data)
    except (Refused, UnicodeDecodeError) as refusal:
        return refusal


def expected(answer, found):
    wanted = {name: value for name, value in answer.items() if name in found and name != "key"}
    return wanted | ({"key": {name: number(value) for name, value in answer["key"].items()}} if "key" in found else {})


@pytest.mark.parametrize(("operation", "heading"), [("request", "Request header"), ("reply", "Reply header")])
def test_the_published_layout_reads_every_frame_that_an_encoder_wrote(operation, heading):
    read = 0
    for release in RELEASES:
        for vector in captured(release, f"encode_{operation}"):
            if "ok" not in vector:
                continue
            data, args = bytes.fromhex(vector["ok"]["bytes"]["hex"]), vector["args"]
            found = fields(release, heading, data)
            for field in set(FIELDS) & set(found):
                assert names(field, release)[found[field]] == args[field], (release, vector["id"], field)
            assert found["length"] == args["length"]
            assert [found[f"shape{index}"] for index in range(4)] == [*args["shape"], 0, 0, 0][:4], (release, vector["id"])
            if "key" in found:
                assert found["key"].rstrip(b" ") == found["key"].strip(), (release, vector["id"])
            read += 1
    assert read > 2000


@pytest.mark.parametrize(("operation", "heading"), [("request", "Request header"), ("reply", "Reply header")])
def test_the_published_tables_read_and_refuse_what_the_real_decoder_reads_and_refuses(operation, heading):
    read = refused = 0
    for release in RELEASES:
        for vector in captured(release, f"decode_{operation}"):
            found = decode(release, operation, heading, vector)
            if "ok" in vector:
                assert not isinstance(found, Exception), (release, vector["id"], found)
                assert found == expected(vector["ok"], found), (release, vector["id"])
                read += 1
            else:
                assert isinstance(found, Exception), (release, vector["id"], vector["error"], found)
                refused += 1
    assert read > 2000
    assert refused > 200


def metadata_places(groups):
    """The fields of RemoteMetadata in their order: name, place."""
    found = []
    for row in tables("lm.md", "RemoteMetadata")[0]:
        place = row["offset, group g from 0"]
        if row["type"] and "g" not in place:
            found.append((row["field"], int(place)))
        elif row["type"]:
            first, step = map(int, re.fullmatch(r"(\d+) \+ (\d+) g", place).groups())
            found += [(f"{row['field']} {group}", first + step * group) for group in range(groups)]
    return found


def test_the_published_places_read_every_remote_metadata():
    read = 0
    for release in RELEASES:
        for vector in captured(release, "encode_metadata"):
            if "ok" not in vector:
                continue
            data, args = bytes.fromhex(vector["ok"]["bytes"]["hex"]), vector["args"]
            found = {name: struct.unpack_from("<i", data, place)[0] for name, place in metadata_places(len(args["groups"]))}
            assert found["length"] == args["length"]
            assert names("format", release)[found["format"]] == args["format"]
            for index, group in enumerate(args["groups"]):
                assert names("dtype", release)[found[f"dtype {index}"]] == group["dtype"]
                assert [found[f"shape{dim} {index}"] for dim in range(4)] == [*group["shape"], 0, 0, 0][:4]
            assert len(data) == max(place for _, place in metadata_places(len(args["groups"]))) + 4
            read += 1
    assert read > 500


def test_the_published_number_of_groups_is_what_releases_write():
    rows = tables("lm.md", "RemoteMetadata")[1]
    for release in RELEASES:
        several = [vector for vector in captured(release, "encode_metadata") if len(vector["args"]["groups"]) > 1]
        written = any("ok" in vector for vector in several)
        assert (only(rows, release)["groups"] != "1") == written, release
