"""What is looked for in conversations with the multiprocess server, as a table."""

from __future__ import annotations

from typing import Final

from harness.tap.finding import Rule, rules

_SAME_RELEASE: Final = (
    "run the client and the server from the same release; 'lmconform compat --protocol mp' tells what a pair does"
)
_NO_ERRORS: Final = "nothing on this wire reports an error: look into the server's log at this moment"

RULES: Final = rules(
    # ZeroMQ
    Rule(
        "mp.zmtp.broken",
        "error",
        "the stream breaks the rules of ZMTP, and nothing behind that can be read",
        advice="something that is no ZeroMQ socket speaks here, or bytes were lost on the way",
    ),
    Rule(
        "mp.zmtp.old",
        "error",
        "the peer speaks an old version of ZMTP, which is not read here",
        advice="use a ZeroMQ of version 4 or later, as lmcache does",
    ),
    Rule(
        "mp.zmtp.gap",
        "warning",
        "bytes are missing in the recording, so the rest of this side cannot be read",
        advice="record without leaving anything out, or without redaction, to see the rest",
    ),
    Rule(
        "mp.zmtp.mechanism",
        "note",
        "the connection is secured by ZeroMQ, so what it carries cannot be seen",
        advice="lmcache uses no mechanism (NULL); record where it is not encrypted",
    ),
    Rule(
        "mp.zmtp.error",
        "error",
        "a side ended the handshake with an ERROR",
        advice="the reason that it gives is all that there is",
    ),
    Rule("mp.zmtp.ready", "error", "the metadata of READY cannot be read", advice="this is no libzmq; its handshake is wrong"),
    Rule(
        "mp.zmtp.socket",
        "error",
        "a side has another socket type than the protocol wants: DEALER for clients, ROUTER for servers",
        "MP-FRAME-001",
        "a REQ socket puts an empty frame before the request, and that ends the server up to 0.5.5; open a DEALER",
    ),
    Rule(
        "mp.zmtp.silent",
        "warning",
        "a connection ended before its handshake was over",
        advice="a health check that only opens the port does this, and it harms nobody; otherwise look at both logs",
    ),
    Rule(
        "mp.zmtp.heartbeat",
        "warning",
        "a heartbeat of ZeroMQ was not answered",
        advice="the other side hangs, or the network lost bytes",
    ),
    # Messages
    Rule(
        "mp.frames.single",
        "error",
        "a message of a single frame, which ends the message thread of every release",
        "MP-FRAME-001",
        "a request has its uid and its operation at least",
    ),
    Rule(
        "mp.frames.delimiter",
        "error",
        "an empty frame stands where the uid is due, as a REQ socket sends it",
        "MP-FRAME-001",
        "open a DEALER, and send no empty frame",
    ),
    Rule(
        "mp.frames.oversized",
        "warning",
        "a frame is larger than anything that lmcache sends",
        advice="a server reads it whole into memory; look at what the sender put there",
    ),
    Rule("mp.frames.many", "warning", "a message has more frames than any request", "MP-FRAME-001"),
    Rule(
        "mp.uid.reused",
        "error",
        "a uid is used again while its first request is open",
        "MP-FRAME-002",
        "count uids up; the replies to these two cannot be told apart",
    ),
    Rule(
        "mp.reply.unasked",
        "error",
        "a reply has a uid that no open request has",
        "SRV-MP-001",
        "if the request was sent before the recording began this is harmless",
    ),
    Rule("mp.reply.twice", "error", "a request was answered twice", "SRV-MP-001"),
    Rule("mp.reply.short", "error", "a message of the server has no operation behind its uid", "SRV-MP-001"),
    Rule(
        "mp.reply.echo",
        "error",
        "a reply names another operation than its request",
        "SRV-MP-001",
        "the reply must begin with uid and operation byte for byte as they were sent",
    ),
    # Requests and the release of the server
    Rule(
        "mp.operation.other",
        "error",
        "the number of the request means another operation to the server, which executes that",
        "MP-REQ-001",
        _SAME_RELEASE,
    ),
    Rule(
        "mp.operation.dropped",
        "error",
        "the number of the request means another operation to the server, which drops it",
        "MP-REQ-001",
        _SAME_RELEASE,
    ),
    Rule(
        "mp.operation.kills",
        "error",
        "the server has no such operation, and that ends its message thread",
        "MP-REQ-001",
        f"start the server again, and {_SAME_RELEASE}",
    ),
    Rule("mp.operation.unknown", "error", "the server has no such operation, and drops the request", "MP-REQ-001", _SAME_RELEASE),
    Rule(
        "mp.payload.count",
        "error",
        "a request has more or fewer payloads than the server's release takes",
        "MP-REQ-002",
        _SAME_RELEASE,
    ),
    Rule("mp.payload.type", "error", "a payload is not what the server's release takes", "MP-REQ-002", _SAME_RELEASE),
    Rule(
        "mp.payload.readers",
        "error",
        "a lookup counts no readers, which servers from 0.5.5 on drop for a registered model",
        "MP-KEY-003",
        "send num_kv_readers of at least 1, as clients from 0.5.5 on do",
    ),
    Rule(
        "mp.payload.differs",
        "note",
        "a request is read as it was meant, but lmcache of the server's release writes it otherwise",
        "MP-FRAME-003",
    ),
    Rule(
        "mp.operation.either",
        "warning",
        "what a request means to its sender is not known, and one of its meanings does harm",
        "MP-REQ-001",
        "name the release of the clients with --profile, or record from their start",
    ),
    # Replies
    Rule(
        "mp.reply.form",
        "error",
        "a reply is not what the client's release reads",
        "MP-REPLY-003",
        _SAME_RELEASE,
    ),
    Rule("mp.reply.nil", "error", "a reply has no result where the client's release wants one", "MP-REPLY-003", _SAME_RELEASE),
    Rule("mp.reply.failed", "note", "the server answered that the operation failed", advice="the server's log may say why"),
    Rule("mp.reply.slow", "note", "a request was answered late"),
    Rule("mp.request.unanswered", "warning", "a request was not answered", "SRV-MP-003", _NO_ERRORS),
    Rule(
        "mp.request.cut",
        "warning",
        "a connection ended while a request was open",
        "MP-CONN-001",
        "whether it was executed is not known, so it must not be sent again",
    ),
    Rule(
        "mp.server.dead",
        "error",
        "the server answers nothing any more, and not even what it answered before",
        "MP-SRV-004",
        "its message thread is dead or stuck: start it again, and look at the request after which it fell silent",
    ),
    # Keys and flows
    Rule(
        "mp.key.worker",
        "warning",
        "the worker of a key is not as the operation wants it",
        "MP-KEY-002",
        "nil in LOOKUP and FREE_LOOKUP_LOCKS, the rank in operations that move bytes",
    ),
    Rule("mp.key.range", "warning", "the range of a key is not within its tokens", "MP-KEY-010"),
    Rule(
        "mp.key.chunks",
        "warning",
        "the range of a key does not begin and end with whole chunks of the server",
        "MP-KEY-006",
        "ask GET_CHUNK_SIZE, and leave out the tokens behind the last whole chunk",
    ),
    Rule("mp.key.tokens", "error", "a token is no number of four bytes", "MP-KEY-007"),
    Rule(
        "mp.key.spelling",
        "warning",
        "the same tokens are stored under another key, so that this lookup cannot find them",
        "MP-ID-001",
        "compare model name, world size and cache salt of the two engines letter by letter",
    ),
    Rule(
        "mp.flow.unregistered",
        "note",
        "an instance is used that was not registered on any connection of this recording",
        "MP-FLOW-010",
        "servers drop what they do not know; if the recording began after its registration this is harmless",
    ),
    Rule(
        "mp.flow.locks",
        "warning",
        "a lookup found chunks, and nothing gave its read locks back",
        "MP-LOCK-001",
        "end each lookup with a retrieve or FREE_LOOKUP_LOCKS; locks that are left over end after minutes",
    ),
    Rule("mp.flow.free", "warning", "FREE_LOOKUP_LOCKS has another key than the lookup of this request", "MP-LOCK-002"),
    Rule(
        "mp.flow.store",
        "warning",
        "slots of PREPARE_STORE were not committed",
        "MP-REQ-007",
        "the objects stay under write locks that nobody gives back",
    ),
    Rule("mp.flow.retrieve", "warning", "a retrieve that began was not ended by COMMIT_RETRIEVE", "MP-LOCK-003"),
    Rule("mp.heartbeat.unanswered", "warning", "a PING was not answered, and other requests were", "MP-FLOW-001", _NO_ERRORS),
    # Both sides
    Rule("mp.sides.differ", "error", "client and server are of releases that do not speak alike", None, _SAME_RELEASE),
    Rule(
        "mp.sides.may-differ",
        "warning",
        "the client writes as another release does, but nothing that the server's release refuses",
        None,
        "if the client is lmcache itself, its release differs from the server's; another implementation may write so as well",
    ),
    Rule("mp.sides.profile", "error", "a side is not of the release that was named", None, "name the right one with --profile"),
    Rule(
        "mp.clients.differ",
        "warning",
        "the clients of this recording are of different releases",
        None,
        "each connection is judged by its own; run all engines from one release",
    ),
    Rule(
        "mp.stranger", "note", "no release of lmcache writes just this: it is another implementation, or altered", "MP-FRAME-003"
    ),
)
