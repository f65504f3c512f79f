"""The C++ example for the multiprocess server is conformant, and mistakes in it are found and named."""

import pytest
from broken_sources import EXAMPLES, Breakage, Workshop, assert_in_table, found
from cmake_builds import builder
from conformance import assert_conformant

UNSUPPORTED = {"mp_encode_registration", "concurrent"}
RELEASES = "0.4.6,0.5.6"
"""Chunks travel as pickles in the older one, through shared memory in the newer one."""

BREAKAGES = [
    Breakage(
        name="any-reply-is-taken-for-the-next-one",
        file="client/client.cpp",
        line="if (reply->front() != uid) continue;",
        broken="if (reply->front().empty()) continue;",
        cases=("mp.misbehaviour.wrong-uid",),
        requirements=("MP-CONN-001",),
    ),
    Breakage(
        name="a-lookup-asks-for-the-rank-of-its-worker",
        file="client/client.cpp",
        line="range.key.worker_id.reset();",
        broken="range.key.worker_id = key.worker_id;",
        cases=("mp.flow.lookup", "mp.flow.free-locks"),
        requirements=("MP-KEY-002",),
    ),
    Breakage(
        name="the-number-of-the-release-before",
        file="client/operations.cpp",
        line='{"LOOKUP", "0.5.3", 8, "Key, int", kNothing}',
        broken='{"LOOKUP", "0.5.3", 3, "Key, int", kNothing}',
        cases=("mp.requests.encode",),
        only=("mp.requests.encode[0.5.6-fixtures-mp.request.encode.lookup.plain]",),
        requirements=("MP-REQ-001",),
        target="fixtures",
    ),
    Breakage(
        name="the-second-slot-is-taken-for-the-second-chunk",
        file="client/client.cpp",
        line="&chunks[static_cast<std::size_t>(*position)];",
        broken="&chunks[sources.size()];",
        cases=("mp.roundtrip.stored-in-part",),
        requirements=("MP-FLOW-005",),
    ),
]


@pytest.fixture(scope="module")
def workshop(cmake, zeromq, shared_folder):
    # Without optimization: compiling costs more here than running does. The nightly run has the optimized program.
    return Workshop(EXAMPLES / "cpp-mp", builder(cmake, "lmclient-mp", build_type="None"), shared_folder)


@pytest.fixture(scope="module")
def client(workshop):
    return workshop.sound()


@pytest.mark.parametrize("target", ["fixtures", "mock"])
def test_it_is_conformant_on_fixtures_and_mock(client, tmp_path, target):
    assert_conformant(client, tmp_path, releases=RELEASES, target=target, unsupported=UNSUPPORTED)


@pytest.mark.live
def test_it_is_conformant_on_the_real_server(client, pinned_mp_release, tmp_path):
    assert_conformant(client, tmp_path, releases=str(pinned_mp_release), target="live", unsupported=UNSUPPORTED)


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.name)
def test_a_mistake_in_it_is_found_and_named(workshop, breakage, tmp_path):
    record = found(workshop.broken(breakage, tmp_path), breakage, tmp_path / "results")
    assert_in_table(breakage, record)
