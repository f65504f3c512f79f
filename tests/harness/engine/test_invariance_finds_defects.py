"""What the cases of output invariance find, and what they say of it."""

import shlex
import sys

import pytest

from harness.mutants.mutant import load_mutants

ALONE = {
    "values-packed-before-keys": ("packed-by-the-client", "keys and values are exchanged"),
    "values-before-keys-both-ways": ("unpacked-by-the-client", "keys and values are exchanged"),
    "layers-inside-tokens": ("packed-by-the-client", "the axes are packed as K or V, token, layer, hidden"),
    "slots-off-by-one": ("unpacked-by-the-client", "one slot too late"),
    "slots-sorted": ("unpacked-by-the-client", "every token: in another order"),
    "last-token-not-copied": ("unpacked-by-the-client", "the last token: nothing but zeros"),
    "rounded-through-bfloat16": ("packed-by-the-client", "every token: elements with the precision of bfloat16"),
    "latent-taken-for-two-planes": ("packed-by-the-client", "each latent vector is split in two, as if it were K and V"),
    "second-put-dropped": ("stored-twice", "it is what was stored first under this key"),
    "first-value-cached": ("stored-twice", "it is what was stored first under this key"),
    "chunks-not-chained": (
        "same-chunk-of-another-prompt",
        "chunks 1 to 3 (tokens 8 to 31): it was computed behind another beginning",
    ),
    "keys-in-reverse": ("fork", "chunk 2 (tokens 16 to 23): it is of the prompt that was stored, and of tokens 24 to 31"),
    "exist-always-true": ("miss-in-the-middle", "exist says that it is stored and get misses it"),
    "miss-gives-the-last-value": ("miss-in-the-middle", "chunk 1 (tokens 8 to 15): it holds tokens 0 to 7"),
}
"""A case that the mutant fails with other tokens, and what is said of the chunks it loaded."""
OTHERWISE = {
    "chunk-hash-of-a-few-tokens": ("last-chunk", "get should have succeeded"),
    "knows-only-its-own-puts": ("same-prompt", "the client found 0 chunks of the prompt, and 4 are stored"),
    "key-depends-on-the-process": ("fresh-process", "the client found 0 chunks of the prompt, and 4 are stored"),
}
"""Mutants that do not come so far as to answer otherwise, with a case that they fail and how."""


def failures(judged, name, case):
    run = judged(f"mutant:{name}", f"lm.invariance.{case}*")
    assert run.code == 1
    return run.with_verdict("fail")


@pytest.mark.parametrize("name", ALONE)
def test_a_wrong_chunk_changes_the_answer_and_is_described(judged, name):
    case, words = ALONE[name]
    found = failures(judged, name, case)
    assert found
    assert all("of the answer is" in failed.diagnosis.summary for failed in found)
    assert any(words in failed.diagnosis.client_answered for failed in found)


@pytest.mark.parametrize("name", OTHERWISE)
def test_a_chunk_that_is_not_found_or_not_given_fails_too(judged, name):
    case, words = OTHERWISE[name]
    assert any(words in failed.diagnosis.summary for failed in failures(judged, name, case))


def test_every_mutant_of_invariance_is_looked_at():
    here = [name for name, mutant in load_mutants().items() if ".invariance:" in mutant.place]
    assert sorted(here) == sorted([*ALONE, *OTHERWISE])


def test_every_case_of_invariance_has_a_mutant_that_fails_it():
    from cases.lm import test_invariance

    cases = {name.removeprefix("test_").replace("_", "-") for name in vars(test_invariance) if name.startswith("test_")}
    assert {case for case, _ in [*ALONE.values(), *OTHERWISE.values()]} == cases


def test_a_failure_shows_the_token_and_the_bytes_of_the_first_wrong_chunk(judged):
    found = failures(judged, "last-token-not-copied", "unpacked-by-the-client[0.5.6-mock-KV_2LTD-float16]")
    (place,) = found[0].diagnosis.values
    assert place.path.startswith("answer[")
    expected, got = found[0].diagnosis.frames
    assert [frame.title for frame in (expected, got)] == [
        "chunk 0 (tokens 0 to 7) as computed",
        "chunk 0 (tokens 0 to 7) as loaded",
    ]
    assert not any(got.data[mark - got.offset] for mark, _ in got.marks)
    assert found[0].diagnosis.requirement == "LAY-007"


def test_a_client_that_is_a_program_stores_and_loads_in_two_processes(judged):
    program = shlex.join([sys.executable, "-m", "harness.clients.host", "reference"])
    run = judged(f"stdio:{program}", "lm.invariance.same-prompt*", "lm.invariance.fresh-process*")
    assert run.code == 0
    assert {case.verdict for case in run.cases} == {"pass"}


def test_a_client_without_layouts_is_not_asked(judged):
    run = judged("python:broken_clients:FormatsKeysOnly", "lm.invariance*")
    assert {case.verdict for case in run.cases} == {"unsupported"}
