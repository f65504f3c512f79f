"""Words in braces that stand in the parameters of a plugin or a connector for what only the harness knows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

FOLDER: Final = "{dir}"
BACKEND: Final = "{backend}"
BACKEND_HOST: Final = "{backend_host}"
BACKEND_PORT: Final = "{backend_port}"
"""Standing alone it becomes a number."""
WORDS: Final = (FOLDER, BACKEND, BACKEND_HOST, BACKEND_PORT)


_WORD: Final = re.compile(r"\{[A-Za-z_]+\}")


def unknown_words(value: Any) -> list[str]:
    """What in a value of JSON looks like such a word and is none, each once: a plugin may mean it so, or it was mistyped."""
    if isinstance(value, str):
        return [word for word in dict.fromkeys(_WORD.findall(value)) if word not in WORDS]
    members = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return list(dict.fromkeys(word for member in members for word in unknown_words(member)))


def names_folder(value: Any) -> bool:
    """Whether a value of JSON wants a folder of the harness."""
    return _mentions(value, FOLDER)


def names_backend(value: Any) -> bool:
    """Whether a value of JSON wants the address of a backend."""
    return any(_mentions(value, word) for word in (BACKEND, BACKEND_HOST, BACKEND_PORT))


def filled(value: Any, folder: Path, backend: str | None = None) -> Any:
    """A value of JSON with a folder, and the ``HOST:PORT`` of a backend if there is one, put in wherever they are named."""
    words = {FOLDER: str(folder)}
    if backend is not None:
        host, _, port = backend.rpartition(":")
        words |= {BACKEND: backend, BACKEND_HOST: host, BACKEND_PORT: port}
    return _replaced(value, words)


def _mentions(value: Any, word: str) -> bool:
    if isinstance(value, str):
        return word in value
    if isinstance(value, Mapping):
        return any(_mentions(one, word) for one in value.values())
    return isinstance(value, list | tuple) and any(_mentions(one, word) for one in value)


def _replaced(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        if value == BACKEND_PORT and value in words:
            return int(words[value])
        for word, text in words.items():
            value = value.replace(word, text)
        return value
    if isinstance(value, Mapping):
        return {name: _replaced(one, words) for name, one in value.items()}
    return [_replaced(one, words) for one in value] if isinstance(value, list | tuple) else value
