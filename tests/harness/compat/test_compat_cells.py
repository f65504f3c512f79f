"""Cells that are known from the wire and key tables of the project, played against mocks."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from harness.compat.exchange import Place
from harness.compat.frames_of import Chunks, frames_of
from harness.compat.share import Both, share
from harness.compat.talk import Tags, Talk
from harness.targets import mock_server
from reports.compat.outcome import Outcome
from wire.release import Release


def letters(cell):
    return cell.grade_of("talk").letter + cell.grade_of("share").letter


def reasons(cell, part):
    return {finding.reason for finding in cell.findings if finding.part == part}


def struck(cell, part, outcome):
    return {name for found in cell.findings if found.part == part and found.grade.outcome == outcome for name in found.struck}


@pytest.mark.parametrize(
    ("client", "server", "expected"),
    [
        ("0.5.6", "0.5.6", "++"),
        ("0.4.1", "0.4.4", "++"),
        ("0.5.0", "0.5.6", "++"),
        ("0.3.2", "0.3.1", "r+"),
        ("0.3.2", "0.5.6", "HH"),
        ("0.3.3", "0.3.2", "HH"),
        ("0.5.6", "0.3.2", "RR"),
        ("0.3.3", "0.3.4", "rM"),
        ("0.3.12", "0.3.13", "RR"),
        ("0.3.13", "0.3.12", "RR"),
        ("0.3.9", "0.3.9.post1", "RR"),
        ("0.3.15", "0.4.1", "+M"),
        ("0.3.12", "0.3.12", "w?"),
        ("0.3.15", "0.3.15", "+?"),
        ("0.4.5", "0.4.6", "+m"),
        ("0.4.4", "0.4.3", "+w"),
        ("0.5.6", "0.5.0", "r+"),
    ],
)
def test_the_two_answers(cell, client, server, expected):
    assert letters(cell(client, server)) == expected


def test_a_cell_shows_the_worse_of_both(cell):
    assert cell("0.3.3", "0.3.4").grade.letter == "M"
    assert cell("0.5.6", "0.5.0").grade.letter == "r"


def test_a_header_that_is_too_short_hangs_and_says_so(cell):
    words = "no reply: a request header has 182 bytes and the server reads 186, so it waits for more"
    assert words in reasons(cell("0.3.2", "0.5.6"), "talk")


def test_a_reply_that_is_too_short_hangs_and_shows_what_came(cell):
    found = next(found for found in cell("0.3.3", "0.3.2").findings if "waits for 36" in found.reason)
    exchange = found.evidence.exchanges[-1]
    assert (exchange.received, exchange.wanted, exchange.ending) == (32, 36, "silence")
    assert exchange.got.hex() == "c800000000000000" + "0100000002000000" + 16 * "00"


def test_a_client_that_cannot_store_shares_nothing(cell):
    assert "nothing can be stored there (see talk)" in reasons(cell("0.3.12", "0.3.13"), "share")


@pytest.mark.parametrize(
    ("client", "server", "cause"),
    [
        ("0.3.12", "0.3.13", "fmt prefix: stored with the engine's name in front, asked for without it"),
        ("0.3.9", "0.3.9.post1", "dtype in key: stored without a dtype, asked for with one"),
        ("0.3.5", "0.3.6", "hash spelling: stored as a decimal number, asked for as a hexadecimal number"),
        ("0.3.3", "0.3.4", "chain: stored with hashes of (prefix, tokens), asked for with hashes of (prefix, tokens, None)"),
        ("0.3.15", "0.4.1", "chain: stored with hashes of (prefix, tokens, None), asked for with hashes of (prefix, tokens, ())"),
        ("0.3.2", "0.3.3", "text chain: stored with sha256 digests of text, asked for with hashes of (prefix, tokens)"),
    ],
)
def test_a_miss_has_a_named_cause(cell, client, server, cause):
    assert f"another key is asked for: {cause}" in reasons(cell(client, server), "share")


def test_keys_that_change_from_process_to_process_are_not_reproducible(cell):
    found = [found for found in cell("0.3.15", "0.3.15").findings if found.part == "share"]
    assert [finding.grade.outcome for finding in found] == [Outcome.UNKNOWN]
    assert "hash(None) is an address before CPython 3.12" in found[0].reason


def test_the_fold_of_digests_is_said_where_nothing_else_differs(cell):
    assert reasons(cell("0.4.5", "0.4.6"), "share") == {
        "another key is asked for: fold: digests are stored whole, and asked for as integers of their first 8 bytes"
    }


def test_a_rest_that_is_stored_and_never_asked_for_is_said(cell):
    words = "save_unfull_chunk: by default a last chunk that is not full is stored, and never asked for"
    assert words in reasons(cell("0.3.10.post2", "0.3.11"), "share")
    assert words not in reasons(cell("0.3.11", "0.3.10.post2"), "share")


def test_layer_keys_are_refused_before_0_3_14(cell):
    assert struck(cell("0.3.12", "0.3.12"), "talk", Outcome.REFUSED) >= {"key layer-0", "key layer-127", "key layer-tag"}
    assert struck(cell("0.3.15", "0.3.15"), "talk", Outcome.REFUSED) == set()


def test_a_format_beyond_the_servers_table_is_refused_and_named(cell):
    assert struck(cell("0.5.6", "0.5.0"), "talk", Outcome.REFUSED) == {"value HS_TD float16"}
    words = "the server closes the connection: format 8 (HS_TD) is beyond its table, which ends at 7"
    assert reasons(cell("0.5.6", "0.5.0"), "talk") == {words}


def test_dtypes_that_share_a_name_give_each_others_values(cell):
    found = cell("0.3.12", "0.3.12")
    assert struck(found, "talk", Outcome.WRONG) == {
        "keys dtype-float8-e4m3fn and dtype-float8-e4m3fnuz",
        "keys dtype-float8-e5m2 and dtype-float8-e5m2fnuz",
    }
    assert struck(found, "share", Outcome.WRONG) == {"key dtype-float8-e4m3fn", "key dtype-float8-e5m2"}


def test_a_shape_that_the_other_side_reads_otherwise_is_wrong(cell):
    assert struck(cell("0.4.4", "0.4.3"), "share", Outcome.WRONG) == {"value KV_T2D float16", "value KV_2TD float16"}


def test_what_strikes_plain_use_is_not_repeated_for_every_key(cell):
    found = cell("0.3.12", "0.3.13")
    assert all(finding.grade.plain for finding in found.findings if finding.part == "talk")


def test_the_same_cell_played_twice_is_the_same(cell):
    again = cell.__wrapped__("0.4.5", "0.3.13")
    assert again == cell("0.4.5", "0.3.13")


def deployed(release, digest):
    """Frames of a release with one captured chunk key of a process that hashes with digests."""
    texts = {(0, 16): f"m@1@0@{digest}@half"}
    chunks = Chunks("lm.deployment.sha256-cbor", {"model": "m", "dtype": "float16", "algorithm": "sha256_cbor"}, texts, None)
    return replace(frames_of(Release.parse(release)), chunks={chunks.id: chunks})


def test_keys_of_deployments_are_played_as_well():
    whole, folded = deployed("0.4.5", "00a7" * 16), deployed("0.4.6", "a700a700a700a7")
    with mock_server(folded.release) as server, ThreadPoolExecutor(8) as pool:
        place = Place(server.host, server.port, 0.3, lambda: None)
        talked = Talk((), frozenset({"value KV_2LTD float16", "key plain"}), 0)
        missed = share(Both(place, whole, folded), talked, Tags(whole.release), pool)
        found = share(Both(place, folded, folded), talked, Tags(folded.release), pool)
    played = [finding for finding in missed.findings if finding.evidence.exchanges]
    assert [finding.struck[0] for finding in played] == ["lm.deployment.sha256-cbor"]
    assert "fold" in played[0].reason
    assert found.findings == []


def test_keys_that_are_spelled_otherwise_are_shown_to_miss_on_the_wire(cell):
    found = next(found for found in cell("0.3.5", "0.3.6").findings if "hash spelling" in found.reason)
    assert found.struck[0] == "key plain"
    stored, asked = found.evidence.exchanges
    assert (stored.by, stored.request, asked.by, asked.request) == ("client", "PUT", "engine", "GET")
    assert b"@1885667171979194497 " in stored.sent
    assert b"@1a2b3c4d5e6f7081 " in asked.sent
    assert asked.got[:4] == (400).to_bytes(4, "little")


def test_a_release_with_itself_is_ok_where_its_keys_are_reproducible(cell):
    assert list(cell("0.5.6", "0.5.6").findings) == []


def test_every_miss_of_a_deployment_has_a_cause(cell):
    for pair in (("0.3.9.post2", "0.3.10"), ("0.3.10", "0.3.11"), ("0.4.5", "0.4.6")):
        assert not [found for found in cell(*pair).findings if "no capture says why" in found.reason], pair
