"""The Rust example is conformant, and mistakes in it are found and named."""

import subprocess

import pytest
from broken_sources import EXAMPLES, Breakage, Workshop, assert_in_table, found
from conformance import assert_conformant

from fixturegen.corpus import captured_releases

UNSUPPORTED = {"chunk_keys", "deployment_keys"}
OLDEST = captured_releases()[0]
BREAKAGES = [
    Breakage(
        name="float16-has-the-number-of-half",
        file="src/tables.rs",
        line="pub const FLOAT16: i32 = 2;",
        broken="pub const FLOAT16: i32 = 1;",
        only=("lm.request.encode[0.5.6-fixtures-lm.request.sent.get]",),
        cases=("lm.request.encode",),
        requirements=("LM-REQ-006",),
        target="fixtures",
    ),
    Breakage(
        name="the-key-is-measured-in-characters",
        file="src/frames.rs",
        line="if key.len() > KEY_FIELD",
        broken="if key.chars().count() > KEY_FIELD",
        cases=("lm.request.long-key-is-not-sent",),
        requirements=("LM-REQ-004",),
    ),
    Breakage(
        name="none-stands-for-the-empty-tuple",
        file="src/chunks.rs",
        line="Chain::EmptyThird => cbor_head(&mut out, 4, 0),",
        broken="Chain::EmptyThird => out.push(0xf6),",
        only=("keys.deployments.chain[0.5.6-fixtures-lm.deployments.vllm-0.28.0.seed-0.sha256-cbor.full]",),
        cases=("keys.deployments.chain",),
        requirements=("KEY-CHUNK-004",),
        target="fixtures",
    ),
    Breakage(
        name="bytes-that-nobody-asked-for-stay",
        file="src/connection.rs",
        line="Some(socket) if is_silent(&socket) => Ok(socket),",
        broken="Some(socket) => Ok(socket),",
        cases=("lm.misbehaviour.bytes-after-a-miss",),
        requirements=("LM-CONN-008",),
    ),
]


def build(cargo):
    def run(source, folder):
        # Not optimised: it is built in a fifth of the time, and an integer that overflows ends it.
        command = [cargo, "build", "--offline", "--locked", "--manifest-path", source / "Cargo.toml", "--target-dir", folder]
        subprocess.run(command, check=True, capture_output=True, timeout=600)
        return folder / "debug" / "lmclient"

    return run


@pytest.fixture(scope="module")
def workshop(cargo, shared_folder):
    return Workshop(EXAMPLES / "rust", build(cargo), shared_folder)


@pytest.fixture(scope="module")
def client(workshop):
    return workshop.sound()


@pytest.mark.parametrize("release", ["0.5.6", str(OLDEST)])
def test_it_is_conformant_on_fixtures_and_mock(client, tmp_path, release):
    assert_conformant(client, tmp_path, releases=release, unsupported=UNSUPPORTED)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)
def test_a_mistake_in_it_is_found_and_named(workshop, breakage, tmp_path):
    record = found(workshop.broken(breakage, tmp_path), breakage, tmp_path / "results")
    assert_in_table(breakage, record)
