"""The robust server as a whole: the mock, with other messages and another engine."""

from __future__ import annotations

from typing import Any, ClassVar

from harness.reference.servers.mp.engine import RobustEngine
from harness.reference.servers.mp.messages import RobustMessages
from mockserver.mp import MpServer
from mockserver.mp.engine import Engine
from mockserver.mp.journal import MpJournal
from mockserver.mp.messages import MessageThread
from wire.release import Release

JOURNAL_EXCHANGES = 1024
JOURNAL_BYTES = 8 << 20


class ReferenceMpServer(MpServer):
    """A multiprocess server of one release that every MUST and every SHOULD of servers is held to be true of.

    It has the faults and the journal of the mock, but keeps less in the journal: that is memory, too.
    """

    engine_class: ClassVar[type[Engine]] = RobustEngine
    message_thread_class: ClassVar[type[MessageThread]] = RobustMessages

    def __init__(self, release: str | Release, **options: Any) -> None:
        options.setdefault("journal", MpJournal(max_exchanges=JOURNAL_EXCHANGES, retain_bytes=JOURNAL_BYTES))
        super().__init__(release, **options)
