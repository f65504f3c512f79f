"""What is looked for in every ``lm://`` conversation."""

from __future__ import annotations

from typing import Final

from harness.tap.finding import Rule, rules

_STEP: Final = "Compare the length that the header before it announced with the bytes that followed it."
_RELEASES: Final = (
    "Let both sides speak one generation of the wire: update the older one, or set the client to the server's release."
)

LM_RULES: Final = rules(
    # requests
    Rule(
        "unknown-command",
        "error",
        "A request has a command that no release knows.",
        "LM-REQ-005",
        "From 0.3.6 on a server ends the connection at it, before that it ignores it in silence.",
    ),
    Rule(
        "unknown-format",
        "error",
        "A header has a format that the release does not have.",
        "LM-REQ-007",
        "A server ends the connection at it. Formats 7 and 8 came with 0.4.5 and 0.5.1.",
    ),
    Rule(
        "unknown-dtype", "error", "A header has a dtype that is in no table.", "LM-REQ-006", "A server ends the connection at it."
    ),
    Rule(
        "unknown-location",
        "error",
        "A header has a location that is in no table.",
        "LM-REQ-008",
        "A server ends the connection at it. In requests the location stands in the middle, in replies at the end.",
    ),
    Rule("half-dtype", "note", "A header has dtype 1, which no release writes; servers read it as float16.", "LM-REQ-006"),
    Rule(
        "negative-length",
        "error",
        "A PUT announces a negative number of bytes.",
        "SRV-LM-041",
        "The length has overflowed: a value of more than 2 GiB cannot be sent.",
    ),
    Rule("negative-dimension", "warning", "A header has a negative dimension."),
    Rule(
        "shape-length",
        "warning",
        "The length of a PUT is not what its shape and dtype amount to.",
        "LM-PUT-001",
        "The real client makes room by shape and dtype, and fills it by the length.",
    ),
    Rule(
        "describes-nothing",
        "note",
        "A request without a payload describes one.",
        "LM-GET-001",
        "Servers ignore it, but end the connection at a number that they do not know.",
    ),
    Rule("key-encoding", "error", "The key field is not UTF-8.", "LM-REQ-003", "A server ends the connection at it."),
    Rule(
        "key-padding",
        "error",
        "The key field is padded with something else than spaces.",
        "LM-REQ-003",
        "Zero bytes are part of the last element of the key for a server, which makes it another key or none.",
    ),
    Rule(
        "key-full",
        "warning",
        "The key fills its field to the last byte, so it may have been cut.",
        "LM-REQ-004",
        "Two long keys that are cut to the same 150 bytes share one value: shorten the name of the model.",
    ),
    Rule(
        "key-grammar",
        "error",
        "The key is not one that the release writes.",
        None,
        "A server ends the connection at a key that it cannot read, and what it reads in another way is never found.",
    ),
    Rule("request-generation", "error", "The request headers are not of the generation of the release.", None, _RELEASES),
    Rule("request-lost-step", "error", "Where a request header had to begin, something else did.", "LM-PUT-001", _STEP),
    Rule(
        "request-back-in-step",
        "note",
        "A request header was found again behind bytes that belong to nothing.",
        "LM-PUT-001",
        _STEP,
    ),
    Rule("cut-request", "error", "A connection ended inside a request header.", "SRV-LM-024"),
    Rule(
        "unfinished-put",
        "error",
        "A PUT announced more bytes than came.",
        "LM-PUT-001",
        "In the real server the key exists from then on, and a GET of it ends the reader's connection.",
    ),
    # replies
    Rule("reply-generation", "error", "The reply headers are not of the generation of the release.", None, _RELEASES),
    Rule("reply-code", "error", "A reply has a code that is neither 200 nor 400.", "SRV-LM-001"),
    Rule("reply-location", "warning", "A reply has a location, which real servers never send.", "SRV-LM-003"),
    Rule(
        "reply-describes",
        "error",
        "A reply that describes nothing has other numbers than the real server writes.",
        "SRV-LM-004",
        "Length 0, format 1, dtype 2, four zero dimensions and location 0 belong there.",
    ),
    Rule("reply-description", "error", "A GET is answered with another description than that of the PUT.", "SRV-LM-003"),
    Rule(
        "reply-length",
        "error",
        "A GET is answered with a length that its shape and dtype do not amount to, and the PUT did not say.",
        "SRV-LM-003",
        "The real client makes room by shape and dtype, and reads so many bytes as the length says.",
    ),
    Rule(
        "reply-unasked",
        "error",
        "A reply came that nothing asked for.",
        "SRV-LM-007",
        "The client takes it for the reply to its next request, and all answers are wrong. A PUT is never answered.",
    ),
    Rule("reply-lost-step", "error", "Where a reply header had to begin, something else did.", "SRV-LM-001", _STEP),
    Rule(
        "reply-back-in-step", "note", "A reply header was found again behind bytes that belong to nothing.", "SRV-LM-001", _STEP
    ),
    Rule(
        "reply-split",
        "warning",
        "A reply header came in more than one segment.",
        "SRV-LM-002",
        "The real client reads it with a single call, raises an exception when that brings less, and never connects again.",
        by_segments=True,
    ),
    Rule("cut-reply", "error", "A connection ended inside a reply.", "SRV-LM-003"),
    Rule("value-differs", "error", "A GET brought other bytes than the PUT of the same key stored.", "SRV-LM-003"),
    Rule(
        "value-lost",
        "warning",
        "A key that was stored a moment before is not there.",
        "SRV-LM-003",
        "The server has let it go, or keeps it under another name; real servers of lmcache never let go of a value.",
    ),
    # what did not come
    Rule(
        "unanswered",
        "error",
        "A request is not answered.",
        "SRV-LM-003",
        "The real client waits without end, and holds up every other connection of its process meanwhile.",
    ),
    Rule("list-unanswered", "note", "A LIST is not answered, as by every real server.", "SRV-LM-042"),
    Rule("refused", "error", "The server ended the connection instead of answering.", "SRV-LM-043"),
    Rule("unreachable", "error", "The server took no connection.", None, "Is it running, and is --to right?"),
    Rule("reset", "note", "A connection was reset."),
    Rule("not-recorded", "note", "Bytes are missing from the recording, so that a connection cannot be judged any more."),
    # what nobody finds
    Rule(
        "other-spelling",
        "warning",
        "A key was asked for that is stored under another name with the same hash.",
        "LM-ID-001",
        "The tokens are the same, and a part of the key beside the hash is not: set it alike on both sides.",
    ),
    Rule(
        "other-worker",
        "note",
        "A key was asked for that another worker stored.",
        "LM-ID-001",
        "Every worker has keys of its own; with multi-head latent attention all of them use those of worker 0.",
    ),
    Rule(
        "never-found",
        "warning",
        "Not one lookup of a model was a hit, though values of it were stored.",
        "KEY-CHUNK-010",
        "No hash was both stored and asked for: tokens, chunk size, seed or hash function differ. See 'lmconform keys'.",
    ),
    # who they are
    Rule(
        "sides-differ", "error", "Client and server are of releases that do not understand each other.", "LM-REQ-012", _RELEASES
    ),
    Rule("not-the-profile", "error", "A side is not of the release that it was said to be.", None, _RELEASES),
)
