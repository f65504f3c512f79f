"""Pseudonyms: the same text has the same one throughout a recording, and nobody can go back without a secret that is not kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_DIGITS: Final = "0123456789"
_HEX_LETTERS: Final = "abcdef"
_SEPARATORS: Final = frozenset("/-_.:+ ")
"""Kept in names, so that a path stays one."""


class Pseudonyms:
    """Makes pseudonyms with a secret of its own, which is in no file."""

    def __init__(self, secret: bytes | None = None) -> None:
        self._secret = secret if secret is not None else secrets.token_bytes(32)

    def digest(self, sha256: str) -> str:
        """What stands for the digest of a payload, so that nobody can try out which payload has it."""
        return hmac.digest(self._secret, f"payload:{sha256}".encode(), "sha256").hex()

    def name(self, text: str, *, what: str) -> str:
        """A name of as many UTF-8 bytes: letters for letters, digits for digits, separators stay."""
        stream = self._stream(what, text)
        made = []
        for character in text:
            if character in _SEPARATORS or not character.isprintable():
                made.append(character)
            elif character.isdecimal() and character.isascii():
                made.append(_DIGITS[next(stream) % 10])
            else:
                letters = "".join(_LETTERS[next(stream) % 26] for _ in character.encode(errors="surrogatepass"))
                made.append(letters.upper() if character.isupper() else letters)
        return "".join(made)

    def number(self, text: str, *, what: str) -> str:
        """A hash of as many digits, hexadecimal if the text is, with sign and leading zeros as they are."""
        sign = text[: len(text) - len(text.lstrip("+-"))]
        digits = text[len(sign) :]
        bare = digits.lstrip("0")
        stream = self._stream(what, bare.lower())  # one hash in two spellings stays one
        alphabet = _DIGITS if digits.isdecimal() else _DIGITS + _HEX_LETTERS
        made = [alphabet[next(stream) % len(alphabet)] for _ in bare]
        if made and made[0] == "0":
            made[0] = "1"
        if alphabet is not _DIGITS and made and not set(made) & set(_HEX_LETTERS):
            made[-1] = _HEX_LETTERS[next(stream) % 6]
        text = "".join(made)
        return sign + "0" * (len(digits) - len(bare)) + (text.upper() if digits.isupper() else text)

    def _stream(self, what: str, text: str) -> _Bytes:
        return _Bytes(self._secret, f"{what}:{text}".encode(errors="surrogatepass"))


class _Bytes:
    """Bytes without end that follow from a secret and a text."""

    def __init__(self, secret: bytes, text: bytes) -> None:
        self._key = hmac.digest(secret, text, "sha256")
        self._block = b""
        self._count = 0

    def __next__(self) -> int:
        if not self._block:
            self._block = hashlib.sha256(self._key + self._count.to_bytes(8, "big")).digest()
            self._count += 1
        byte, self._block = self._block[0], self._block[1:]
        return byte
