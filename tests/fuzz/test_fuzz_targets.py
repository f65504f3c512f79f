"""Every target does what it documents with its seeds, with a few hundred changes of them, and with all that was ever found."""

import random

import pytest

from fuzz.examine import examine
from fuzz.families import FAMILIES, UnknownTarget, chosen
from fuzz.mutation import mutated

TARGETS = {target.name: target for target in chosen(())}
SLOW = {
    "clients.stdio": 5,
    "tap.mp-told": 6,
    "tap.lm-told": 30,
    "tap.mp-conversation": 25,
    "tap.mp-kept": 15,
    "tap.lm-conversation": 50,
    "tap.lm-kept": 50,
    "files.corpus": 25,
    "servers.mp-messages": 40,
    "servers.mp-raw": 60,
    "files.results": 40,
    "files.page": 40,
    "files.compared": 60,
    "files.merged": 60,
    "tap.explained": 40,
    "tap.redacted-recording": 40,
    "tap.case-of-recording": 40,
    "tap.recording": 60,
}
"""Executions of those that take milliseconds each."""
CHANGES = 150
FOUND = {
    "lm.described": [b"", b"\0\0\0\0\0\0\0ab"],
    "lm.key": [b"M-J@@-1@0@0b0", b"\x89@@1@0@\xd9\xa3" + b"9" * 4400, b"M@@1@0@f@lmcache.tag.a%b@c%d"],
    "lm.settings": [b"\0\000" + b"9" * 4401, b"\1\0003." + b"9" * 4400, b"\2\0" + b"1" * 4400, b"\x1fS12"],
    "mp.value": [b"\x91" * 600 + b"\xc0", b"\x81\xa1a" * 480 + b"\xc0", b"\x81" + b"\x91" * 700 + b"\xc0\xc0"],
    "mp.json-value": [
        b'{"range":[-2147483648,32]}',
        b'{"range":[0,99999999999999999999]}',
        b'{"range": [-9223372036854775808, 32]}',
        b"[" * 900 + b"]" * 900,
    ],
    "mp.type": [b"[" * 3000],
    "mp.registration": [
        b'\x02{"wrapper":"CudaIPCWrapper","fields":{"hex":"00"}}',
        b'\x17{"wrapper":"VmmCudaIPCWrapper","fields":{"_export_id":' + b"[" * 700 + b"]" * 700 + b"}}",
    ],
    "texts.release": [b"9" * 4401],
    "texts.release-range": [b"0.3.3 to " + b"9" * 4401],
    "texts.client-command": [b"x" * 300, b"./" + b"x" * 300, b"a/" * 2500 + b"b"],
    "texts.server": [b"\0exec:" + b"x" * 300 + b" {port}"],
    "texts.plugin": [b"~nobody/a.py:C", b"x" * 300 + b".py:C", b"reference\n" + b'{"a":' * 1200],
    "texts.connector": [b"x/" + b"y" * 300 + b".py:C", b"reference\n" + b"[" * 1200],
    "clients.python-answer": [b'\x14{"healthy":' + b"[" * 800 + b"]" * 800 + b"}"],
    "files.manifest": [
        (
            b'{"format":2,"release":[],"wheel":{"name":"","sha256":""},"stubs":[],"vllm":{},"byte_order":"",'
            b'"files":{},"volatile":[],"unavailable":{},"environment":{"a":1},"seal":"","environment_seal":""}'
        )
    ],
    "clients.plugin-answer": [b'{"ok":{},"blobs":[Infinity]}', b'{"ok":{},"blobs":[1e999]}'],
    "files.counterexample": [b'{"id":"\\udc80"}'],
    "tap.lm-conversation": [b"\0\xef1\0"],
    "tap.case-file": [b'{"protocol":[],"release":"0.5.6","transcript":{"id":"x","title":"y","steps":[]}}'],
}
"""What the product was found to do otherwise, by target; each stays here for good."""


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def shown(target, data):
    finding = examine(target, data, bound=20)
    assert finding is None, f"{target.name} with {data[:300]!r}:\n{finding.words}"


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_does_what_it_documents_with_its_seeds_and_changes_of_them(name):
    target = TARGETS[name]
    seeds = list(target.seeds())
    for data in seeds[: SLOW.get(name, CHANGES)]:
        shown(target, data)
    rng = random.Random(name)
    for _ in range(SLOW.get(name, CHANGES)):
        shown(target, mutated(rng.choice(seeds), rng, target.longest, seeds))


@pytest.mark.parametrize(("name", "data"), [(name, data) for name, found in FOUND.items() for data in found])
def test_what_was_found_once_is_found_no_more(name, data):
    shown(TARGETS[name], data)


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_few_and_small_and_the_same_each_time(name):
    seeds = list(TARGETS[name].seeds())
    assert 0 < len(seeds) <= 60
    assert sum(map(len, seeds)) <= 16_000
    assert max(map(len, seeds)) <= TARGETS[name].longest


def test_names_tell_the_family():
    assert [name.partition(".")[0] for name in TARGETS] == [family for family in FAMILIES for _ in chosen([family])]
    assert chosen(["lm.request"])[0].name == "lm.request"


@pytest.mark.parametrize("word", ["nothing", "lm.nothing", "nothing.nothing", ""])
def test_an_unknown_target_is_named_with_those_that_there_are(word):
    with pytest.raises(UnknownTarget, match="there is no"):
        chosen([word])
