"""Captured conversations are held with servers that answer as the real one, better, or wrongly."""

from __future__ import annotations

import pytest

from fixturegen.corpus import load_corpus
from harness.mp.exchanges import MpPeerFailed
from harness.mp.held_again import LeftOut, hold
from harness.mp.targets import mock_mp_server
from harness.mutants.servers.multiprocess import EchoesNoOperation, HitsCountTokens, SendsNil
from harness.reference.servers.mp import ReferenceMpServer
from mockserver.mp import MpServer
from mockserver.mp.engine import Engine
from wire.release import Release

RELEASE = Release.parse("0.5.6")
CONVERSATIONS = {one.id.removeprefix("mp.server."): one for one in load_corpus(RELEASE, protocol="mp").mp_transcripts}


def held(name, make=MpServer, *, shared_memory=True, mode="auto"):
    with mock_mp_server(RELEASE, shared_memory=shared_memory, mode=mode, make=make) as server:
        hold(RELEASE, server, CONVERSATIONS[name], server.restart)


@pytest.mark.parametrize("make", [MpServer, ReferenceMpServer], ids=["mock", "reference"])
@pytest.mark.parametrize(
    "name", ["control.in-flight", "shared-memory.readers", "cpu-tensors.few-blocks", "shared-memory.restart"]
)
def test_a_server_that_answers_rightly_passes(make, name):
    held(name, make)


@pytest.mark.parametrize(
    ("name", "make", "requirement"),
    [
        ("control.once-clear", SendsNil, "SRV-MP-002"),
        ("control.uids", EchoesNoOperation, "SRV-MP-001"),
        ("shared-memory.prefix", HitsCountTokens, "SRV-MP-007"),
    ],
)
def test_a_wrong_answer_is_told_by_its_requirement(name, make, requirement):
    with pytest.raises(MpPeerFailed) as failed:
        held(name, make)
    assert failed.value.requirement == requirement


class SaysMore(MpServer):
    """Adds members that no client knows."""

    class engine_class(Engine):  # noqa: N801
        def call(self, operation, payloads):
            result = super().call(operation, payloads)
            if isinstance(result, dict):
                result = {"later": [1], **dict(reversed(list(result.items())))}
            return result


def test_members_that_are_new_and_in_another_order_are_no_mistake():
    held("shared-memory.round-trip", SaysMore)


def test_a_server_without_shared_memory_is_not_held_to_what_needs_it():
    with pytest.raises(LeftOut, match="has no shared memory"):
        held("shared-memory.round-trip", shared_memory=False, mode="engine_driven")


def test_a_server_that_cannot_read_tensors_is_not_held_to_that():
    with pytest.raises(LeftOut, match="REGISTER_KV_CACHE, which not every server has"):
        held("cpu-tensors.round-trip", mode="engine_driven")


def test_a_server_that_nobody_may_restart_is_not_restarted():
    with mock_mp_server(RELEASE) as server, pytest.raises(LeftOut, match="restarts the server"):
        hold(RELEASE, server, CONVERSATIONS["shared-memory.restart"], None)
