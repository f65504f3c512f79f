"""Conversations that are held with the real server: the normal ones, and every malformed input we could think of.

A scenario is a script of bytes. Nothing in it says what is right: the recording does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from fixturegen.inputs import keys as key_questions
from fixturegen.inputs.identities import DIGEST, ENGINE
from fixturegen.vector import Step, StepKind, Transcript, patterned
from wire.keys import KEY_GRAMMARS
from wire.lm.enums import DTYPES, FORMATS, LOCATIONS
from wire.lm.frames import Description, Request, encode_request, replace_field
from wire.lm.profile import KEY_FIELD_SIZE, LmProfile, lm_profile
from wire.release import Release

PREFIX = "lm.server."


class Script:
    """Writes the steps of one scenario; every key that it makes is its own."""

    def __init__(self, release: Release, name: str, title: str) -> None:
        self.release = release
        self.profile: LmProfile = lm_profile(release)
        self.name = name
        self.title = title
        self.steps: list[Step] = []
        self._add("connect", "a")

    def finished(self) -> Transcript:
        """The script."""
        return Transcript(PREFIX + self.name, self.title, self.steps)

    def key(self, **parts: str) -> str:
        """A key string of this scenario; parts: world, worker, digest, dtype, fmt, suffix."""
        grammar = KEY_GRAMMARS[self.release]
        digest = parts.get("digest", DIGEST if grammar.hash_style == "text" else "1a2b3c4d")
        if grammar.hash_style == "decimal" and "digest" not in parts:
            digest = "439041101"
        made = [parts.get("model", self.name), parts.get("world", "1"), parts.get("worker", "0"), digest]
        if grammar.prefix:
            made.insert(0, parts.get("fmt", ENGINE))
        if grammar.dtype_names is not None:
            made.append(parts.get("dtype", "half"))
        return "@".join(made) + parts.get("suffix", "")

    def header(self, command: str, key: str | None = None, about: Description | None = None) -> bytes:
        """A well-formed request header."""
        described = about or Description(0, "KV_2LTD", "float16", (0, 0, 0, 0))
        return encode_request(self.profile, Request(command, key if key is not None else self.key(), described))

    def patched(self, header: bytes, **fields: int) -> bytes:
        """A header with integer fields overwritten."""
        for name, value in fields.items():
            header = replace_field(self.profile.header.request, header, name, value)
        return header

    def raw_key(self, header: bytes, key: bytes) -> bytes:
        """A header whose key field holds these bytes, padded with spaces."""
        return header[:-KEY_FIELD_SIZE] + key.ljust(KEY_FIELD_SIZE)

    def connect(self, connection: str) -> Script:
        """Open a further connection."""
        return self._add("connect", connection)

    def send(self, data: bytes, connection: str = "a", pieces: int | None = None) -> Script:
        """Send bytes, in one go or in pieces of so many bytes."""
        values: dict[str, Any] = {"bytes": data.hex()}
        if pieces is not None:
            values["pieces"] = pieces
        return self._add("send", connection, **values)

    def send_pattern(self, seed: int, length: int, connection: str = "a") -> Script:
        """Send a large payload by its recipe."""
        return self._add("send", connection, pattern={"seed": seed, "length": length})

    def reply(self, body: int = 0, connection: str = "a", replies: int = 1) -> Script:
        """Wait for reply headers and so many further bytes."""
        return self._add("receive", connection, want=self.profile.header.reply_size * replies + body)

    def silence(self, connection: str = "a") -> Script:
        """Wait for nothing to come."""
        return self._add("receive", connection, want=0)

    def end(self, connection: str = "a") -> Script:
        """Wait for the server to close."""
        return self._add("receive", connection, want=None)

    def half_close(self, connection: str = "a") -> Script:
        """Send no more, keep listening."""
        return self._add("half-close", connection)

    def reset(self, connection: str = "a") -> Script:
        """End a connection with a reset."""
        return self._add("reset", connection)

    def put(self, payload: bytes, key: str | None = None, about: Description | None = None, connection: str = "a") -> Script:
        """A whole PUT."""
        described = about or Description(len(payload), "KV_2LTD", "uint8", (2, 1, 1, len(payload) // 2))
        return self.send(self.header("PUT", key, described) + payload, connection)

    def get(self, body: int | None, key: str | None = None, connection: str = "a") -> Script:
        """A GET; ``body`` bytes are hoped for, None hopes for a miss."""
        return self.send(self.header("GET", key), connection).reply(body or 0, connection)

    def exist(self, key: str | None = None, connection: str = "a") -> Script:
        """An EXIST and its answer."""
        return self.send(self.header("EXIST", key), connection).reply(connection=connection)

    def health(self, connection: str = "a") -> Script:
        """A HEALTH and its answer: proof that the connection is in step."""
        return self.send(self.header("HEALTH"), connection).reply(connection=connection)

    def _add(self, do: StepKind, connection: str, **values: Any) -> Script:
        self.steps.append(Step(do, connection, values))
        return self


PAYLOAD = patterned(1, 64)
OTHER = patterned(2, 96)
ABOUT = Description(len(PAYLOAD), "KV_2LTD", "uint8", (2, 1, 1, 32))

Scenario = Callable[[Script], object]


def scenarios(release: Release) -> list[Transcript]:
    """Every script for a release."""
    found = []
    for name, title, build in _all(release):
        script = Script(release, name, title)
        build(script)
        found.append(script.finished())
    return found


def _all(release: Release) -> Iterator[tuple[str, str, Scenario]]:
    yield from _conversation()
    yield from _delivery()
    yield from _echoes(release)
    yield from _broken_payloads()
    yield from _bad_numbers(release)
    yield from _bad_keys()
    yield from _spellings(release)


def _conversation() -> Iterator[tuple[str, str, Scenario]]:
    yield "put-get", "What was stored comes back.", lambda s: s.put(PAYLOAD).get(64).health()
    yield "put-silent", "A PUT has no reply.", lambda s: s.put(PAYLOAD).silence().exist()
    yield "get-miss", "A GET of an unknown key is one header with code 400.", lambda s: s.get(None).health()
    yield "exist-hit", "EXIST of a stored key succeeds.", lambda s: s.put(PAYLOAD).exist().health()
    yield "exist-miss", "EXIST of an unknown key fails.", lambda s: s.exist().health()
    yield "health", "HEALTH succeeds.", lambda s: s.health().health()
    yield (
        "list-silent",
        "LIST is never answered; the connection stays usable.",
        lambda s: s.send(s.header("LIST")).silence().health(),
    )
    yield "overwrite", "A second PUT replaces the value.", lambda s: s.put(PAYLOAD).put(OTHER).get(96).exist()
    yield "overwrite-shorter", "A shorter value leaves nothing of the longer one.", lambda s: s.put(OTHER).put(PAYLOAD).get(64)
    yield (
        "empty-value",
        "A value of no bytes exists, and its GET is one header.",
        lambda s: s.put(b"", about=Description(0, "BINARY", "uint8", (0, 0, 0, 0))).exist().get(0).health(),
    )
    yield (
        "large-value",
        "A value of 1 MiB comes back whole.",
        lambda s: (
            s.send(s.header("PUT", about=Description(1 << 20, "BINARY", "uint8", (1 << 20, 0, 0, 0))))
            .send_pattern(3, 1 << 20)
            .get(1 << 20)
            .health()
        ),
    )
    yield (
        "two-connections",
        "Connections share one store.",
        lambda s: s.connect("b").put(PAYLOAD).exist().get(64, connection="b").get(64),
    )
    yield (
        "value-outlives-connection",
        "A value stays when the connection that stored it is gone.",
        lambda s: s.put(PAYLOAD).exist().half_close().end().connect("b").get(64, connection="b"),
    )
    yield (
        "get-length-ignored",
        "The length of a GET header means nothing.",
        lambda s: s.put(PAYLOAD).send(s.patched(s.header("GET"), length=5)).reply(64).health(),
    )
    yield (
        "get-description-ignored",
        "Format, dtype and shape of a GET header select nothing.",
        lambda s: s.put(PAYLOAD).send(s.header("GET", about=Description(1, "BINARY", None, (9, 9, 9, 9)))).reply(64).health(),
    )
    yield (
        "header-dtype-not-in-key",
        "The dtype of the header is not part of the key.",
        lambda s: s.put(PAYLOAD, about=replace(ABOUT, dtype="float32")).exist().get(64),
    )


def _delivery() -> Iterator[tuple[str, str, Scenario]]:
    yield (
        "pipelined",
        "Requests sent together are answered in order.",
        lambda s: s.put(PAYLOAD).send(s.header("EXIST") + s.header("GET") + s.header("HEALTH")).reply(64, replies=3),
    )
    yield (
        "pipelined-put-get",
        "PUT, GET, PUT and GET in one send.",
        lambda s: s.send(s.header("PUT", about=ABOUT) + PAYLOAD + s.header("GET")).reply(64).health(),
    )
    yield (
        "byte-by-byte-get",
        "A request header that arrives byte by byte is one request.",
        lambda s: s.put(PAYLOAD).send(s.header("GET"), pieces=1).reply(64),
    )
    yield (
        "byte-by-byte-put",
        "A PUT that arrives byte by byte is one PUT.",
        lambda s: s.send(s.header("PUT", about=ABOUT) + PAYLOAD, pieces=1).get(64),
    )
    yield (
        "split-inside-fields",
        "Pieces of 7 bytes cut every field.",
        lambda s: s.send(s.header("PUT", about=ABOUT) + PAYLOAD + s.header("GET"), pieces=7).reply(64),
    )
    yield (
        "half-header-waits",
        "Half a header is waited on, then completed.",
        lambda s: s.send(s.header("HEALTH")[:90]).silence().send(s.header("HEALTH")[90:]).reply(),
    )
    yield "half-close-after-request", "A client that sends no more still gets its reply.", lambda s: s.health().half_close().end()
    yield (
        "half-close-before-reply",
        "The reply comes although the client closed its side already.",
        lambda s: s.put(PAYLOAD).send(s.header("GET")).half_close().end(),
    )
    yield "half-close-at-once", "A connection without a request ends.", lambda s: s.half_close().end()
    yield (
        "cut-header",
        "Half a header and no more: the connection ends.",
        lambda s: s.send(s.header("GET")[:90]).half_close().end(),
    )
    yield (
        "cut-header-last-byte",
        "A header that lacks its last byte is none.",
        lambda s: s.send(s.header("GET")[:-1]).half_close().end(),
    )
    yield (
        "other-protocol",
        "A short request of another protocol is half a header.",
        lambda s: s.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").silence().half_close().end(),
    )


def _echoes(release: Release) -> Iterator[tuple[str, str, Scenario]]:
    profile = lm_profile(release)

    def echo(about: Description) -> Scenario:
        return lambda s: s.put(PAYLOAD, about=replace(about, length=len(PAYLOAD))).get(64).health()

    for dtype in DTYPES:
        name = f"echo-dtype-{str(dtype).lower().replace('_', '-')}"
        yield name, f"A stored dtype {dtype} is echoed.", echo(replace(ABOUT, dtype=dtype))
    yield (
        "echo-dtype-half",
        "A stored dtype 1 is echoed as 2.",
        lambda s: s.send(s.patched(s.header("PUT", about=ABOUT), dtype=1) + PAYLOAD).get(64),
    )
    for format_name, number in FORMATS.items():
        if number <= profile.highest_format:
            name = f"echo-format-{format_name.lower().replace('_', '-')}"
            yield name, f"A stored format {format_name} is echoed.", echo(replace(ABOUT, format=format_name))
    for name, shape in {
        "zeros": (0, 0, 0, 0),
        "trailing-zeros": (64, 0, 0, 0),
        "inner-zero": (2, 0, 32, 0),
        "extremes": (2147483647, -1, -2147483648, 0),
    }.items():
        yield f"echo-shape-{name}", f"The shape {shape} is echoed unchecked.", echo(replace(ABOUT, shape=shape))
        binary = replace(ABOUT, format="BINARY", shape=shape)
        yield f"echo-binary-shape-{name}", f"The shape {shape} of a BINARY value is echoed unchecked.", echo(binary)
    if profile.has_location:
        for location in LOCATIONS:
            name = f"location-{str(location).lower()}"
            yield name, f"A value stored for {location} comes back with location 0.", echo(replace(ABOUT, location=location))


def _broken_payloads() -> Iterator[tuple[str, str, Scenario]]:
    cut = replace(ABOUT, length=1000)
    yield (
        "cut-payload",
        "A PUT whose payload is cut off: the key exists, its GET ends before the promised bytes.",
        lambda s: s.put(PAYLOAD, about=cut).half_close().end().connect("b").exist(connection="b")
        .send(s.header("GET"), "b").end("b").connect("c").health("c"),
    )  # fmt: skip
    yield (
        "cut-payload-over-good",
        "A cut PUT spoils the good value that was there.",
        lambda s: s.put(PAYLOAD).get(64).put(OTHER, about=cut).half_close().end().connect("b").exist(connection="b")
        .send(s.header("GET"), "b").end("b"),
    )  # fmt: skip
    yield (
        "cut-payload-repaired",
        "A whole PUT repairs a cut one.",
        lambda s: s.put(PAYLOAD, about=cut).half_close().end().connect("b").put(PAYLOAD, connection="b").get(64, connection="b"),
    )
    yield (
        "reset-in-payload",
        "A connection that is reset inside a payload stores nothing.",
        lambda s: s.put(PAYLOAD, about=cut).reset().connect("b").exist(connection="b").get(None, connection="b"),
    )
    yield (
        "reset-in-payload-over-good",
        "A connection that is reset inside a payload leaves the old value as it was.",
        lambda s: s.put(PAYLOAD).get(64).put(OTHER, about=cut).reset().connect("b").exist(connection="b").get(64, connection="b"),
    )
    yield (
        "no-payload",
        "A PUT header without any payload.",
        lambda s: s.send(s.header("PUT", about=cut)).half_close().end().connect("b").exist(connection="b"),
    )
    yield (
        "put-header-split-from-payload",
        "The payload may come later.",
        lambda s: s.send(s.header("PUT", about=ABOUT)).silence().send(PAYLOAD).get(64),
    )
    yield (
        "payload-too-long",
        "Bytes behind the announced payload are read as the next header.",
        lambda s: s.send(s.header("PUT", about=ABOUT) + PAYLOAD + b"surplus!").send(s.header("HEALTH")).half_close().end(),
    )
    yield (
        "negative-length",
        "A PUT of negative length takes no payload and echoes the length.",
        lambda s: s.send(s.header("PUT", about=replace(ABOUT, length=-1))).exist().get(0).health(),
    )
    yield (
        "length-disagrees-with-shape",
        "Length and shape are never compared.",
        lambda s: s.put(PAYLOAD, about=Description(64, "KV_2LTD", "float32", (2, 32, 256, 1024))).get(64),
    )


def _bad_numbers(release: Release) -> Iterator[tuple[str, str, Scenario]]:
    profile = lm_profile(release)
    highest = profile.highest_format
    fields = {
        "command": {"zero": 0, "six": 6, "minus-one": -1, "big-endian-get": 2 << 24},
        "dtype": {"nine": 9, "minus-one": -1, "big-endian": 2 << 24},
        "format": {"above-highest": highest + 1, "minus-one": -1, "large": 2147483647},
        "location": {"three": 3, "minus-one": -1},
    }
    for field, values in fields.items():
        if field not in profile.header.request:
            continue
        for name, value in values.items():
            yield f"bad-{field}-{name}", f"A request with {field} {value}.", _bad_number(field, value)
    yield (
        "bad-dtype-put",
        "A PUT with a senseless dtype stores nothing.",
        lambda s: s.connect("b").send(s.patched(s.header("PUT", about=ABOUT), dtype=9)).half_close().end().exist(connection="b"),
    )
    yield "all-ones", "A header of 0xff bytes.", lambda s: s.send(b"\xff" * s.profile.header.request_size).half_close().end()
    yield "all-zeros", "A header of zero bytes.", lambda s: s.send(bytes(s.profile.header.request_size)).half_close().end()


def _bad_number(field: str, value: int) -> Scenario:
    def build(script: Script) -> None:
        script.connect("b").health("b")
        script.send(script.patched(script.header("EXIST"), **{field: value})).half_close().end()
        script.health("b")

    return build


def _bad_keys() -> Iterator[tuple[str, str, Scenario]]:
    def key_bytes(make: Callable[[Script], bytes], command: str = "EXIST") -> Scenario:
        def build(script: Script) -> None:
            script.connect("b")
            script.send(script.raw_key(script.header(command), make(script))).half_close().end()
            script.health("b")

        return build

    yield "key-not-utf8", "A key that is no UTF-8.", key_bytes(lambda s: b"\xff\xfe" + s.key().encode())
    yield "key-blank", "A key of spaces.", key_bytes(lambda _: b"")
    yield "key-blank-health", "HEALTH parses the key as well.", key_bytes(lambda _: b"", "HEALTH")
    yield "key-blank-list", "LIST parses the key as well.", key_bytes(lambda _: b"", "LIST")
    yield "key-no-separators", "A key without separators.", key_bytes(lambda _: b"key")
    yield "key-nul-padded", "A key padded with NUL instead of spaces.", key_bytes(lambda s: s.key().encode().ljust(150, b"\0"))
    yield "key-newline", "White space around a key is dropped.", key_bytes(lambda s: b"\t " + s.key().encode() + b"\r\n")
    yield (
        "key-full-field",
        "A key that fills the field.",
        key_bytes(lambda s: s.key(model="m" * (150 - len(s.key(model="")))).encode()),
    )
    yield "key-unicode", "A model name beyond ASCII.", key_bytes(lambda s: s.key(model="模型").encode())


def _spellings(release: Release) -> Iterator[tuple[str, str, Scenario]]:
    """One value under a plain key, asked for by every other spelling; and identities that must not meet."""
    grammar = KEY_GRAMMARS[release]
    for name, parts in key_questions.spellings(grammar).items():
        yield f"spelling-{name}", f"The stored key asked for as {name.replace('-', ' ')}.", _spelled(parts)
    for name, parts in {
        "model": {"model": "another"},
        "world": {"world": "2"},
        "worker": {"worker": "1"},
        "digest": {"digest": "2a2b3c4d" if grammar.hash_style != "text" else "0" + DIGEST[1:]},
        **({"dtype": {"dtype": "bfloat16"}} if grammar.dtype_names is not None else {}),
        **({"fmt": {"fmt": "huggingface"}} if grammar.prefix else {}),
        **({"tag": {"suffix": "@user%alice"}} if grammar.tags else {}),
        **({"layer": {"suffix": "@0"}} if grammar.server_layers else {}),
    }.items():
        yield f"identity-{name}", f"Another {name} is another key.", _identity(parts)
    if grammar.tags:
        yield "identity-tag-order", "Tags in another order are another key.", _two_tags("@b%2@a%1")
        yield "spelling-tag-repeated", "A tag given twice counts once, with its last value.", _two_tags("@a%0@b%2@a%1")


def _spelled(parts: dict[str, str]) -> Scenario:
    def build(script: Script) -> None:
        known = {part: value for part, value in parts.items() if part in {"model", "world", "worker", "digest", "dtype", "fmt"}}
        suffix = f"@{parts['layer']}" if "layer" in parts else ""
        suffix += parts.get("tags", "")
        asked = script.key(**known, suffix=suffix)
        script.put(PAYLOAD).exist()
        script.send(script.header("GET", asked)).half_close().end()

    return build


def _identity(parts: dict[str, str]) -> Scenario:
    def build(script: Script) -> None:
        other = script.key(**parts)
        script.put(PAYLOAD).exist(other).put(OTHER, other).get(96, other).get(64)

    return build


def _two_tags(asked: str) -> Scenario:
    def build(script: Script) -> None:
        script.put(PAYLOAD, script.key(suffix="@a%1@b%2")).exist(script.key(suffix="@a%1@b%2"))
        script.send(script.header("GET", script.key(suffix=asked))).half_close().end()

    return build
