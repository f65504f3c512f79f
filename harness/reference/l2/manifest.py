"""What stands beside the fragments of an object and makes them one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any


class Damaged(Exception):
    """What lies in the folder is not what was stored; the text says why."""


@dataclass(frozen=True)
class Manifest:
    """Written last: an object without it is not there.

    On disk it is one line of JSON and one line with the checksum of the first.
    """

    key: str
    """In full: the name of the folder is only a hash of it."""
    size: int
    """Bytes of the object."""
    fragment_size: int
    """Bytes of every fragment but the last."""
    checks: tuple[str, ...]
    """The checksum of each fragment, in order; their number is the number of fragments."""

    def spans(self) -> Iterator[tuple[int, int]]:
        """Where each fragment begins and ends in the object."""
        return spans(self.size, self.fragment_size)

    def encode(self) -> bytes:
        """The bytes on disk."""
        line = json.dumps(asdict(self), sort_keys=True).encode()
        return b"%s\n%s\n" % (line, check(line).encode())

    @classmethod
    def decode(cls, raw: bytes) -> Manifest:
        """The manifest in such bytes.

        Raises:
            Damaged: they are not what ``encode`` made.
        """
        line, _, rest = raw.partition(b"\n")
        if rest != check(line).encode() + b"\n":
            raise Damaged("the manifest fails its checksum")
        try:
            members: dict[str, Any] = json.loads(line)
            manifest = cls(**{**members, "checks": tuple(members["checks"])})
        except (ValueError, TypeError, KeyError) as error:
            raise Damaged(f"the manifest cannot be read: {error}") from error
        if len(manifest.checks) != sum(1 for _ in manifest.spans()):
            raise Damaged("the manifest does not name as many fragments as its size asks for")
        return manifest


def spans(size: int, fragment_size: int) -> Iterator[tuple[int, int]]:
    """Where each fragment of an object of a size begins and ends."""
    return ((start, min(start + fragment_size, size)) for start in range(0, size, fragment_size))


def check(data: bytes) -> str:
    """The checksum of some bytes: 128 bits of BLAKE2b, in hexadecimal digits."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()
