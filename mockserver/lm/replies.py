"""What an ``lm://`` server answers.

Source: ``LMCacheServer.handle_client`` of each release.
"""

from __future__ import annotations

import functools

from mockserver.endings import Ending
from mockserver.faults.outgoing import Outgoing
from mockserver.lm.requests import ServerRequest
from mockserver.store import Store, StoredValue
from wire.lm.frames import Description, Reply, encode_reply
from wire.lm.profile import LmProfile

_NO_DATA = Ending("no data", "the payload of this key was cut when it was put, so nothing can follow the header")

_REMEMBERED_HEADERS = 1024


class Replies:
    """The replies of one release. A header can always be encoded: whatever a request could say, a reply can."""

    def __init__(self, profile: LmProfile) -> None:
        self._profile = profile
        fields = profile.header.reply
        self._silence = Outgoing(fields)
        self._yes = Outgoing(fields, encode_reply(profile, Reply("SUCCESS")))
        self._no = Outgoing(fields, encode_reply(profile, Reply("FAIL")))
        self._hit_header = functools.lru_cache(_REMEMBERED_HEADERS)(self._encode_hit)

    def answer(self, request: ServerRequest, store: Store) -> Outgoing:
        """The reply; an empty one for PUT, for LIST (no release answers it) and for commands that nobody knows."""
        match request.command:
            case "GET":
                return self._get(request, store)
            case "EXIST":
                return self._yes if store.contains(request.key) else self._no
            case "HEALTH":
                return self._yes
            case _:
                return self._silence

    def _get(self, request: ServerRequest, store: Store) -> Outgoing:
        value = store.get(request.key)
        if value is None:
            return self._no
        known = value.answer
        if known is not None and known[0] is self and isinstance(known[1], Outgoing):
            return known[1]
        answer = self._hit(value)
        value.remember(self, answer)
        return answer

    def _hit(self, value: StoredValue) -> Outgoing:
        header = self._hit_header(value.about)
        if value.data is None:
            return Outgoing(self._profile.header.reply, header, last="close", ending=_NO_DATA)
        return Outgoing(self._profile.header.reply, header, value.data)

    def _encode_hit(self, about: Description) -> bytes:
        return encode_reply(self._profile, Reply("SUCCESS", about))
