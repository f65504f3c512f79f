"""What a client of one release puts on the wire: frames and keys that the real lmcache of that release was seen to make.

A frame for another key is a captured frame whose key field holds a captured key text; a key of another model is a captured
text with the model replaced. Nothing here comes from a table of another release.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from fixturegen.corpus import Corpus, load_corpus
from fixturegen.errors import CorpusError
from fixturegen.vector import Vector, raw
from wire.chunks import TEXT_ALGORITHM
from wire.lm.frames import Description, Reply, decode_reply
from wire.lm.profile import lm_profile
from wire.release import Release

PLAIN_KEY: Final = "plain"
PLAIN_VALUE: Final = "KV_2LTD float16"
"""What an engine with default settings stores: the other formats and dtypes are for some models, or for settings."""

_SENT: Final = "lm.request.sent."
_FORMATTED: Final = "lm.key.format."
NOT_ASKED: Final[Mapping[str, str]] = {
    "model-with-separator": "no release can express a model name with @",
    "model-empty": "models are replaced here, so that clients do not meet",
}
"""Captured keys that are left out."""


@dataclass(frozen=True)
class Value:
    """Something that a client stores: the captured header of its PUT, and what that header says."""

    name: str
    """Such as ``KV_2LTD float16``."""
    header: bytes
    about: Description


@dataclass(frozen=True)
class Key:
    """A captured key: its text, and the identity that the real lmcache made the text of."""

    name: str
    text: str
    identity: Mapping[str, Any]

    @property
    def plain(self) -> bool:
        """Whether every engine has such keys: no layer, no tag, no digest for a hash, an ordinary dtype."""
        return self.name == PLAIN_KEY

    def of_model(self, tag: str) -> Key:
        """The key of another model: the same with a tag in front of the model's name."""
        model = self.identity["model"]
        return replace(self, text=tagged(self.text, model, tag), identity={**self.identity, "model": tag + model})


@dataclass(frozen=True)
class Chunks:
    """The captured chunk keys of some tokens; ``texts`` maps start and end to a key text, or is None where they are volatile."""

    id: str
    args: Mapping[str, Any]
    texts: Mapping[tuple[int, int], str] | None
    volatile: str | None
    function: str | None = None
    """The hash function that was found, where the capture is about a deployment."""

    @property
    def by_digests(self) -> bool:
        """Whether a hash function other than the one of the release itself was set."""
        return self.args.get("algorithm") not in {"builtin", TEXT_ALGORITHM}

    def of_model(self, tag: str) -> Mapping[tuple[int, int], str]:
        """The key texts for another model.

        Raises:
            LookupError: they are volatile.
        """
        if self.texts is None:
            raise LookupError(f"the keys of {self.id} differ from process to process")
        return {place: tagged(text, self.args["model"], tag) for place, text in self.texts.items()}


@dataclass(frozen=True)
class ClientFrames:
    """Everything that a client of a release needs to talk."""

    release: Release
    bare: Mapping[str, bytes]
    """Captured GET, EXIST and HEALTH headers."""
    values: Sequence[Value]
    keys: Sequence[Key]
    chunks: Mapping[str, Chunks]
    """By id of the vector."""
    reply_size: int
    key_offset: int
    """Where the key field begins in a request header."""

    @property
    def request_size(self) -> int:
        """Bytes of a request header."""
        return len(self.bare["GET"])

    def request(self, command: str, key: str) -> bytes:
        """A captured GET, EXIST or HEALTH header for a key."""
        return self._with_key(self.bare[command], key)

    def put(self, value: Value, key: str) -> bytes:
        """A captured PUT header for a key."""
        return self._with_key(value.header, key)

    def value(self, name: str) -> Value:
        """The value with a name."""
        return next(value for value in self.values if value.name == name)

    def key(self, name: str) -> Key:
        """The key with a name."""
        return next(key for key in self.keys if key.name == name)

    def read_reply(self, header: bytes) -> Reply:
        """A reply header as this release reads it.

        Raises:
            DecodeError: it means nothing in this release.
        """
        return decode_reply(lm_profile(self.release), header)

    def _with_key(self, header: bytes, key: str) -> bytes:
        field = len(header) - self.key_offset
        text = key.encode()
        if len(text) > field:
            raise CorpusError(f"key {key!r} does not fit into {field} bytes; the model's tag is too long")
        return header[: self.key_offset] + text.ljust(field)


def tagged(text: str, model: str, tag: str) -> str:
    """A captured key text with a tag in front of the model's name."""
    return text.replace(model, tag + model, 1)


@functools.lru_cache(maxsize=64)
def frames_of(release: Release) -> ClientFrames:
    """The captured frames and keys of a release.

    Raises:
        CorpusError: the release is not captured, or a capture that is needed is missing.
    """
    corpus = load_corpus(release)
    sent = {
        vector.id.removeprefix(_SENT): vector
        for vector in corpus.vectors.get("encode_request", ())
        if vector.id.startswith(_SENT) and vector.ok is not None
    }
    keys = [_key(vector) for vector in corpus.vectors.get("format_key", ()) if vector.ok is not None]
    bare = {command: _bytes(_needed(corpus, sent, command.lower())) for command in ("GET", "EXIST", "HEALTH")}
    replies = [_bytes(vector) for vector in corpus.vectors.get("encode_reply", ()) if vector.ok is not None]
    plain = next((key for key in keys if key.name == PLAIN_KEY), None)
    if plain is None or not replies or plain.text.encode() not in bare["GET"]:
        raise CorpusError(f"the corpus of lmcache {release} lacks a plain key or replies; capture it again")
    return ClientFrames(
        release=release,
        bare=bare,
        values=[_value(vector) for name, vector in sent.items() if name.startswith("put-")],
        keys=[key for key in keys if key.name not in NOT_ASKED],
        chunks={found.id: found for found in _chunks(corpus)},
        reply_size=len(replies[0]),
        key_offset=bare["GET"].index(plain.text.encode()),
    )


def _needed(corpus: Corpus, sent: Mapping[str, Vector], name: str) -> Vector:
    if name not in sent:
        raise CorpusError(f"the corpus of lmcache {corpus.release} has no vector {_SENT + name!r}; capture it again")
    return sent[name]


def _bytes(vector: Vector) -> bytes:
    return raw(vector.answer["bytes"])


def _value(vector: Vector) -> Value:
    args = vector.args
    about = Description(args["length"], args["format"], args["dtype"], tuple(args["shape"]), args["location"])
    place = "" if about.location is None else f" for {about.location}"
    return Value(f"{about.format} {about.dtype}{place}", _bytes(vector), about)


def _key(vector: Vector) -> Key:
    return Key(vector.id.removeprefix(_FORMATTED), vector.answer["text"], vector.args["key"])


def _chunks(corpus: Corpus) -> list[Chunks]:
    """Every vector, of whatever operation, that answers with chunks and their keys.

    Without the deployments that start from a random hash: they share with nobody, whatever the releases.
    """
    found = []
    for vectors in corpus.vectors.values():
        for vector in vectors:
            if vector.ok is None or "chunks" not in vector.ok or "model" not in vector.args:
                continue
            if vector.volatile is not None and vector.args.get("seed", "") is None:
                continue
            listed = vector.ok["chunks"]
            known = all(isinstance(chunk["key"], str) for chunk in listed)
            texts = {(chunk["start"], chunk["end"]): chunk["key"] for chunk in listed} if known else None
            found.append(Chunks(vector.id, vector.args, texts, vector.volatile, vector.ok.get("function")))
    return found
