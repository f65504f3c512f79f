"""Defects in what a multiprocess server survives, seeded into the reference server."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from harness.mutants.servers.better_mp import ANY, SHARED, defect, with_store
from harness.reference.servers.mp import ReferenceMpServer
from harness.reference.servers.mp.engine import RobustEngine
from harness.reference.servers.mp.messages import RobustMessages
from harness.reference.servers.mp.store import OwnedStore
from harness.reference.servers.mp.transfers import CarefulTransfers
from mockserver.mp.messages import MessageThread
from mockserver.mp.objects import Layout, ObjectStore, StoredObject
from mockserver.mp.pool import PoolFullError
from mockserver.mp.requests import MessageThreadDies, Request, StreamControl
from mockserver.mp.sessions import HandlerError, Sessions
from wire.mp.objects import ObjectKey


class _DiesOf(RobustMessages):
    """A message thread that some messages end."""

    deadly: Callable[[Sequence[bytes]], bool] = staticmethod(lambda _: False)

    def read(self, frames: Sequence[bytes]) -> Request | StreamControl:
        """The operation, or the end."""
        if type(self).deadly(frames):
            raise MessageThreadDies("a message that this server does not survive")
        return super().read(frames)


@defect(
    "dies-of-one-frame",
    "A message that is taken apart before it is counted.",
    "unreadable.messages",
    "unreadable.captured",
    releases=ANY,
)
class DiesOfOneFrame(ReferenceMpServer):
    """Ends its message thread with a message of one frame."""

    class message_thread_class(_DiesOf):  # noqa: N801
        """One frame."""

        deadly = staticmethod(lambda frames: len(frames) < 2)


@defect("dies-of-nesting", "A decoder that calls itself.", "unreadable.messages", releases=ANY)
class DiesOfNesting(ReferenceMpServer):
    """Ends its message thread with an operation that is nested deep."""

    class message_thread_class(_DiesOf):  # noqa: N801
        """Depth."""

        deadly = staticmethod(lambda frames: len(frames) > 1 and frames[1][:100] == b"\x91" * 100)


@defect(
    "dies-of-empty-delimiter", "A server that was tried with one client.", "unreadable.messages", "conversations.*", releases=ANY
)
class DiesOfEmptyDelimiter(ReferenceMpServer):
    """Ends its message thread with an empty first frame."""

    class message_thread_class(_DiesOf):  # noqa: N801
        """An empty first frame."""

        deadly = staticmethod(lambda frames: len(frames) > 2 and not frames[0] and frames[1] == b"\x00")


@defect("waits-for-the-deaf", "A send that waits until the peer takes it.", "bounds.replies-that-nobody-reads", releases=ANY)
class WaitsForTheDeaf(ReferenceMpServer):
    """Waits for a peer that does not read."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Patient."""

        _send = MessageThread._send  # noqa: SLF001  # that of the mock, which waits as the real one does


@defect("keeps-for-the-deaf", "A queue without a limit for each peer.", "bounds.replies-that-nobody-reads", releases=ANY)
class KeepsForTheDeaf(ReferenceMpServer):
    """Keeps every reply that a peer does not read."""

    class message_thread_class(RobustMessages):  # noqa: N801
        """Keeps all."""

        def _keep(self, exchange: Any, identity: bytes, message: list[bytes]) -> None:
            del exchange
            from collections import deque

            self._sizes.setdefault(identity, 0)
            self._backlogs.setdefault(identity, deque()).append(message)
            self._sizes[identity] += sum(map(len, message))


@defect("loads-pickles", "pickle.loads on what a client sends.", "bounds.pickles", releases=ANY)
class LoadsPickles(ReferenceMpServer):
    """Does what the pickles of clients say, as far as this mutant lets them: it makes the folder that they would make."""

    class engine_class(RobustEngine):  # noqa: N801
        """Obeys."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result, after whatever the pickles wanted."""
            for one in payloads:
                _obey(one)
            return super().call(operation, payloads)


def _obey(value: Any) -> None:
    """Make the folder that a pickle of the cases would make; nothing is loaded here."""
    from pathlib import Path

    data = getattr(value, "data", value)
    if isinstance(value, list):
        for one in value:
            _obey(one)
    if not isinstance(data, bytes | memoryview) or b"mkdir" not in bytes(data):
        return
    for _, argument, _ in pickle_words(bytes(data)):
        if isinstance(argument, str) and argument.endswith("made-by-a-pickle"):
            Path(argument).mkdir(exist_ok=True)


def pickle_words(data: bytes) -> Iterable[tuple[Any, Any, int | None]]:
    """The instructions of a pickle, unloaded, as far as they can be read."""
    import pickletools

    try:
        yield from pickletools.genops(data)
    except (ValueError, pickle.UnpicklingError):
        return


@defect("keeps-sessions", "A session for every request, and the hope that it ends.", "bounds.requests-that-nobody-ends")
class KeepsSessions(ReferenceMpServer):
    """Keeps the tokens of all requests that nobody ends."""

    class engine_class(RobustEngine):  # noqa: N801
        """Remembers."""

        sessions_class = Sessions


@defect("commits-at-unregister", "A tidy end of whatever is open.", "bounds.stores-that-nobody-commits", releases=SHARED)
class CommitsAtUnregister(ReferenceMpServer):
    """Commits what an instance had prepared when it unregisters."""

    class engine_class(RobustEngine):  # noqa: N801
        """As the real one."""

        class contexts_class(CarefulTransfers):  # noqa: N801
            """Commits."""

            def unregister(self, instance_id: int) -> None:
                """Commit what is open, and forget the instance."""
                for transfer in [transfer for transfer in self._writes if transfer[0] == instance_id]:
                    self._store.finish_write(self._writes.pop(transfer))
                super().unregister(instance_id)


class _NobodysLocks(OwnedStore):
    """Locks without owners."""

    finish_read = ObjectStore.finish_read
    read_locked = ObjectStore.read_locked


@defect("locks-without-owner", "A counter for each chunk.", "bounds.locks-of-others")
class LocksWithoutOwner(ReferenceMpServer):
    """Takes locks from whoever has them when one gives back too many."""

    engine_class = with_store(_NobodysLocks)


@defect("ends-keep-locks", "A session that ends without looking at its locks.", "bounds.locks-end-with-their-request")
class EndsKeepLocks(ReferenceMpServer):
    """Keeps the locks of requests that have ended."""

    class engine_class(RobustEngine):  # noqa: N801
        """Forgets them."""

        def give_back(self, request_id: str) -> None:
            """Nothing."""


@defect("ends-take-open-reads", "A session whose end frees all that it had.", "bounds.open-retrieve", releases="0.5.6 and later")
class EndsTakeOpenReads(ReferenceMpServer):
    """Frees what a worker is still reading when its request ends."""

    class engine_class(RobustEngine):  # noqa: N801
        """Frees all."""

        def give_back(self, request_id: str) -> None:
            """All locks of the request."""
            for name, count in self.owned.held_by(request_id).items():
                self.owned.finish_read([name], count)


@defect("one-at-a-time", "A lock around everything, signs of life included.", "unreadable.demands")
class OneAtATime(ReferenceMpServer):
    """Does one request after the other, for as long as each takes."""

    class engine_class(RobustEngine):  # noqa: N801
        """Slow where much is asked."""

        _busy = threading.Lock()

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result, when all before are done; a long prompt takes its time."""
            with self._busy:
                first = payloads[0] if payloads else None
                if isinstance(first, dict) and len(first.get("token_ids", ())) > 1 << 17:
                    time.sleep(13.0)
                return super().call(operation, payloads)


@defect("fails-when-full", "An allocator that raises.", "lifecycle.full", releases=SHARED)
class FailsWhenFull(ReferenceMpServer):
    """Answers no store when its memory is full."""

    class engine_class(RobustEngine):  # noqa: N801
        """Raises."""

        class store_class(OwnedStore):  # noqa: N801
            """Raises."""

            def reserve_write(self, keys: Sequence[ObjectKey], layout: Layout) -> dict[ObjectKey, StoredObject]:
                """Places, or the end of the request."""
                found = super().reserve_write(keys, layout)
                missing = [name for name in keys if name not in found and name not in self._tables.resident]
                if missing:
                    raise HandlerError(str(PoolFullError(f"{len(missing)} places")))
                return found
