"""lmcache's own client of the multiprocess server, whatever shape the release gives it.

Until 0.5.4 callers hand a member of the request enumeration to ``MessageQueueClient``; from 0.5.5 on they call a method of a
``RequestClient``, which a factory makes and which hands it on to that client.
"""

import functools
import inspect
import threading
import typing

import zmq

try:
    from lmcache.v1.multiprocess.transport.factory import RequestClientFactory as Factory
except ImportError:
    Factory = None

if Factory is None:
    from lmcache.v1.multiprocess.mq import MessageQueueClient
    from lmcache.v1.multiprocess.protocol import RequestType, get_payload_classes, get_response_class
else:
    from lmcache.v1.multiprocess.transport.base import RequestClient


class Absent(Exception):
    """The release does not have the operation."""


LEAVING = 0.1
"""Seconds that closing waits until ZeroMQ has let go of its descriptors, which it does not while a request is left unsent."""


class Peer:
    """One client of one server; ``timeout`` is how many seconds a caller waits for each reply.

    The context of ZeroMQ is a caller's to choose. Each client has its own, as in lmcache's adapter for TensorRT-LLM, so that what
    a closed one still does in the background does not reach the next.
    """

    def __init__(self, host, port, timeout):
        self.timeout = timeout
        self.context = zmq.Context()
        address = f"tcp://{host}:{port}"
        if Factory is None:
            self.client = MessageQueueClient(address, self.context)
        else:
            self.client = Factory.create(address, context=self.context)

    @functools.cached_property
    def chunk_tokens(self):
        """What the server answers to GET_CHUNK_SIZE, which lmcache's workers and schedulers ask once, when they start."""
        return self.ask("GET_CHUNK_SIZE")

    def ask(self, operation, *payloads):
        """The result of one request.

        Raises:
            TimeoutError: it did not come in time.
            Absent: the release does not have the operation.
        """
        return self.send(operation, *payloads).result(timeout=self.timeout)

    def send(self, operation, *payloads):
        """lmcache's future of the result."""
        if not has(operation):
            raise Absent(f"this release has no {operation}")
        if Factory is None:
            kind = RequestType[operation]
            return self.client.submit_request(kind, list(payloads), get_response_class(kind))
        return getattr(self.client, operation.lower())(*payloads)

    def close(self):
        self.client.close()
        leaving = threading.Thread(target=self.context.term, daemon=True)
        leaving.start()
        leaving.join(timeout=LEAVING)


def has(operation):
    """Whether the release has an operation, by its name in capitals."""
    if Factory is None:
        return operation in RequestType.__members__
    return hasattr(RequestClient, operation.lower())


def takes(operation):
    """How many payloads the operation has in this release."""
    if Factory is None:
        return len(get_payload_classes(RequestType[operation]))
    return len(inspect.signature(getattr(RequestClient, operation.lower())).parameters) - 1


def takes_list(operation):
    """Whether the first payload of the operation is a list in this release; only old ones have such operations here."""
    return Factory is None and typing.get_origin(get_payload_classes(RequestType[operation])[0]) is list


def replies_with_result(operation):
    """Whether a reply to the operation holds something in this release, of those that have no ``RequestClient``."""
    return Factory is None and get_response_class(RequestType[operation]) is not None


def send_request(client, kind, payloads):
    """What the transfer contexts of releases before 0.5.5 are given to send with."""
    return client.submit_request(kind, payloads, get_response_class(kind))
