"""The places that real servers gave have the shape and the length that the specification tells."""

import json
import math

import msgspec
from specification_reader import CORPUS, MP_RELEASES, tables

CHUNK = 16
"""Tokens of a chunk in the captured conversations."""


def registrations(transcript):
    """The registrations of engines that copy their chunks themselves, in a conversation."""
    for step in transcript["steps"]:
        for written in step.get("frames", ()):
            shared = isinstance(written, dict) and "frame" in written
            frame = transcript["frames"][written["frame"]] if shared else written
            if step["do"] == "send" and isinstance(frame, str) and "6e756d5f6c6179657273" in frame:
                value = msgspec.msgpack.decode(bytes.fromhex(frame))
                if isinstance(value, dict) and "hidden_dim_size" in value:
                    yield value


def slots(value):
    """Every place that a conversation names."""
    if isinstance(value, dict):
        if {"offset", "length", "shape", "dtype"} <= set(value):
            yield value
        for member in value.values():
            yield from slots(member)
    elif isinstance(value, list):
        for member in value:
            yield from slots(member)


def shape(registration):
    tokens = registration.get("num_physical_slots") or CHUNK
    sizes = [registration["num_layers"], tokens, registration["hidden_dim_size"]]
    return sizes if registration["use_mla"] else [2, *sizes]


def size(dtype):
    rows = tables("layouts.md", "Axes")[1]
    return next(int(row["bytes of an element, little-endian"]) for row in rows if dtype in row["dtypes"].split(", "))


def test_every_place_has_the_shape_of_a_registration_and_the_length_of_its_elements():
    seen = 0
    for release in MP_RELEASES:
        path = CORPUS / release / "mp" / "transcripts.jsonl"
        for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else ():
            transcript = json.loads(line)
            shapes = [shape(each) for each in registrations(transcript)]
            for slot in slots(transcript["steps"]):
                assert slot["shape"] in shapes, (release, transcript["id"], slot, shapes)
                assert slot["length"] == math.prod(slot["shape"]) * size(slot["dtype"]), (release, transcript["id"])
                seen += 1
    assert seen > 200
