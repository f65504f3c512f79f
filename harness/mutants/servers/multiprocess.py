"""Defects of a multiprocess server: in its messages, and in what its operations do."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from harness.mutants.mutant import mp_server_mutant
from mockserver.mp import MpServer
from mockserver.mp.engine import Engine
from mockserver.mp.messages import MessageThread
from mockserver.mp.outgoing import Outgoing
from mockserver.mp.requests import Dropped, MessageThreadDies, Request, StreamControl
from mockserver.mp.sessions import HandlerError
from wire.mp.values import pack


class Messages(MessageThread):
    """A message thread whose replies are changed on their way out."""

    def reply(self, outgoing: Outgoing) -> list[bytes]:
        """The changed reply; none stays none."""
        message = super().reply(outgoing)
        return self.change(message) if message else message

    def change(self, message: list[bytes]) -> list[bytes]:
        """The frames of a reply as this server sends them."""
        return message


def after(name: str, change: Callable[[Engine, Any, Sequence[Any]], Any]) -> type[Engine]:
    """An engine in which ``change`` makes another result of the result of one operation and of its payloads."""

    class Changed(Engine):
        """One operation has another result."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result, changed for one operation."""
            with self.lock:
                result = super().call(operation, payloads)
                return change(self, result, payloads) if operation == name else result

    return Changed


def instead(name: str, handler: Callable[[Engine, Sequence[Any]], Any]) -> type[Engine]:
    """An engine that executes something else for one operation."""

    class Replaced(Engine):
        """One operation does something else."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result of the operation, or of what stands in its place."""
            with self.lock:
                return handler(self, payloads) if operation == name else super().call(operation, payloads)

    return Replaced


@mp_server_mutant("mp-server-counts-replies", stands_for="A uid that is taken for a number and made anew.")
class CountsReplies(MpServer):
    """Answers with a uid of its own."""

    class message_thread_class(Messages):  # noqa: N801  # stands in for the attribute
        """Other uids."""

        def change(self, message: list[bytes]) -> list[bytes]:
            """Another uid."""
            return [pack(1 << 40), *message[1:]]


@mp_server_mutant("mp-server-echoes-no-operation", stands_for="A reply that only carries what is new to the client.")
class EchoesNoOperation(MpServer):
    """Leaves the operation out of its replies."""

    class message_thread_class(Messages):  # noqa: N801
        """No operation."""

        def change(self, message: list[bytes]) -> list[bytes]:
            """Without the second frame."""
            return [message[0], *message[2:]]


@mp_server_mutant("mp-server-sends-nil", stands_for="A reply that always has three frames.")
class SendsNil(MpServer):
    """Sends nil as a third frame where there is no result."""

    class message_thread_class(Messages):  # noqa: N801
        """A third frame always."""

        def change(self, message: list[bytes]) -> list[bytes]:
            """With nil where there is no result."""
            return [*message, b"\xc0"] if len(message) == 2 else message


@mp_server_mutant("mp-server-survives-everything", stands_for="The message loop that one would write.")
class SurvivesEverything(MpServer):
    """Passes over messages that end the message thread of the real server."""

    class message_thread_class(MessageThread):  # noqa: N801
        """Never dies."""

        def read(self, frames: Sequence[bytes]) -> Request | StreamControl:
            """The operation, or nothing."""
            try:
                return super().read(frames)
            except MessageThreadDies as why:
                raise Dropped(str(why)) from None


@mp_server_mutant("mp-server-dies-of-unknown", releases="0.5.6 and later", stands_for="The message loop of 0.5.5.")
class DiesOfUnknown(MpServer):
    """Ends its message thread with the first message that it does not know."""

    class message_thread_class(MessageThread):  # noqa: N801
        """Dies early."""

        def read(self, frames: Sequence[bytes]) -> Request | StreamControl:
            """The operation, or the end."""
            try:
                return super().read(frames)
            except Dropped as why:
                raise MessageThreadDies(str(why)) from None


@mp_server_mutant("mp-server-answers-failures", stands_for="An error reply, which this wire does not have.")
class AnswersFailures(MpServer):
    """Answers a request whose handler failed, with false."""

    class engine_class(Engine):  # noqa: N801
        """Never fails."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result, or false."""
            try:
                return super().call(operation, payloads)
            except (HandlerError, TypeError, KeyError, ValueError, OverflowError, ArithmeticError):
                return False


@mp_server_mutant("mp-server-clears-nothing", stands_for="A CLEAR that is taken for advice.", releases="0.4.6 and later")
class ClearsNothing(MpServer):
    """Answers CLEAR and removes nothing."""

    engine_class = instead("CLEAR", lambda _, __: None)


@mp_server_mutant("mp-server-clears-locked", stands_for="A CLEAR that does not ask for locks.", releases="0.4.6 and later")
class ClearsLocked(MpServer):
    """Removes locked objects as well, whatever the flag says."""

    engine_class = instead("CLEAR", lambda engine, _: engine.store.clear(force=True))


@mp_server_mutant("mp-server-forgets-salts", stands_for="A salt that is kept out of the identity.", releases="0.4.6 and later")
class ForgetsSalts(MpServer):
    """Takes no notice of the salt of a key."""

    class engine_class(Engine):  # noqa: N801
        """Keys without salt."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result for keys without salt."""
            bare = [{**one, "cache_salt": ""} if isinstance(one, dict) and "cache_salt" in one else one for one in payloads]
            return super().call(operation, bare)


@mp_server_mutant("mp-server-hits-count-tokens", stands_for="Hits in tokens, as lm clients count.", releases="0.4.6 and later")
class HitsCountTokens(MpServer):
    """Tells hits in tokens instead of chunks."""

    engine_class = after(
        "QUERY_PREFETCH_STATUS", lambda engine, hits, _: hits * engine.chunk_size if isinstance(hits, int) else hits
    )


@mp_server_mutant(
    "mp-server-keeps-read-locks", stands_for="A COMMIT_RETRIEVE that only acknowledges.", releases="0.4.6 and later"
)
class KeepsReadLocks(MpServer):
    """Answers COMMIT_RETRIEVE and gives back no lock."""

    engine_class = instead("COMMIT_RETRIEVE", lambda _, __: True)


@mp_server_mutant(
    "mp-server-frees-nothing", stands_for="A FREE_LOOKUP_LOCKS that waits for the lock to be over.", releases="0.4.6 and later"
)
class FreesNothing(MpServer):
    """Answers FREE_LOOKUP_LOCKS and gives back no lock."""

    engine_class = instead("FREE_LOOKUP_LOCKS", lambda _, __: None)


@mp_server_mutant(
    "mp-server-stores-nothing", stands_for="A COMMIT_STORE that trusts whoever comes next.", releases="0.4.6 and later"
)
class StoresNothing(MpServer):
    """Answers COMMIT_STORE with true and commits nothing."""

    engine_class = instead("COMMIT_STORE", lambda _, __: True)


@mp_server_mutant("mp-server-other-chunk-size", stands_for="A default that was written down elsewhere.")
class OtherChunkSize(MpServer):
    """Tells a chunk size that is not the one it works with."""

    engine_class = instead("GET_CHUNK_SIZE", lambda _, __: 256)


@mp_server_mutant("mp-server-loses-its-pool", stands_for="A response whose fields have defaults.", releases="0.4.7 and later")
class LosesItsPool(MpServer):
    """Tells the name of its pool and not how large it is."""

    class engine_class(Engine):  # noqa: N801
        """A response without a size."""

        def call(self, operation: str, payloads: list[Any]) -> Any:
            """The result, without the size of the pool."""
            result = super().call(operation, payloads)
            return {**result, "pool_size": 0} if isinstance(result, dict) and "pool_size" in result else result


@mp_server_mutant("mp-server-answers-twice", stands_for="A retry below the reply.")
class AnswersTwice(MpServer):
    """Sends each reply twice."""

    class message_thread_class(MessageThread):  # noqa: N801
        """Two of each."""

        def _dispatch(self, exchange: Any, identity: bytes, outgoing: Outgoing) -> None:
            super()._dispatch(exchange, identity, dataclasses.replace(outgoing, copies=2))
