"""Which releases a kill matrix takes where none is named."""

import pytest

from fixturegen.corpus import captured_releases
from harness.killmatrix.releases import chosen_releases, require_meetings, shows_in
from harness.mutants.mutant import load_mutants, load_server_mutants
from harness.usage import UsageError

EVERY = {**load_mutants(), **load_server_mutants()}
ALL = {name: found for name, found in EVERY.items() if found.protocol == "lm"}
MP = [found for found in EVERY.values() if found.protocol == "mp"]
ENDS = (captured_releases()[0], captured_releases()[-1])


def test_every_mutant_meets_cases_in_each_end_of_the_corpus_where_it_shows_or_else_in_one_other_release():
    chosen = chosen_releases(None, list(ALL.values()))
    assert chosen.whole == ENDS
    for mutant in ALL.values():
        shown = [end for end in ENDS if shows_in(mutant, end)]
        met = chosen.of(mutant)
        assert list(met) == shown if shown else len(met) == 1 and shows_in(mutant, met[0])


def test_no_release_is_added_that_could_be_spared():
    chosen = chosen_releases(None, list(ALL.values()))
    some = [mutant for there in chosen.extra.values() for mutant in there]
    for spared in chosen.extra:
        others = [release for release in chosen.extra if release != spared]
        assert not all(any(shows_in(mutant, release) for release in others) for mutant in some)


def test_a_mutant_without_captures_in_the_newest_release_counts_as_showing_where_it_has_them():
    chosen = chosen_releases(None, [ALL["token-hash-little-endian"]])
    assert all(shows_in(ALL["token-hash-little-endian"], release) for release in chosen.of(ALL["token-hash-little-endian"]))


def test_an_end_of_the_corpus_where_no_named_mutant_shows_is_left_out():
    named = ALL["chain-folds-too-early"]
    chosen = chosen_releases(None, [named])
    assert (chosen.whole, len(chosen.all), len(chosen.of(named))) == ((), 1, 1)


def test_a_named_mutant_that_shows_in_none_of_the_named_releases_is_refused_with_those_where_it_does():
    named = [ALL["key-hash-hex-too-early"]]
    with pytest.raises(UsageError, match=r"key-hash-hex-too-early shows in 0\.3\.3, 0\.3\.4, 0\.3\.5; name one of these"):
        require_meetings({"key-hash-hex-*": named}, chosen_releases("0.5.6", named))


def test_the_ends_of_the_multiprocess_wire_are_those_of_its_own_captures():
    captured = captured_releases(protocol="mp")
    chosen = chosen_releases(None, MP, "mp")
    assert chosen.whole == (captured[0], captured[-1])
    assert all(chosen.of(mutant) for mutant in MP)
