"""Calls a plugin as the real server does: submits, waits for the descriptor, drains."""

import ctypes
import select
from dataclasses import dataclass

PATIENCE_MS = 20_000
BLANK = 0xA5


def view_of(content):
    """Memory as the server hands it over, and the array behind it."""
    memory = (ctypes.c_ubyte * len(content)).from_buffer(bytearray(content))
    return memoryview(memory), memory


@dataclass
class Ended:
    ok: bool
    error: str
    each: list | None


class Caller:
    def __init__(self, plugin):
        self.plugin = plugin
        self._ended = {}

    def wait(self, number):
        poller = select.poll()
        poller.register(self.plugin.event_fd(), select.POLLIN)
        while number not in self._ended:
            assert poller.poll(PATIENCE_MS), f"no completion of {number}"
            for of, ok, error, each in self.plugin.drain_completions():
                self._ended[of] = Ended(ok, error, each)
        return self._ended.pop(number)

    def submit_store(self, objects):
        return self.plugin.submit_batch_set(list(objects), [view_of(data)[0] for data in objects.values()])

    def store(self, objects):
        return self.wait(self.submit_store(objects))

    def load(self, sizes):
        """What was found by key, and what every buffer holds by key."""
        memory = {key: view_of(bytes([BLANK]) * size) for key, size in sizes.items()}
        ended = self.wait(self.plugin.submit_batch_get(list(sizes), [view for view, _ in memory.values()]))
        return dict(zip(sizes, ended.each, strict=True)), {key: bytes(array) for key, (_, array) in memory.items()}

    def holds(self, key, data):
        """Whether a load brings exactly this; a miss must leave the buffer alone."""
        found, content = self.load({key: len(data)})
        assert found[key] or content[key] == bytes([BLANK]) * len(data)
        return found[key] and content[key] == data

    def look(self, keys):
        return self.wait(self.plugin.submit_batch_exists(keys)).each

    def delete(self, keys):
        return self.wait(self.plugin.submit_batch_delete(keys)).each

    def count(self, *names):
        numbers = self.plugin.statistics()
        return tuple(numbers[name] for name in names)
