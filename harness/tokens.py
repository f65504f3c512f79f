"""Token lists that people write down: numbers on a command line, in a file, or as JSON."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from harness.usage import UsageError

_SEPARATORS: Final = re.compile(r"[\s,]+")
_LONGEST: Final = 40
"""Characters of a bad token that are shown."""
_DIGITS: Final = 30
"""No token has more."""


def read_tokens(words: Sequence[str], file: str | None) -> list[int]:
    """Tokens from the command line, or from a file: a JSON array, or integers between white space or commas.

    ``-`` is standard input.

    Raises:
        UsageError: both are given, the file cannot be read, or something in it is no token.
    """
    if file is None:
        return [_token(text, f"token {index}") for index, text in enumerate(_split(" ".join(words)), 1)]
    if words:
        raise UsageError("give tokens on the command line or with --tokens-file, not both")
    return parse_tokens(_text_of(file), "standard input" if file == "-" else file)


def parse_tokens(text: str, name: str) -> list[int]:
    """The tokens in a text; ``name`` is what messages call it.

    Raises:
        UsageError: something in it is no token.
    """
    if text.lstrip()[:1] in {"[", "{", '"'}:
        return list(_json_tokens(text, name))
    try:
        # Nearly always all is well, and a million tokens are read at once.
        found = [int(word) for word in _split(text) if word.isascii() and word.isdigit() and len(word) < _DIGITS]
    except ValueError:
        found = []
    if len(found) == len(_split(text)):
        return found
    return [
        _token(word, f"{name}, line {number}, token {index}")
        for number, line in enumerate(text.splitlines(), 1)
        for index, word in enumerate(_split(line), 1)
    ]


def _text_of(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise UsageError(f"--tokens-file {file} cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"--tokens-file {file} is no text: byte {error.start} is not UTF-8") from None


def _split(text: str) -> list[str]:
    return [word for word in _SEPARATORS.split(text) if word]


def _json_tokens(text: str, name: str) -> Iterator[int]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise UsageError(f"{name} is no JSON array of tokens: {error}") from None
    except RecursionError:
        raise UsageError(f"{name} is no JSON array of tokens: it is nested too deeply") from None
    if not isinstance(found, list):
        raise UsageError(f"{name} holds a JSON {_kind(found)}; give an array of token ids")
    for index, value in enumerate(found, 1):
        if type(value) is not int:
            raise UsageError(f"{name}, token {index} is a JSON {_kind(value)}; a token is an integer")
        if value < 0:
            raise UsageError(f"{name}, token {index} is {value}; a token is not negative")
        yield value


def _kind(value: object) -> str:
    return {dict: "object", list: "array", str: "text", bool: "boolean", float: "number with a fraction", int: "number"}.get(
        type(value), "null"
    )


def _token(text: str, where: str) -> int:
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    if not re.fullmatch(r"[+-]?[0-9]+", text) or len(text) > _DIGITS:
        raise UsageError(f"{where} is {shown!r}; a token is an integer, such as 151643")
    if text.startswith("-") and int(text):
        raise UsageError(f"{where} is {shown}; a token is not negative")
    return int(text)
