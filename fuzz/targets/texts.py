"""What users write on a command line or into a setting: releases, faults, clients, servers, tokens, keys, numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import typer

from fuzz.target import Bytes, Target, texts
from fuzz.targets.captured import RELEASES
from harness.cli.numbers import seconds, whole
from harness.cli.tap import parse_redact
from harness.client import ClientUnavailable
from harness.clients.container import parse_container
from harness.clients.spec import parse_command
from harness.expectations.error_text import matches_error, says_something
from harness.l2.spec import parse_plugin
from harness.mismatch.expected import read_expected, spelled_values
from harness.mismatch.identity import identity_causes, part_rows
from harness.mismatch.request import Request
from harness.patterns import literal_start, matches
from harness.remote.spec import parse_connector
from harness.servers.spec import parse_server
from harness.sharding import parse_shard
from harness.tap.address import Address
from harness.tokens import parse_tokens
from harness.usage import UsageError, address_of
from harness.wanted import read_address, read_format, read_place, read_wanted
from mockserver.faults.spec import FaultSpecError, format_rule, parse
from mockserver.mp.faults.spec import parse_mp
from reports.diff.verdict import parse_fail_on
from reports.escape import escape, escape_lines, escape_markdown, visible
from reports.plain import clip
from wire.deployments import Deployment
from wire.errors import EncodeError, UnknownReleaseError
from wire.keys import CacheKey
from wire.numerals import NoNumber, read_decimal, read_integer
from wire.release import Release, ReleaseRange

_LONG: Final = 6000
_REQUEST: Final = Request(
    Deployment(Release.parse("0.5.6"), "0.11.0", "sha256_cbor", "0", True, "3.12"),
    tuple(range(40)),
    CacheKey("meta-llama/Llama-3.1-8B", 1, 0, 0, "bfloat16", "vllm"),
    frozenset({"model"}),
    chunk_size=16,
)


def text_of(data: bytes) -> str:
    """Text as Python has it of arguments: what is not UTF-8 is half of a surrogate pair, and NUL cannot be."""
    return data.replace(b"\0", b"").decode("utf-8", "surrogateescape")


def one_release(data: bytes) -> None:
    """One release."""
    found = Release.parse(text_of(data))
    assert Release.parse(str(found)) == found


def release_range(data: bytes) -> None:
    """Several."""
    found = ReleaseRange.parse(text_of(data))
    assert ReleaseRange.parse(str(found)) == found
    assert found.first in found


def fault(data: bytes) -> None:
    """A fault of the mock server; what is read can be written."""
    rule = parse(text_of(data))
    assert parse(format_rule(rule)) == rule


def mp_fault(data: bytes) -> None:
    """A fault of the multiprocess mock."""
    parse_mp(text_of(data))


def client_command(data: bytes) -> None:
    """What stands behind ``stdio:``."""
    parse_command(text_of(data))


def container(data: bytes) -> None:
    """What stands behind ``docker:``."""
    parse_container(text_of(data))


def server(data: bytes) -> None:
    """What stands behind ``lmconform server``."""
    given = Bytes(data)
    protocol = given.choice(("lm", "mp"))
    parse_server(text_of(given.rest()), protocol)


def plugin(data: bytes) -> None:
    """A plugin, and its parameters behind a line feed."""
    text, _, params = text_of(data).partition("\n")
    parse_plugin(text, None, params or None)


def connector(data: bytes) -> None:
    """A connector, and its parameters behind a line feed."""
    text, _, params = text_of(data).partition("\n")
    parse_connector(text, params or None)


def tokens(data: bytes) -> None:
    """A list of tokens."""
    assert all(token >= 0 for token in parse_tokens(text_of(data), "tokens"))


def shard(data: bytes) -> None:
    """A shard."""
    parse_shard(text_of(data))


def numbers(data: bytes) -> None:
    """Numbers of options."""
    text = text_of(data)
    for read in (whole(0, 1 << 30), seconds):
        with contextlib.suppress(typer.BadParameter):
            read(text)
    readings: tuple[Callable[[str], object], ...] = (read_decimal, read_integer)
    for reading in readings:
        with contextlib.suppress(NoNumber):
            reading(text)


def addresses(data: bytes) -> None:
    """Addresses of servers."""
    text = text_of(data)
    address_of(text)
    Address.parse(text, what="--to")


def patterns(data: bytes) -> None:
    """A pattern over cases, and words that an error must have, each against a text."""
    pattern, _, text = text_of(data).partition("\n")
    matches(pattern, text)
    literal_start(pattern)
    matches_error(pattern, text)
    says_something(pattern)


def wanted(data: bytes) -> None:
    """Reports that are asked for, and what goes into them."""
    given = Bytes(data)
    which = given.number() % 5
    text = text_of(given.rest())
    if which == 0:
        read_wanted([text], None, Path())
    elif which == 1:
        read_place(text)
    elif which == 2:
        read_address(text)
    elif which == 3:
        parse_redact(text)
    else:
        read_format(text, "--format")


def fail_on(data: bytes) -> None:
    """Kinds of changes."""
    parse_fail_on(text_of(data))


def expected_key(data: bytes) -> None:
    """A key that was seen elsewhere, and what tells its parts from those of a deployment."""
    given = Bytes(data)
    release = given.choice(RELEASES)
    read = read_expected(text_of(given.rest()), release)
    part_rows(_REQUEST, release, read)
    identity_causes(_REQUEST, release, read)
    if read.hash_text:
        assert list(spelled_values(read.hash_text))


def escaped(data: bytes) -> None:
    """Text of others as it is shown: it can be printed, whatever it was."""
    text = data.decode("utf-8", "surrogateescape")
    for shown in (escape(text), escape_markdown(text), visible(text), clip(text, 80), *escape_lines(text)):
        assert "\x1b" not in shown or shown == clip(text, 80)


TARGETS: Final = (
    Target(
        "texts.release",
        one_release,
        (UnknownReleaseError,),
        texts("0.5.6", "0.3.9.post1", "0.5.7.dev1", " 0.4.1 ", "1!0.5.6+x"),
        _LONG,
    ),
    Target(
        "texts.release-range",
        release_range,
        (UnknownReleaseError,),
        texts("all", "0.3.3 to 0.4.3", "0.4.4 and later", "up to 0.3.2"),
        _LONG,
    ),
    Target(
        "texts.fault",
        fault,
        (FaultSpecError,),
        texts(
            "close-after:bytes=10,reset=true,command=GET,nth=2",
            "delay:seconds=0.5,probability=0.5,seed=7",
            "refuse:connection=1",
            "short-body:bytes=3,key=a,b",
            "wrong-length:length=+1",
            "stall:after=half",
            "reset:nth=2-4",
            "garbage:bytes=5",
        ),
        _LONG,
    ),
    Target(
        "texts.mp-fault",
        mp_fault,
        (FaultSpecError,),
        texts("no-reply:operation=LOOKUP,nth=1", "delay:seconds=0.2", "wrong-uid:operation=NOOP", "die:nth=3"),
        _LONG,
    ),
    Target(
        "texts.client-command",
        client_command,
        (ClientUnavailable,),
        texts("python3 -c 'x y'", "./nothing", 'sh -c "$(x)"', "'"),
        _LONG,
    ),
    Target(
        "texts.container",
        container,
        (ClientUnavailable,),
        texts("image", "--cpus 2 --network none image cmd 'a b'", "--env A=b --memory=1g --writable image"),
        _LONG,
    ),
    Target(
        "texts.server",
        server,
        (UsageError, ClientUnavailable),
        texts("\0mock", "\1reference", "\0mutant:lm.x", "\0exec:sh --port {port} {release}", "\0127.0.0.1:65432", "\1[::1]:5"),
        _LONG,
    ),
    Target(
        "texts.plugin",
        plugin,
        (UsageError, ClientUnavailable),
        texts("reference", 'lmcache:fs\n{"base_path":"{folder}"}', "a.b:C\n{}", "x/y.py:C", "mutant:l2.x", "~x/a.py:C"),
        _LONG,
    ),
    Target(
        "texts.connector",
        connector,
        (UsageError, ClientUnavailable),
        texts("reference", 'lmcache:redis\n{"extra_config":{"a":1}}', 'a.b:C\n{"name":"x"}', "x/y.py:C", "mutant:remote.x"),
        _LONG,
    ),
    Target("texts.tokens", tokens, (UsageError,), texts("1 2 3", "1,2,\n3", "[1, 2, 3]", '{"a":1}', "[1.5]", "٣ ３", "-1"), 9000),
    Target("texts.shard", shard, (UsageError,), texts("1/4", "4/4", "0/1", "1/999"), _LONG),
    Target("texts.numbers", numbers, (), texts("15", "0.5", "-1", "1e3", "1_0", "١٢", "0x10"), _LONG),
    Target(
        "texts.address",
        addresses,
        (UsageError,),
        texts("127.0.0.1:65432", "[::1]:5", "lm://host:1/", "tcp://h:99999", ":5"),
        _LONG,
    ),
    Target("texts.patterns", patterns, (), texts("lm.get.*\nlm.get.x[0.5.6-mock]", "[!a]*?\nab", "a * b\na x b"), 2000),
    Target(
        "texts.wanted",
        wanted,
        (UsageError,),
        texts("\0junit=a/b.xml", "\0html", "\1src/a.py:12", "\1/abs", "\2https://example.org/spec", "\3keys,payloads", "\4sarif"),
        _LONG,
    ),
    Target("texts.fail-on", fail_on, (ValueError,), texts("any", "never", "broken,new"), _LONG),
    Target(
        "texts.expected-key",
        expected_key,
        (UsageError, EncodeError),
        texts(
            "\0m@1@0@7f@half",
            "\0vllm@m@1@0@-7f",
            "\x20m@1@0@7f@bfloat16@3@a%b",
            "\0" + "f" * 64,
            "\0a-SEP-b@1@0@7f@half.pt",
            "\x200x7f",
        ),
        2000,
    ),
    Target("texts.escaped", escaped, (), texts("a\x1b[31mb", "\u202eabc", "<b>|`*_[x](y)", "a\r\nb\x85\u2028c")),
)
