"""What is derived, against the captured tables and frames of the real releases, read here without the code under test."""

from itertools import product

import pytest

from fixturegen.corpus import captured_releases, load_corpus
from reports.collisions import tables
from reports.collisions.dialect import table_of
from reports.collisions.effects import EFFECTS, REPLY_KILLS, UNKNOWN_KILLS, WRAPPER_FORMS, family
from reports.collisions.fates import pair_of
from reports.collisions.harm import Harm
from wire.errors import WireError
from wire.mp.frames import decode_request
from wire.mp.operations import operation_table
from wire.release import Release

RELEASES = captured_releases(protocol="mp")


def captured(release):
    return load_corpus(release, protocol="mp").vectors


def as_lookups_are_sent(release):
    """Without a worker, in releases that read such a key themselves."""
    (read,) = [one for one in captured(release)["mp_decode_request"] if one.id == "mp.request.decode.lookup.key-worker-none"]
    return () if read.ok is None else ("mp.request.encode.lookup.key-worker-none",)


def listed(release):
    """The captured table as it stands in the file."""
    return captured(release)["mp_operations"][0].answer["operations"]


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_the_table_of_the_wire_is_the_captured_one(release):
    found = table_of(release, captured(release)["mp_operations"][0].answer)
    known = operation_table(release)
    assert sorted(found.operations, key=lambda one: one.name) == sorted(known.operations, key=lambda one: one.name)
    assert found.accepts_names == known.accepts_names


def test_what_is_not_captured_is_derived_from_the_tables_of_the_wire(monkeypatch, pair):
    monkeypatch.setattr(tables, "captured_releases", lambda **_: [])
    found = {release: tables.dialects([release])[release] for release in map(Release.parse, ("0.4.7", "0.5.6"))}
    assert {source for _, source in found.values()} == {"tables"}
    (client, _), (server, _) = found.values()
    assert sorted(map(repr, pair_of(client, server).fates)) == sorted(map(repr, pair("0.4.7", "0.5.6").fates))


def test_every_release_with_itself_is_the_same(everything):
    assert {str(release): everything.pair(str(release), str(release)).grade.harm for release in RELEASES} == {
        str(release): Harm.SAME for release in RELEASES
    }


def test_what_is_met_is_what_the_captured_table_has_for_the_number(everything):
    for client, server in product(everything.client_generations, everything.server_generations):
        numbers = {entry["wire"]: entry["name"] for entry in listed(Release.parse(server.newest))}
        met = {fate.operation: fate.meets for fate in everything.pair(client.newest, server.newest).fates}
        assert met == {entry["name"]: numbers.get(entry["wire"]) for entry in listed(Release.parse(client.newest))}


def test_nothing_is_executed_with_another_number_of_payloads(everything):
    for pair in everything.pairs:
        asked = {entry["name"]: len(entry["payloads"]) for entry in listed(Release.parse(pair.client))}
        taken = {entry["name"]: len(entry["payloads"]) for entry in listed(Release.parse(pair.server))}
        assert not [fate for fate in pair.fates if fate.executed and asked[fate.operation] != taken[fate.meets]]


def test_the_frames_that_real_clients_made_fit_wherever_samples_do(everything):
    """Captured frames in place of samples: what is executed, and what is refused when executed, is read; nothing else is."""
    for pair in everything.pairs:
        table = operation_table(Release.parse(pair.server))
        frames = {
            vector.args["operation"]: [bytes.fromhex(frame["hex"]) for frame in vector.answer["frames"]]
            for vector in captured(Release.parse(pair.client))["mp_encode_request"]
            if vector.id.endswith(".plain") or vector.id in as_lookups_are_sent(Release.parse(pair.client))
        }
        plain = {
            fate.operation: fate for fate in reversed(pair.fates) if not fate.odd and "only a server with" not in fate.detail
        }
        assert len(frames.keys() & plain.keys()) > 5
        for operation in frames.keys() & plain.keys():
            fate = plain[operation]
            try:
                read = decode_request(table, frames[operation]).operation.name
            except WireError:
                read = None
            expected = fate.meets if fate.executed or "it is refused" in fate.what else None
            assert read == expected, (pair.client, pair.server, operation)


def test_cuda_tensors_cross_as_the_captured_blobs_do():
    """The class in a pickle follows its protocol's head as two texts; a map names its type."""
    for release in RELEASES:
        (vector,) = [one for one in captured(release)["mp_encode_registration"] if one.id == "mp.registration.encode.cuda.plain"]
        blob = bytes.fromhex(vector.answer["bytes"]["hex"])
        words = WRAPPER_FORMS[release].split()[-1]
        module, _, name = words.rpartition(".")
        if module:
            assert blob.startswith(b"\x80\x04")
            assert blob.index(module.encode()) < blob.index(name.encode()) < 80
        else:
            assert blob[1:].startswith(b"\xa4type" + bytes([0xA0 + len(words)]) + words.encode())


@pytest.mark.parametrize("release", RELEASES, ids=str)
def test_what_dies_of_what_is_as_captured(release):
    """Of an unknown number the server's message thread, of an unreadable reply the client's."""
    vectors = captured(release)
    (unknown,) = [one for one in vectors["mp_decode_request"] if one.id == "mp.request.decode.noop.operation-unknown"]
    assert UNKNOWN_KILLS[release] is (unknown.outcome["error"]["effect"] == "the message thread dies")
    unreadable = {one.outcome["error"]["effect"] for one in vectors["mp_decode_reply"] if ".result-" in one.id and one.ok is None}
    assert unreadable == {"the client's thread dies" if REPLY_KILLS[release] else "dropped"}


def test_the_effect_of_every_captured_operation_is_known():
    operations = {operation.meaning for release in RELEASES for operation in operation_table(release).operations}
    assert operations - EFFECTS.keys() == set()
    assert EFFECTS.keys() - operations == set()


def test_unknown_numbers_kill_until_0_5_5_and_are_dropped_by_0_5_6(everything):
    for pair in everything.pairs:
        numbers = {entry["wire"] for entry in listed(Release.parse(pair.server))}
        harms = {fate.grade.harm for fate in pair.fates if fate.number not in numbers}
        assert harms <= {Harm.HANGS if pair.server == "0.5.6" else Harm.KILLS}


def test_families_follow_the_names_of_upstream():
    assert {family(name) for name in ("CB_STORE_FINAL", "P2P_UNLOCK_OBJECTS", "STORE_Q", "PREPARE_STORE", "LOOKUP")} == {
        "blend", "peers", "experimental", "engine-driven", "engine",
    }  # fmt: skip
