"""Objects whose read locks belong to requests, and writes that can be given up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from mockserver.mp import behaviour
from mockserver.mp.objects import ObjectStore, StoredObject
from wire.mp.objects import ObjectKey


class OwnedStore(ObjectStore):
    """The store of the mock; the caller says in ``owner`` for which request it asks."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.owner = ""
        """The request that is executed."""
        self._owners: dict[ObjectKey, Counter[str]] = {}

    def reserve_read(self, keys: Iterable[ObjectKey], locks: int) -> list[bool]:
        """Lock each key that can be read, for the owner."""
        names = list(keys)
        free = [name for name in names if not self.locks(name)]
        found = super().reserve_read(names, locks)
        for name in free:  # what was locked once and ran out is nobody's any more
            self._owners.pop(name, None)
        for name, there in zip(names, found, strict=True):
            if there:
                self._owners.setdefault(name, Counter())[self.owner] += _counted(locks)
        return found

    def read_locked(self, keys: Iterable[ObjectKey]) -> dict[ObjectKey, StoredObject]:
        """The objects among the keys that the owner has locked."""
        found = super().read_locked(keys)
        return {name: entry for name, entry in found.items() if self._held(name)}

    def finish_read(self, keys: Iterable[ObjectKey], locks: int = 1) -> None:
        """Give back locks of the owner, and no more than it has."""
        for name in keys:
            count = min(_counted(locks), self._held(name))
            if count:
                super().finish_read([name], count)
                self._owners[name][self.owner] -= count

    def held_by(self, owner: str) -> dict[ObjectKey, int]:
        """The locks of a request by object."""
        return {name: owners[owner] for name, owners in self._owners.items() if owners[owner] > 0}

    def abandon(self, keys: Sequence[ObjectKey]) -> None:
        """Give up objects that are being written: they are gone, and their places free."""
        for name in keys:
            table = self._tables.staged if name in self._tables.staged else self._tables.resident
            entry = table.get(name)
            if entry is not None and entry.write.held:
                del table[name]
                self._drop(name, entry)

    def _held(self, name: ObjectKey) -> int:
        return self._owners[name][self.owner] if name in self._owners else 0

    def _drop(self, key: ObjectKey, entry: StoredObject) -> None:
        super()._drop(key, entry)
        if key not in self._tables.resident:
            self._owners.pop(key, None)


def _counted(locks: int) -> int:
    return min(max(locks, 1), behaviour.MOST_READ_LOCKS)
