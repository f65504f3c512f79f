"""What a mock server keeps: values by key, in memory, for ever, as the real server does."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from mockserver.buffers import Buffer
from wire.keys import CacheKey
from wire.lm.frames import Description


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A payload and what its PUT said about it.

    ``data`` is None where the payload was cut by the end of its connection: the real server stores exactly that, and the key
    exists from then on. ``about.length`` is the length that was claimed; ``about.location`` is never kept.
    """

    data: Buffer | None
    about: Description
    answer: tuple[object, object] | None = field(default=None, init=False, compare=False, repr=False)
    """What a GET was answered with, and who made it: it is the same each time."""

    def remember(self, maker: object, answer: object) -> None:
        """Keep an answer with the value, for as long as the value is kept."""
        object.__setattr__(self, "answer", (maker, answer))


class Store:
    """Values by key, safe to use from any thread.

    Keys are what the real server makes of a key field (``wire.keys.parse_key_as_server``): equal keys name one value.
    Payloads are handed over, not copied. Looking up one key takes no lock: a dictionary answers it at one moment by itself.
    """

    def __init__(self) -> None:
        self._values: dict[CacheKey, StoredValue] = {}
        self._lock = threading.Lock()

    def put(self, key: CacheKey, value: StoredValue) -> None:
        """Store a value, over the one that the key had."""
        with self._lock:
            self._values[key] = value

    def get(self, key: CacheKey) -> StoredValue | None:
        """The value of a key, or None."""
        return self._values.get(key)

    def contains(self, key: CacheKey) -> bool:
        """Whether a PUT for this key was seen, even one whose payload was cut."""
        return key in self._values

    def keys(self) -> list[CacheKey]:
        """The keys, oldest first."""
        with self._lock:
            return list(self._values)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._values.clear()

    def __len__(self) -> int:
        with self._lock:
            return len(self._values)

    def __contains__(self, key: CacheKey) -> bool:
        return self.contains(key)
