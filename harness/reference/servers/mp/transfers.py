"""The engine-driven transfer of the robust server: what is not committed is given up, what is being read stays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from harness.reference.servers.mp.store import OwnedStore
from mockserver.mp.contexts import EngineDriven
from wire.mp.objects import ObjectKey

Key = Mapping[str, Any]


class CarefulTransfers(EngineDriven):
    """Knows the request of every retrieve that is under way."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._readers: dict[tuple[int, bytes], str] = {}

    def prepare_retrieve(self, key: Key, instance_id: int) -> dict[str, Any]:
        """Where the chunks are; the request that reads them is noted."""
        answer = super().prepare_retrieve(key, instance_id)
        transfer = self._transfer(key, instance_id)
        if transfer in self._reads:
            self._readers[transfer] = key["request_id"]
        return answer

    def unregister(self, instance_id: int) -> None:
        """Forget an instance: what it was writing is given up, what it was reading given back."""
        store = self._owned
        for transfer in [transfer for transfer in self._writes if transfer[0] == instance_id]:
            store.abandon(self._writes.pop(transfer))
        for transfer in [transfer for transfer in self._reads if transfer[0] == instance_id]:
            store.owner = self._readers.pop(transfer, "")
            store.finish_read(self._reads.pop(transfer))
        super().unregister(instance_id)

    def being_read(self, request_id: str) -> Counter[ObjectKey]:
        """The objects that workers of a request are reading, and how many of them."""
        open_reads = (
            transfer for transfer, request in self._readers.items() if request == request_id and transfer in self._reads
        )
        return Counter(name for transfer in open_reads for name in self._reads[transfer])

    @property
    def _owned(self) -> OwnedStore:
        assert isinstance(self._store, OwnedStore)
        return self._store
