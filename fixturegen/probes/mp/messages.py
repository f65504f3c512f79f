"""Frames through the real client and server of the message queue, with sockets that remember in place of ZeroMQ.

The client's own outbound and inbound steps and the server's own message loop run; only what a socket and a poller would do is
played. Handlers only remember what they were given.
"""

import contextlib
import inspect
import logging
import queue
import threading

import zmq
from table import BY_NAME, MQ_SOURCE, mq, rpc
from values import build, describe

IDENTITY, UID = b"\0client", b"\x07"


class Socket:
    """One message to be received, and what was sent."""

    def __init__(self, *received):
        self.received = list(received)
        self.sent = []

    def recv_multipart(self):
        return self.received.pop(0)

    def send_multipart(self, frames):
        self.sent.append([bytes(frame) for frame in frames])

    def send(self, *_):
        pass


class Poller:
    """Says once that a socket can be read, then ends the loop."""

    def __init__(self, socket, finished):
        self.socket, self.finished = socket, finished

    def poll(self, _timeout):
        if self.finished.is_set() or not self.socket.received:
            self.finished.set()
            return []
        return [(self.socket, zmq.POLLIN)]


class Bell:
    """Stands for what wakes a thread."""

    def notify(self):
        pass

    def fileno(self):
        return -1


class Remembered(logging.Handler):
    """What the message queue logs as an error: it answers none of it."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.records = []

    def emit(self, record):
        self.records.append(record)


class Refused(Exception):
    """The peer did not take a message; ``effect`` says what became of its thread."""

    def __init__(self, error, effect):
        super().__init__(str(error))
        self.effect = effect
        self.__class__ = type(type(error).__name__, (Refused,), {})


@contextlib.contextmanager
def remembered_errors():
    found = Remembered()
    mq.logger.addHandler(found)
    try:
        yield found.records
    finally:
        mq.logger.removeHandler(found)


def mp_encode_request(args):
    operation = BY_NAME[args["operation"]]
    payloads = args["payloads"]
    kinds = list(operation.payloads) + [object] * (len(payloads) - len(operation.payloads))
    socket = Socket()
    client = bare_client(socket)
    future = client.submit_request(operation.upstream, [build(kind, value) for kind, value in zip(kinds, payloads, strict=False)])
    outbound = getattr(client, "process_outbound_task", None) or client._process_outbound_task
    try:
        outbound()
    except Exception as error:
        raise Refused(error, "the client's thread dies") from error
    if not socket.sent:
        try:
            future.result(timeout=0)
        except Exception as error:
            raise Refused(error, "the caller is told") from error
        raise AssertionError("the client sent nothing and reported nothing")
    ((_, *frames),) = socket.sent
    return {"frames": [{"hex": frame.hex()} for frame in frames]}


def mp_decode_request(args):
    taken = []
    server = bare_server(Socket([IDENTITY, UID, *(bytes.fromhex(frame["hex"]) for frame in args["frames"])]))
    for operation in BY_NAME.values():

        def handle(*payloads, name=operation.name):
            taken.append({"operation": name, "payloads": [describe(payload) for payload in payloads]})

        server.handlers[operation.upstream] = mq.SyncRequestHandler(list(operation.payloads), None, handle)
    run_server(server)
    if not taken:
        raise Refused(ValueError("no handler is called"), "ignored")
    return taken[0]


def mp_encode_reply(args):
    operation = BY_NAME[args["operation"]]
    result = None if operation.response is None else build(operation.response, args["result"])
    socket = Socket([IDENTITY, UID, operation_frame(operation)])
    server = bare_server(socket)
    server.handlers[operation.upstream] = mq.SyncRequestHandler([], operation.response, lambda: result)
    run_server(server)
    ((identity, uid, *frames),) = socket.sent
    if (identity, uid) != (IDENTITY, UID):
        raise AssertionError(f"the server answered {identity!r}, {uid!r}")
    return {"frames": [{"hex": frame.hex()} for frame in frames]}


def mp_decode_reply(args):
    operation = BY_NAME[args["operation"]]
    uid = mq.msgspec_encode(0, cls=int)
    socket = Socket([uid, *(bytes.fromhex(frame["hex"]) for frame in args["frames"])])
    client = bare_client(socket)
    future = mq.MessagingFuture()
    client.pending_futures[0] = (future, rpc.get_rpc_spec(operation.upstream)) if rpc is not None else future
    with remembered_errors() as errors:
        try:
            if hasattr(client, "process_inbound"):
                client.process_inbound()
            else:
                client._main_loop()
        except Exception as error:
            # The shared loop of newer releases drops the frame; a client with a thread of its own loses it.
            loop = getattr(mq, "ClientPollingLoop", None)
            survives = loop is not None and "except Exception" in inspect.getsource(loop)
            raise Refused(error, "dropped" if survives else "the client's thread dies") from error
    if errors:
        raise Refused(ValueError(errors[-1].getMessage()), "dropped")
    if not future.query():
        raise Refused(ValueError("no request waits for this reply"), "dropped")
    try:
        result = future.result(timeout=0)
    except Exception as error:
        raise Refused(error, "the caller is told") from error
    return {"result": describe(result)}


def bare_client(socket):
    """A real client without its threads and sockets."""
    client = object.__new__(mq.MessageQueueClient)
    client.socket = socket
    client.input_queue = queue.Queue()
    client.pending_futures, client.pending_streams = {}, {}
    client.request_counter, client._request_counter = 0, iter(range(10))
    client._polling_loop, client.task_notifier, client.task_waiter = Bell(), Socket(), Socket()
    client.is_finished = threading.Event()
    client.poller = Poller(socket, client.is_finished)
    return client


def bare_server(socket):
    """A real server without its threads and sockets."""
    server = object.__new__(mq.MessageQueueServer)
    server.socket = socket
    server.handlers, server.streams = {}, {}
    server.output_queue, server.output_waiter, server._output_efd = queue.Queue(), Socket(), Bell()
    server.is_finished = threading.Event()
    server.poller = Poller(socket, server.is_finished)
    return server


def run_server(server):
    """The real message loop for one message."""
    with remembered_errors() as errors:
        try:
            server._main_loop()
        except Exception as error:
            raise Refused(error, "the message thread dies") from error
    if errors:
        first = errors[0]
        cause = first.exc_info[1] if first.exc_info else next((a for a in reversed(first.args) if isinstance(a, Exception)), None)
        raise Refused(cause or ValueError(first.getMessage()), "dropped")


def operation_frame(operation):
    if rpc is None:
        return mq.msgspec_encode(operation.upstream, cls=type(operation.upstream))
    return mq.encode_operation(operation.upstream)


OPERATIONS = {
    "mp_encode_request": (f"{MQ_SOURCE}.MessageQueueClient.submit_request", mp_encode_request),
    "mp_decode_request": (f"{MQ_SOURCE}.MessageQueueServer._main_loop", mp_decode_request),
    "mp_encode_reply": (f"{MQ_SOURCE}.MessageQueueServer._main_loop", mp_encode_reply),
    "mp_decode_reply": (f"{MQ_SOURCE}.MessageQueueClient.process_inbound", mp_decode_reply),
}
