"""A lookup of the contract: LOOKUP, and then questions until there is an answer, as each release has them.

lmcache's scheduler asks once in each of its steps. This asks again after a pause, as long as ``connect`` allowed.
"""

import time

from peers import has, replies_with_result, takes_list

PAUSE = 0.005
"""Seconds between two questions."""


def hits(peer, key, tp_size):
    """The number of chunks that were found.

    What is asked about is the number that the reply holds in releases whose replies hold one, whatever the server sent, and the
    request of the key in later ones.

    Raises:
        TimeoutError: a reply did not come in time, or none said how many there are.
    """
    if not has("QUERY_PREFETCH_STATUS"):
        return peer.ask("LOOKUP", [key] if takes_list("LOOKUP") else key)
    end = time.monotonic() + peer.timeout
    number = peer.ask("LOOKUP", key, tp_size)
    job = number if replies_with_result("LOOKUP") else key.request_id
    while (found := peer.send("QUERY_PREFETCH_STATUS", job).result(timeout=max(end - time.monotonic(), 0))) is None:
        if time.monotonic() >= end:
            raise TimeoutError(f"the server did not say within {peer.timeout:g} s what it found")
        time.sleep(PAUSE)
    return found
