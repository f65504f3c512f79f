"""Takes down what an adapter tells its listeners, which in the server decide what is evicted."""

import threading
import time

try:
    from lmcache.v1.distributed.internal_api import L2AdapterListener
except ImportError:  # 0.4.2 has no listeners
    L2AdapterListener = object


class Listener(L2AdapterListener):
    def __init__(self, written):
        self._written = written
        self._lock = threading.Lock()
        self._events = []

    def on_l2_keys_stored(self, keys, sizes=None):  # sizes: from 0.4.7 on
        self._note("stored", keys, sizes)

    def on_l2_keys_accessed(self, keys):
        self._note("accessed", keys)

    def on_l2_keys_deleted(self, keys):
        self._note("deleted", keys)

    def _note(self, what, keys, sizes=None):
        event = {"event": what, "keys": [self._written(key) for key in keys], "at": time.monotonic()}
        if sizes is not None:
            event["sizes"] = [int(size) for size in sizes]
        with self._lock:
            self._events.append(event)

    def take(self):
        """What was told since the last call."""
        with self._lock:
            events, self._events = self._events, []
            return events
