"""Pseudonyms: the same text has the same one throughout a recording, and nobody can go back without a secret that is not kept."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Final

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_DIGITS: Final = "0123456789"
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
        """A hash of as many digits, with sign, case and leading zeros as they are.

        Digits alone are read as decimal. One hash in several spellings stays one, in decimal and in hexadecimal as well.
        """
        sign = text[: len(text) - len(text.lstrip("+-"))]
        digits = text[len(sign) :]
        bare = digits.lstrip("0")
        if not bare:
            return text
        decimal = bare.isdecimal()
        value = self._value(int(bare, 10 if decimal else 16), what)
        made = f"{value:d}" if decimal else f"{value:X}" if digits.isupper() else f"{value:x}"
        return sign + "0" * (len(digits) - len(bare)) + made

    def _value(self, number: int, what: str) -> int:
        """A number with as many digits, decimal and hexadecimal, and with a letter in hexadecimal if the other has one."""
        decimal, hexadecimal = f"{number:d}", f"{number:x}"
        lowest: int = max(10 ** (len(decimal) - 1), 16 ** (len(hexadecimal) - 1))
        count: int = min(10 ** len(decimal), 16 ** len(hexadecimal)) - lowest
        stream = self._stream(what, decimal)
        while True:
            drawn = int.from_bytes(bytes(next(stream) for _ in range(count.bit_length() // 8 + 8)), "big")
            value = lowest + drawn % count
            if hexadecimal.isdecimal() or not f"{value:x}".isdecimal():
                return value

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
