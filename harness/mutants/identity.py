"""Defects in what a client accepts as the value that it asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from harness.client import MissError
from harness.mutants.mutant import mutant
from harness.reference.lm import LmConnection, ReferenceClient
from harness.reference.values import wire_errors
from wire.lm.frames import Description, Reply

Answer = dict[str, Any]
DISAGREES = ("lm.identity.reply-disagrees",)


class _Unchecked(ReferenceClient):
    """Takes some members of a description as they come."""

    unchecked: ClassVar[tuple[str, ...]] = ()

    def _check_expected(self, link: LmConnection, about: Description, expect: Mapping[str, Any], size: int) -> None:
        expected = Description(size, expect["format"], expect["dtype"], tuple(expect["shape"]))
        super()._check_expected(link, replace(about, **{name: getattr(expected, name) for name in self.unchecked}), expect, size)


@mutant(
    "get-ignores-the-format",
    stands_for="The layout taken from the configuration: K and V of another layout have the same shape and other bytes.",
    found_by=DISAGREES,
)
class IgnoresFormat(_Unchecked):
    """Takes a value of any memory format."""

    unchecked = ("format",)


@mutant(
    "get-ignores-the-dtype",
    stands_for="bfloat16 read as float16: as many bytes, other numbers, and text that reads almost right.",
    found_by=(*DISAGREES, "lm.identity.other-layout"),
)
class IgnoresDtype(_Unchecked):
    """Takes a value of any dtype."""

    unchecked = ("dtype",)


@mutant(
    "get-ignores-the-shape",
    stands_for="A buffer of the right size filled, whatever the order of its axes.",
    found_by=DISAGREES,
)
class IgnoresShape(_Unchecked):
    """Takes a value of any shape."""

    unchecked = ("shape",)


@mutant(
    "get-ignores-the-length",
    stands_for="What lmcache's own client does: it allocates by shape and dtype, and reads so many bytes.",
    found_by=DISAGREES,
)
class IgnoresLength(_Unchecked):
    """Reads as many bytes as it expects, whatever length the header announces."""

    unchecked = ("length",)


@mutant(
    "get-counts-elements",
    stands_for="A comparison of numel(): a permuted shape has as many elements.",
    found_by=DISAGREES,
)
class CountsElements(ReferenceClient):
    """Takes a shape for right when it has as many elements."""

    def _check_expected(self, link: LmConnection, about: Description, expect: Mapping[str, Any], size: int) -> None:
        same = math.prod(about.shape) == math.prod(expect["shape"])
        described = {**expect, "shape": list(about.shape)} if same else expect
        super()._check_expected(link, about, described, size)


class _AnyLength(LmConnection):
    def reply(self) -> Reply:
        header = self.receive(self.profile.header.reply_size)
        with wire_errors():
            return self.codec.decode_reply(self.profile, header)


@mutant(
    "get-believes-the-length",
    stands_for="new char[header.length]: the one number that is trusted comes from the other side, and may be negative.",
    found_by=DISAGREES,
)
class BelievesTheLength(ReferenceClient):
    """Reads as many bytes as the header announces, and takes them for the value."""

    connection_class = _AnyLength

    def get(self, *, connection: str, key: Mapping[str, Any], expect: Mapping[str, Any], **_: Any) -> Answer:
        """Whatever it amounts to."""
        link = self._connection(connection)
        with link.exchange():
            link.send(link.request("GET", self._key(link, key)))
            about = (reply := link.reply()).about
            if reply.code != "SUCCESS":
                raise MissError
            size = self._expected_size(link, expect)
            self._check_expected(link, replace(about, length=size), expect, size)
            payload = link.receive(min(max(about.length, 0), 1 << 20))
        return {"payload": payload, "format": about.format, "dtype": about.dtype, "shape": list(about.shape)}
