"""Messages with pseudonyms in them: each frame keeps its length, and each value its kind and its width.

So whoever reads a redacted recording sees the same requests, the same wrong bytes and the same releases, but no model, salt,
request, token or payload. The same text has the same pseudonym wherever it stands. What is not known to be harmless is redacted.
"""

from __future__ import annotations

import hashlib
import pickletools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from harness.tap.mp.packed import Malformed, Path, Place, number, places, with_number
from harness.tap.mp.parts import STREAM_MARK, STREAM_WORDS
from harness.tap.mp.permutation import Permutation
from harness.tap.pseudonyms import Pseudonyms
from harness.tap.recording import Redacted
from wire.mp.cpu_tensors import ELEMENT_BYTES
from wire.mp.operations import ORDERS, TEXT_OPERATIONS
from wire.mp.records import ENUMERATIONS, RECORDS
from wire.mp.registration import MODULES
from wire.mp.values import SALT_FORBIDDEN, WRAPPER_EXTENSION

NEVER: Final = b"\xc1"
"""The byte that msgpack does not use: what could not be read before cannot be read afterwards."""
_TOKENS: Final = frozenset({"token_ids", "new_token_ids"})
_HASHES: Final = frozenset({"chunk_hash", "hash", "block_hashes", "parent_block_hash"})
_WRAPPER: Final = frozenset(
    {
        *(
            "type",
            "version",
            "metadata",
            "dtype",
            "shape",
            "stride",
            "storage_offset",
            "device_uuid",
            "shm_name",
            "nbytes",
            "handle",
        ),
        *(
            "ipc_handle",
            "alloc_offset",
            "export_id",
            "kind",
            "fabric_blob",
            "alloc_size",
            "bare",
            "planes",
            "_bare",
            "_plane_records",
        ),
        *(
            "_ipc_handle_reserved",
            "_alloc_offset",
            "_nbytes",
            "_export_id",
            "_kind",
            "_fabric_blob",
            "_alloc_size",
            "_opened_handle",
        ),
    }
)
_CONTEXT: Final = frozenset({"slots", "chunk_indices", "offset", "length", "shape", "dtype"})
_HINTS: Final = frozenset({"kv_layout", "kv_list_layout", "num_kv_heads", "tokens_per_block", "head_dim"})
NAMES: Final = frozenset(
    {
        *_WRAPPER,
        *_CONTEXT,
        *_HINTS,
        *(field.name for rows in RECORDS.values() for _, record in rows.rows() for field in record),
    }
)
"""Members of maps that keep their names."""
_DTYPES: Final = frozenset({*ELEMENT_BYTES, "bool", "complex64", "float8_e4m3fnuz", "float8_e5m2fnuz", "half", "double", "long"})
TEXTS: Final = frozenset(
    {
        "OK",
        *_DTYPES,
        *(f"torch.{name}" for name in _DTYPES),
        *(value for rows in ENUMERATIONS.values() for _, values in rows.rows() for value in values),
        *("cuda", "cuda_raw", "cuda_vmm", "cpu_shm", "musa", "npu", "cpu"),
        *("NHD", "HND", "BLHNC", "BLNHC", "k_v", "CPU", "GPU", "stored", "removed", "kv_event_stream"),
    }
)
"""Texts that say nothing of whom they are from."""
_OPERATIONS: Final = frozenset(
    name.lower() for rows in (ORDERS, TEXT_OPERATIONS) for _, names in rows.rows() for name in names
)  # fmt: skip
_MODULES: Final = frozenset(module for rows in MODULES.values() for _, module in rows.rows() if module is not None)
_PICKLED: Final = frozenset({*_MODULES, *MODULES, *_WRAPPER, *_DTYPES, "torch", "Size", "cpu", ""})
_HEADS: Final[Mapping[str, int]] = {
    "SHORT_BINUNICODE": 2, "BINUNICODE": 5, "BINUNICODE8": 9, "SHORT_BINBYTES": 2, "BINBYTES": 5, "BINBYTES8": 9,
}  # fmt: skip
"""Bytes of an instruction before its text."""
_HARMLESS: Final = frozenset(
    {
        *(
            "PROTO",
            "FRAME",
            "NONE",
            "NEWTRUE",
            "NEWFALSE",
            "EMPTY_TUPLE",
            "EMPTY_LIST",
            "EMPTY_DICT",
            "BININT",
            "BININT1",
            "BININT2",
        ),
        *(
            "LONG1",
            "MEMOIZE",
            "BINPUT",
            "LONG_BINPUT",
            "BINGET",
            "LONG_BINGET",
            "TUPLE1",
            "TUPLE2",
            "TUPLE3",
            "APPEND",
            "APPENDS",
        ),
        *("STACK_GLOBAL", "MARK", "TUPLE", "SETITEM", "SETITEMS", "NEWOBJ", "BUILD", "REDUCE", "STOP"),
    }
)
_MOST_INSTRUCTIONS: Final = 20_000
_WIDTHS: Final = {0xCC: (128, 255), 0xCD: (256, 65535), 0xCE: (1 << 16, (1 << 32) - 1), 0xCF: (1 << 32, (1 << 64) - 1)}
_SIGNED: Final = {
    0xD0: (-128, -33),
    0xD1: (-(1 << 15), -129),
    0xD2: (-(1 << 31), -(1 << 15) - 1),
    0xD3: (-(1 << 63), -(1 << 31) - 1),
}
_STREAM_FRAMES: Final = 3
_HIGHEST: Final = max(len(names) for _, names in ORDERS.rows())


@dataclass(frozen=True)
class Redactor:
    """Redacts with one secret."""

    redacted: Redacted
    pseudonyms: Pseudonyms
    numbers: Permutation
    secret: bytes

    @classmethod
    def of(cls, redacted: Redacted, pseudonyms: Pseudonyms) -> Redactor:
        """A redactor with the secret of the pseudonyms."""
        secret = bytes.fromhex(pseudonyms.digest("multiprocess"))
        return cls(redacted, pseudonyms, Permutation(secret), secret)

    def message(self, frames: Sequence[bytes]) -> list[bytes]:
        """The frames of a message, each as long as it was."""
        of_stream = len(frames) == _STREAM_FRAMES and frames[1] == STREAM_MARK and frames[2] in STREAM_WORDS
        request = len(frames) > 1 and _names_an_operation(frames[1])
        return [
            frame if of_stream and index else self.frame(index, frame, understood=request) for index, frame in enumerate(frames)
        ]

    def frame(self, index: int, data: bytes, *, understood: bool = True) -> bytes:
        """One frame: the uid, the operation, or what stands behind them; of an operation that there is, or of who knows what."""
        if not data or not self.redacted:
            return data
        try:
            found = list(places(data))
        except Malformed:
            return data if index == 1 and len(data) == 1 else NEVER * len(data) if index else self._opaque(data)
        if index < 2:
            return self._short(index, data, found)
        made = bytearray(data)
        worlds = _worlds(data, found)
        for place in found:
            self._value(made, data, place, worlds, understood=understood)
        return bytes(made)

    def _short(self, index: int, data: bytes, found: list[Place]) -> bytes:
        """A uid, or an operation: integers stay."""
        if len(found) == 1 and found[0].kind in ("int", "nil", "bool", "float"):
            return data
        text = data[found[0].body : found[0].end]
        if index == 1 and found[0].kind == "str" and text.decode("utf-8", "replace") in _OPERATIONS:
            return data
        if found[0].kind in ("str", "bytes"):
            return data[: found[0].body] + self._opaque(text)
        return NEVER * len(data) if index else self._opaque(data)

    def _value(self, made: bytearray, data: bytes, place: Place, worlds: Mapping[Path, int], *, understood: bool) -> None:
        """Redact one value where it stands."""
        name = next((str(step) for step in reversed(place.path) if not isinstance(step, int)), "")
        known = understood and not any(not isinstance(step, int) and step not in NAMES for step in place.path)
        private = self.redacted.keys or not known
        match place.kind:
            case "str":
                try:
                    text = data[place.body : place.end].decode()
                except UnicodeDecodeError:  # what was no text before is none afterwards
                    made[place.body : place.end] = b"\xff" * (place.end - place.body)
                    return
                harmless = (place.is_key and text in NAMES) or (not place.is_key and text in TEXTS)
                if private and not harmless:
                    made[place.body : place.end] = self._text(text, salt=name == "cache_salt")
            case "bytes":
                is_hash = name in _HASHES
                if is_hash and private:
                    made[place.body : place.end] = self._opaque(data[place.body : place.end])
                elif not is_hash:
                    made[place.body : place.end] = bytes(place.end - place.body)
            case "ext":
                made[place.body : place.end] = self._extension(data, place)
            case "int" if name in _TOKENS or not known:
                made[place.start : place.end] = with_number(data, place.start, self._number(data, place.start))
            case "int" if name == "worker_id" and private:
                worker, world = number(data, place.start), worlds.get(place.path[:-1], 0)
                if data[place.start] < 0x80 and worker < world <= 0x80:
                    made[place.start] = (worker + self.numbers.number(0, 0, world - 1)) % world
            case "float" if not known:
                made[place.body : place.end] = bytes(place.end - place.body)

    def _number(self, data: bytes, start: int) -> int:
        first, value = data[start], number(data, start)
        if first < 0x80:
            return self.numbers.number(value, 0, 0x7F)
        if first >= 0xE0:
            return self.numbers.number(value, -32, -1)
        low, high = _WIDTHS[first] if first in _WIDTHS else _SIGNED[first]
        if low <= value <= high:
            return self.numbers.number(value, low, high)
        if first in _WIDTHS:  # wider than it must be, and so it stays
            return self.numbers.number(value, 0, low - 1)
        return self.numbers.number(value, high + 1, -low - 1)

    def _text(self, text: str, *, salt: bool = False) -> bytes:
        """A text of as many bytes. Characters that no salt may have stay in a salt."""
        kept = SALT_FORBIDDEN if salt else ""
        parts, word = [], ""
        for character in text:
            if character in kept:
                parts += [self._word(word), character.encode()]
                word = ""
            else:
                word += character
        return b"".join([*parts, self._word(word)])

    def _word(self, word: str) -> bytes:
        size = len(word.encode())
        made = self.pseudonyms.name(word, what="mp").encode() if word.isprintable() else b""
        return made if len(made) == size else self._opaque(word.encode(), letters=True)

    def _opaque(self, data: bytes, *, letters: bool = False) -> bytes:
        """Other bytes, which follow from these and the secret."""
        made = bytearray()
        seed = hashlib.blake2b(data, digest_size=32, key=self.secret).digest()
        while len(made) < len(data):
            made += hashlib.blake2b(seed + len(made).to_bytes(8, "big"), digest_size=64).digest()
        found = bytes(made[: len(data)])
        return bytes(0x61 + byte % 26 for byte in found) if letters else found

    def _extension(self, data: bytes, place: Place) -> bytes:
        """A KV tensor: its class or type, its shape and its element type stay."""
        body = data[place.body : place.end]
        if data[place.body - 1] != WRAPPER_EXTENSION:
            return bytes(len(body))
        if body[:1] == b"\x80":
            return self._pickle(body)
        made = self.frame(2, body)
        return bytes(len(body)) if made.startswith(NEVER) else made

    def _pickle(self, body: bytes) -> bytes:
        """A pickle with other texts and bytes; from the first instruction on that is not known, nothing of it is left."""
        made = bytearray(body)
        end = 0
        try:
            for count, (opcode, argument, position) in enumerate(pickletools.genops(body)):
                end = position or 0
                if count > _MOST_INSTRUCTIONS or (opcode.name not in _HARMLESS and opcode.name not in _HEADS):
                    return bytes(made[:end]) + bytes(len(body) - end)
                if opcode.name in _HEADS and argument not in _PICKLED:
                    place = end + _HEADS[opcode.name]
                    other = self._text(argument) if isinstance(argument, str) else bytes(len(argument or b""))
                    made[place : place + len(other)] = other
        except Exception:  # noqa: BLE001  # whatever a hostile pickle does to its reader
            return bytes(made[:end]) + bytes(len(body) - end)
        stop = body.find(b".", end)
        return bytes(made[: stop + 1]) + bytes(len(body) - stop - 1)


def _names_an_operation(frame: bytes) -> bool:
    """Whether the operation's frame is a number that operations have, or the name of one."""
    return (len(frame) == 1 and 0 < frame[0] <= _HIGHEST) or frame[1:].decode("utf-8", "replace") in _OPERATIONS


def _worlds(data: bytes, found: Iterable[Place]) -> dict[Path, int]:
    """The world sizes in a frame, by the path of their map."""
    return {
        place.path[:-1]: number(data, place.start)
        for place in found
        if place.path[-1:] == ("world_size",) and place.kind == "int" and not place.is_key
    }
