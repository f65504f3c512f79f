"""The Node example is conformant, and mistakes in it are found and named."""

import subprocess

import pytest
from broken_sources import EXAMPLES, Breakage, assert_in_table, broken_copy, found, spec
from conformance import assert_conformant

SOURCE = EXAMPLES / "javascript"
RELEASES = "0.3.1,0.5.6"
UNSUPPORTED = {"chunk_keys", "deployment_keys", "token_hashes", "state"}
BREAKAGES = [
    Breakage(
        name="bytes-that-nobody-asked-for-are-kept",
        file="connection.js",
        line="if (this.#buffered > 0) this.#drop();",
        broken="if (this.#buffered > 65536) this.#drop();",
        cases=("lm.misbehaviour.duplicated-reply",),
        only=("lm.misbehaviour.duplicated-reply[0.5.6-mock-GET]",),
        requirements=("LM-CONN-008",),
    ),
    Breakage(
        name="an-integer-goes-through-a-double",
        file="wire.js",
        line="for (const hash of hashes) {",
        broken="for (const hash of hashes.map(Number).map(BigInt)) {",
        cases=("keys.chunks.keys",),
        only=("keys.chunks.keys[0.5.6-fixtures-lm.chunks.one-unfull]",),
        requirements=("KEY-CHUNK-004",),
        target="fixtures",
    ),
    Breakage(
        name="the-key-field-is-measured-in-characters",
        file="wire.js",
        line="if (field.length > KEY_FIELD)",
        broken="if (key.length > KEY_FIELD)",
        cases=("lm.request.long-key-is-not-sent",),
        only=("lm.request.long-key-is-not-sent[0.5.6-mock-put]",),
        requirements=("LM-REQ-004",),
    ),
]


@pytest.fixture
def client(node):
    return spec(SOURCE / "client.js", node)


def test_it_is_conformant_on_fixtures_and_mock_of_the_oldest_and_the_newest_release(client, tmp_path):
    assert_conformant(client, tmp_path, releases=RELEASES, unsupported=UNSUPPORTED)


@pytest.mark.live
def test_it_is_conformant_on_the_real_server(client, pinned_release, tmp_path):
    assert_conformant(client, tmp_path, releases=str(pinned_release), target="live", unsupported=UNSUPPORTED)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)
def test_a_mistake_in_it_is_found_and_named(node, breakage, tmp_path):
    with broken_copy(SOURCE, breakage, tmp_path / "copy") as copy:
        record = found(spec(copy / "client.js", node), breakage, tmp_path / "results")
    assert_in_table(breakage, record)


def test_it_can_be_run_as_a_program_of_its_own(node):
    asked = '{"id": 1, "op": "parse_key", "args": {"release": "0.5.6", "text": "llama@8@0@-1a2b@half"}}\n'
    told = subprocess.run([node, SOURCE / "client.js"], input=asked, text=True, capture_output=True, check=True, timeout=60)
    assert (SOURCE / "client.js").stat().st_mode & 0o111
    readme = (SOURCE / "README.md").read_text(encoding="utf-8")
    assert asked.strip() in readme
    assert told.stdout.strip() in readme
