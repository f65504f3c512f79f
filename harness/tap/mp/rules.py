"""What is looked for in conversations with the multiprocess server, as a table."""

from __future__ import annotations

from typing import Final

from harness.tap.finding import Rule, rules

_SAME_RELEASE: Final = (
    "Run the client and the server from the same release; 'lmconform compat --protocol mp' tells what a pair does."
)
_NO_ERRORS: Final = "Nothing on this wire reports an error: look into the server's log at this moment."

RULES: Final = rules(
    # ZeroMQ
    Rule(
        "mp.zmtp.broken",
        "error",
        "The stream breaks the rules of ZMTP, and nothing behind that can be read.",
        advice="Something that is no ZeroMQ socket speaks here, or bytes were lost on the way.",
    ),
    Rule(
        "mp.zmtp.old",
        "error",
        "The peer speaks an old version of ZMTP, which is not read here.",
        advice="Use a ZeroMQ of version 4 or later, as lmcache does.",
    ),
    Rule(
        "mp.zmtp.gap",
        "warning",
        "Bytes are missing in the recording, so the rest of this side cannot be read.",
        advice="Record without leaving anything out, or without redaction, to see the rest.",
    ),
    Rule(
        "mp.zmtp.mechanism",
        "note",
        "The connection is secured by ZeroMQ, so what it carries cannot be seen.",
        advice="No release of lmcache uses one; record where the connection is not encrypted.",
    ),
    Rule(
        "mp.zmtp.error",
        "error",
        "A side ended the handshake with an ERROR.",
        advice="The reason that it gives is all that there is.",
    ),
    Rule("mp.zmtp.ready", "error", "The metadata of READY cannot be read.", advice="This is no libzmq; its handshake is wrong."),
    Rule(
        "mp.zmtp.socket",
        "error",
        "A side has another socket type than the protocol wants: DEALER for clients, ROUTER for servers.",
        "MP-FRAME-001",
        "A REQ socket puts an empty frame before the request, and that ends the server up to 0.5.5; open a DEALER.",
    ),
    Rule(
        "mp.zmtp.silent",
        "warning",
        "A connection ended before its handshake was over.",
        advice="A health check that only opens the port does this, and it harms nobody; otherwise look at both logs.",
    ),
    Rule(
        "mp.zmtp.heartbeat",
        "warning",
        "A heartbeat of ZeroMQ was not answered.",
        advice="The other side hangs, or the network lost bytes.",
    ),
    # Messages
    Rule(
        "mp.frames.single",
        "error",
        "A message of a single frame, which ends the message thread of every release.",
        "MP-FRAME-001",
        "A request has its uid and its operation at least.",
    ),
    Rule(
        "mp.frames.delimiter",
        "error",
        "An empty frame stands where the uid is due, as a REQ socket sends it.",
        "MP-FRAME-001",
        "Open a DEALER, and send no empty frame.",
    ),
    Rule(
        "mp.frames.oversized",
        "warning",
        "A frame is larger than anything that lmcache sends.",
        advice="A server reads it whole into memory; look at what the sender put there.",
    ),
    Rule("mp.frames.many", "warning", "A message has more frames than any request.", "MP-FRAME-001"),
    Rule(
        "mp.uid.reused",
        "error",
        "A uid is used again while its first request is open.",
        "MP-FRAME-002",
        "Count uids up; the replies to these two cannot be told apart.",
    ),
    Rule(
        "mp.reply.unasked",
        "error",
        "A reply has a uid that no open request has.",
        "SRV-MP-001",
        "If the request was sent before the recording began this is harmless.",
    ),
    Rule("mp.reply.twice", "error", "A request was answered twice.", "SRV-MP-001"),
    Rule("mp.reply.short", "error", "A message of the server has no operation behind its uid.", "SRV-MP-001"),
    Rule(
        "mp.reply.echo",
        "error",
        "A reply names another operation than its request.",
        "SRV-MP-001",
        "The reply must begin with uid and operation byte for byte as they were sent.",
    ),
    # Requests, and the release of the server
    Rule(
        "mp.operation.other",
        "error",
        "The number of the request means another operation to the server, which executes that.",
        "MP-REQ-001",
        _SAME_RELEASE,
    ),
    Rule(
        "mp.operation.dropped",
        "error",
        "The number of the request means another operation to the server, which drops it.",
        "MP-REQ-001",
        _SAME_RELEASE,
    ),
    Rule(
        "mp.operation.kills",
        "error",
        "The server has no such operation, and that ends its message thread.",
        "MP-REQ-001",
        "Start the server again, and run the client and the server from the same release; "
        "'lmconform compat --protocol mp' tells what a pair does.",
    ),
    Rule(
        "mp.operation.unknown", "error", "The server has no such operation, and drops the request.", "MP-REQ-001", _SAME_RELEASE
    ),
    Rule(
        "mp.payload.count",
        "error",
        "A request has more or fewer payloads than the server's release takes.",
        "MP-REQ-002",
        _SAME_RELEASE,
    ),
    Rule("mp.payload.type", "error", "A payload is not what the server's release takes.", "MP-REQ-002", _SAME_RELEASE),
    Rule(
        "mp.payload.readers",
        "error",
        "A lookup counts no readers, which servers from 0.5.5 on drop for a registered model.",
        "MP-KEY-003",
        "Send num_kv_readers of at least 1, as clients from 0.5.5 on do.",
    ),
    Rule(
        "mp.payload.differs",
        "note",
        "A request is read as it was meant, but lmcache of the server's release writes it otherwise.",
        "MP-FRAME-003",
    ),
    Rule(
        "mp.operation.either",
        "warning",
        "What a request means to its sender is not known, and one of its meanings does harm.",
        "MP-REQ-001",
        "Name the release of the clients with --profile, or record from their start.",
    ),
    # Replies
    Rule("mp.reply.form", "error", "A reply is not what the client's release reads.", "MP-REPLY-003", _SAME_RELEASE),
    Rule("mp.reply.nil", "error", "A reply has no result where the client's release wants one.", "MP-REPLY-003", _SAME_RELEASE),
    Rule("mp.reply.failed", "note", "The server answered that the operation failed.", advice="The server's log may say why."),
    Rule("mp.reply.slow", "note", "A request was answered late."),
    Rule("mp.request.unanswered", "warning", "A request was not answered.", "SRV-MP-003", _NO_ERRORS),
    Rule(
        "mp.request.cut",
        "warning",
        "A connection ended while a request was open.",
        "MP-CONN-001",
        "Whether it was executed is not known, so it must not be sent again.",
    ),
    Rule(
        "mp.server.dead",
        "error",
        "The server answers nothing any more, and not even what it answered before.",
        "MP-SRV-004",
        "Its message thread is dead or stuck: start it again, and look at the request after which it fell silent.",
    ),
    # Keys and flows
    Rule(
        "mp.key.worker",
        "warning",
        "The worker of a key is not as the operation wants it.",
        "MP-KEY-002",
        "Nil in LOOKUP and FREE_LOOKUP_LOCKS, the rank in operations that move bytes.",
    ),
    Rule("mp.key.range", "warning", "The range of a key is not within its tokens.", "MP-KEY-010"),
    Rule(
        "mp.key.chunks",
        "warning",
        "The range of a key does not begin and end with whole chunks of the server.",
        "MP-KEY-006",
        "Ask GET_CHUNK_SIZE, and leave out the tokens behind the last whole chunk.",
    ),
    Rule("mp.key.tokens", "error", "A token is no number of four bytes.", "MP-KEY-007"),
    Rule(
        "mp.key.spelling",
        "warning",
        "The same tokens are stored under another key, so that this lookup cannot find them.",
        "MP-ID-001",
        "Compare model name, world size and cache salt of the two engines letter by letter.",
    ),
    Rule(
        "mp.flow.unregistered",
        "note",
        "An instance is used that was not registered on any connection of this recording.",
        "MP-FLOW-010",
        "Servers drop what they do not know; if the recording began after its registration this is harmless.",
    ),
    Rule(
        "mp.flow.locks",
        "warning",
        "A lookup found chunks, and nothing gave its read locks back.",
        "MP-LOCK-001",
        "End each lookup with a retrieve or FREE_LOOKUP_LOCKS; locks that are left over end after minutes.",
    ),
    Rule("mp.flow.free", "warning", "FREE_LOOKUP_LOCKS has another key than the lookup of this request.", "MP-LOCK-002"),
    Rule(
        "mp.flow.store",
        "warning",
        "Slots of PREPARE_STORE were not committed.",
        "MP-REQ-007",
        "The objects stay under write locks that nobody gives back.",
    ),
    Rule("mp.flow.retrieve", "warning", "A retrieve that began was not ended by COMMIT_RETRIEVE.", "MP-LOCK-003"),
    Rule("mp.heartbeat.unanswered", "warning", "A PING was not answered, and other requests were.", "MP-FLOW-001", _NO_ERRORS),
    # Both sides
    Rule("mp.sides.differ", "error", "Client and server are of releases that do not speak alike.", advice=_SAME_RELEASE),
    Rule(
        "mp.sides.may-differ",
        "warning",
        "The client writes as another release does, but nothing that the server's release refuses.",
        advice=(
            "If the client is lmcache itself, its release differs from the server's; another implementation may write so as well."
        ),
    ),
    Rule(
        "mp.sides.profile", "error", "A side is not of the release that was named.", advice="Name the right one with --profile."
    ),
    Rule(
        "mp.clients.differ",
        "warning",
        "The clients of this recording are of different releases.",
        advice="Each connection is judged by its own; run all engines from one release.",
    ),
    Rule(
        "mp.stranger", "note", "No release of lmcache writes just this: it is another implementation, or altered.", "MP-FRAME-003"
    ),
)
