"""What a server does about a LIST, which no release answers and a better server may."""

from __future__ import annotations

from typing import Final

from harness.failure import PeerFailed
from harness.peers import Key, Peer
from wire.lm.frames import Reply

SOON: Final = 0.5
"""Seconds after the reply to the request behind it, in which a reply to a LIST would have come before."""


def reply_to_list(peer: Peer, key: Key) -> tuple[Reply, bytes] | None:
    """The reply to a LIST with a HEALTH behind it, or None where only the HEALTH was answered.

    Raises:
        PeerFailed: something else came.
    """
    peer.send(peer.frame("LIST", key) + peer.frame("HEALTH", key))
    first = peer.reply()
    payload = peer.payload(first.about.length)
    if not payload and not peer.has_more(within=SOON):
        return None
    if not peer.yes():
        raise PeerFailed("the HEALTH behind a LIST was answered with code 400")
    return first, payload
