"""The C++ example is conformant, and mistakes in it are found and named."""

import pytest
from broken_sources import EXAMPLES, Breakage, Workshop, assert_in_table, found
from cmake_builds import builder
from conformance import assert_conformant
from generations import REPRESENTATIVES, comma_separated

UNSUPPORTED = {"chunk_keys", "deployment_keys", "concurrent"}
BREAKAGES = [
    Breakage(
        name="a-header-is-read-with-one-recv",
        file="src/connection.cpp",
        line="while (received < size)",
        broken="if (received < size)",
        only=("lm.segments.*",),
        cases=("lm.segments.split-header", "lm.segments.split-header-of-get", "lm.segments.byte-by-byte"),
        requirements=("LM-REPLY-003", "LM-GET-002"),
    ),
    Breakage(
        name="numbers-are-written-in-network-order",
        file="src/frames.cpp",
        line="for (int shift = 0; shift < 32; shift += 8) bytes_.push_back",
        broken="for (int shift = 24; shift >= 0; shift -= 8) bytes_.push_back",
        cases=("lm.request.encode",),
        only=("lm.request.encode[0.5.6-fixtures-lm.request.sent.get]",),
        requirements=("LM-REQ-002",),
        target="fixtures",
    ),
    Breakage(
        name="a-miss-is-an-error",
        file="src/connection.cpp",
        line="if (reply.code == kFail) return std::nullopt;",
        broken='if (reply.code == kFail) throw protocol_error("FAIL");',
        cases=("lm.roundtrip.miss",),
        requirements=("LM-GET-003",),
    ),
]


@pytest.fixture(scope="module")
def workshop(cmake, shared_folder):
    return Workshop(EXAMPLES / "cpp", builder(cmake, "lmclient", build_type="Release"), shared_folder)


@pytest.fixture(scope="module")
def client(workshop):
    return workshop.sound()


@pytest.mark.parametrize("target", ["fixtures", "mock"])
def test_it_is_conformant_on_fixtures_and_mock_of_every_generation(client, tmp_path, target):
    assert_conformant(client, tmp_path, releases=comma_separated(REPRESENTATIVES), target=target, unsupported=UNSUPPORTED)


@pytest.mark.live
def test_it_is_conformant_on_the_real_server(client, pinned_release, tmp_path):
    assert_conformant(client, tmp_path, releases=str(pinned_release), target="live", unsupported=UNSUPPORTED)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)
def test_a_mistake_in_it_is_found_and_named(workshop, breakage, tmp_path):
    record = found(workshop.broken(breakage, tmp_path), breakage, tmp_path / "results")
    assert_in_table(breakage, record)
