"""What to do about a client that does not keep the contract: a sentence for each way in which that happens."""

from __future__ import annotations

from typing import Final

from harness.client import AdapterFault, ClientCrash, ClientFailure, ClientHang, ClientTooLarge

_BY_WORDS: Final[tuple[tuple[type[ClientFailure], str, str], ...]] = (
    (ClientHang, "line received, unfinished", "end each answer with a line feed, and flush standard output after it"),
    (ClientHang, "hello: ", "answer the line, and flush standard output: many languages hold lines back on a pipe"),
    (ClientHang, "", "answer every request, also one that fails or is not known, and flush standard output after each line"),
    (ClientCrash, "line received, unfinished", "write whole lines, and end only after bye or at the end of standard input"),
    (ClientCrash, "hello: the process ended", "run the command by hand and type the line sent: it must answer and go on reading"),
    (ClientCrash, "exit status 0", "go on reading after each answer, until bye or the end of standard input"),
    (ClientCrash, "exit status", "catch what ends the process and answer it as an error; standard error may say what it was"),
    (ClientCrash, "signal ", "the program was ended by a signal; run it in a debugger with the line sent as its input"),
    (ClientCrash, "standard output", "keep standard output open until bye, and let nothing else close it"),
    (ClientCrash, "ended its process", "raise an exception of harness.client instead of ending the process"),
    (ClientTooLarge, "", "find what grows, or allow more with --client-memory of lmconform run"),
    (AdapterFault, "without a line feed", "end each answer with a line feed; bytes beyond 64 KiB go into a file"),
    (AdapterFault, "standard input", "keep standard input open until bye"),
    (AdapterFault, "one line for each request", "write exactly one line for each request, and nothing of your own accord"),
    (AdapterFault, "is not JSON", "JSON has no NaN and no Infinity; answer an error instead"),
    (AdapterFault, "expected one JSON object", "print nothing but answers to standard output; logs belong on standard error"),
    (AdapterFault, "the line: expected UTF-8", 'write UTF-8; bytes travel as {"hex": "..."}'),
    (AdapterFault, "Unicode text", 'write UTF-8; bytes travel as {"hex": "..."}'),
    (AdapterFault, "exactly one of", "put one of ok, miss, unsupported and error into an answer, and leave the others out"),
    (
        AdapterFault,
        "only get and mp_retrieve can miss",
        'answer a miss to get and mp_retrieve only; exist answers {"exists": false}',
    ),
    (AdapterFault, ": id: ", "repeat the id of the request, as the same number"),
    (AdapterFault, "error.class", "use one of the five classes of the contract; internal stands for anything else"),
    (
        AdapterFault,
        "the scratch directory: expected the client",
        "leave the directory that hello named; delete only the files that you received",
    ),
    (AdapterFault, ".file: ", "write the file into the scratch directory before the answer, and give its name without a path"),
    (AdapterFault, ".length: ", "write and close the file before the answer, and give the number of its bytes"),
    (AdapterFault, "protocol: ", "answer the protocol that hello asks for, or leave the member out, which stands for 1"),
    (AdapterFault, "hello must be", "answer hello with ok; what the client cannot do it leaves out of operations and releases"),
    (AdapterFault, "missing", "every member in the row of the operation must be there; null is no substitute"),
    (AdapterFault, "", "give the member the form that the row of the operation has on the contract's page"),
)


def advice(failure: ClientFailure) -> str:
    """What the author of the client can do; empty where nothing general can be said."""
    text = str(failure)
    return next((what for kind, words, what in _BY_WORDS if isinstance(failure, kind) and words in text), "")
