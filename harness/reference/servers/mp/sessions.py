"""Sessions that keep their tokens as numbers of four bytes, and of which the oldest go where there are too many."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from typing import Any, Final, overload

from mockserver.mp.sessions import Session, Sessions

MOST_SESSIONS: Final = 1 << 16
MOST_TOKENS: Final = 1 << 24
"""Of all sessions together."""


class Tokens(Sequence[int]):
    """Tokens in four bytes each, equal to a list of the same numbers."""

    def __init__(self, tokens: Sequence[int]) -> None:
        self._numbers = array("I", tokens)

    @overload
    def __getitem__(self, index: int) -> int: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[int]: ...

    def __getitem__(self, index: int | slice) -> int | Sequence[int]:
        return self._numbers[index]

    def __len__(self) -> int:
        return len(self._numbers)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(self._numbers.tobytes())


def packed(tokens: Sequence[int]) -> Sequence[int]:
    """Tokens in as little memory as they need; those that cannot be hashed, which fail anyway, as they are."""
    try:
        return Tokens(tokens)
    except (OverflowError, TypeError):
        return tokens


class LeanSession(Session):
    """A session whose tokens are packed, those of its key as well."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "tokens":
            value = packed(value)
        elif name == "lookup_key" and isinstance(value, Mapping):
            value = {**value, "token_ids": packed(value["token_ids"])}
        super().__setattr__(name, value)

    @property
    def weight(self) -> int:
        """Tokens that it holds."""
        return len(self.tokens) + (len(self.lookup_key["token_ids"]) if self.lookup_key is not None else 0)


class BoundedSessions(Sessions):
    """Of too many sessions, or too many tokens, the ones that were not used for the longest time are forgotten."""

    def __init__(self, chunk_size: int) -> None:
        super().__init__(chunk_size)
        self._used = 0

    def get(self, request_id: str) -> Session:
        """The session of a request, which is now the newest."""
        session = self._sessions.pop(request_id, None) or LeanSession(self._chunk_size)
        self._sessions[request_id] = session
        self._used += 1
        if len(self._sessions) > MOST_SESSIONS or self._used % _COUNTED_EVERY == 0:
            self._shrink()
        return session

    def _shrink(self) -> None:
        held = sum(session.weight for session in self._sessions.values() if isinstance(session, LeanSession))
        for name, session in list(self._sessions.items())[:-1]:
            if len(self._sessions) <= MOST_SESSIONS and held <= MOST_TOKENS:
                return
            held -= session.weight if isinstance(session, LeanSession) else 0
            del self._sessions[name]


_COUNTED_EVERY: Final = 64
