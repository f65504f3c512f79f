"""What a drift means for a client that says which releases it is right for."""

import pytest
from future_captures import observed

from fixturegen.corpus import captured_releases
from reports.drift.claims import Claims, concern
from reports.drift.compare import compare
from reports.drift.model import Level
from wire.errors import UnknownReleaseError
from wire.release import Release


def between(old, new):
    return compare(observed(str(old)), observed(str(new)))


def about(claims, old, new):
    return concern(claims, between(old, new), captured_releases(), between)


def test_a_release_that_changes_nothing_can_be_claimed_as_well():
    found = about(Claims.parse("0.3.14 to 0.5.5"), "0.5.5", "0.5.6")
    assert found.sentence == "Your client claims 0.3.14 to 0.5.5; 0.5.6 changes nothing for it."
    assert found.level is Level.NONE


def test_a_release_behind_the_range_that_breaks_is_said_to():
    found = about(Claims.parse("0.4.1 to 0.4.5"), "0.4.5", "0.4.6")
    assert found.sentence == "Your client claims 0.4.1 to 0.4.5; 0.4.6 breaks it by 1 change (for stores, loads)."
    assert found.level is Level.BREAKING


def test_what_counts_is_the_way_from_the_newest_claimed_release():
    """The pair that was asked for changes nothing; what stands between the claim and it does."""
    found = about(Claims.parse("0.4.1 to 0.4.5"), "0.5.5", "0.5.6")
    assert found.level is Level.BREAKING
    assert (
        "0.5.6 against 0.4.5, the newest of them in the corpus ('lmconform drift 0.4.5 0.5.6') breaks it by 1 change"
        in found.sentence
    )


def test_a_claim_without_an_end_holds_for_the_new_release_too():
    found = about(Claims.parse("0.4.1 and later"), "0.4.5", "0.4.6")
    assert (
        found.sentence == "Your client claims 0.4.1 and later, and so 0.4.6 too; 0.4.6 breaks it by 1 change (for stores, loads)."
    )
    assert found.level is Level.BREAKING


def test_a_claim_that_names_the_new_release_is_for_a_run_to_judge():
    found = about(Claims.parse("0.3.1 to 0.5.6"), "0.3.2", "0.3.3")
    assert (
        found.sentence
        == "Your client claims 0.3.1 to 0.5.6, 0.3.3 included: 'lmconform run --lmcache 0.3.3' shows whether it keeps that."
    )
    assert found.level is Level.NONE


def test_a_drift_before_the_range_does_not_concern_the_client():
    found = about(Claims.parse("0.3.14 to 0.5.5"), "0.3.2", "0.3.3")
    assert "this drift does not concern it" in found.sentence
    assert found.level is Level.NONE


def test_additive_and_behavioural_changes_are_counted():
    found = about(Claims.parse("up to 0.4.3"), "0.4.3", "0.4.4")
    assert found.sentence == (
        "Your client claims up to 0.4.3; 0.4.4 behaves differently in 1 point (for loads), adds 1 thing (for stores, loads)."
    )
    assert found.level is Level.BEHAVIOURAL


@pytest.mark.parametrize(
    ("versions", "text"),
    [
        (["0.5.6"], "0.5.6"),
        (["0.3.1", "0.3.1.post1", "0.3.2"], "0.3.1 to 0.3.2"),
        (["0.5.6", "0.3.1", "0.5.5"], "0.3.1, 0.5.5 to 0.5.6"),
        (["*"], "every release"),
    ],
)
def test_releases_that_a_client_declares_are_told_as_ranges(versions, text):
    assert Claims.of_versions(versions).text == text


def test_a_client_for_every_release_claims_releases_to_come():
    claims = Claims.of_versions(["*"])
    assert Release.parse("9.9.9") in claims
    assert not claims.by_name(Release.parse("9.9.9"))


def test_a_range_that_is_none_is_refused():
    with pytest.raises(UnknownReleaseError):
        Claims.parse("from 0.3 to eternity")
