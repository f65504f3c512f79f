"""Expected keys against a deployment: the smallest explanations, what was ruled out, and what to look at next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.mismatch.expected import Expected
from harness.mismatch.hypothesis import Hypothesis
from harness.mismatch.identity import identity_causes, part_rows
from harness.mismatch.request import Request
from harness.mismatch.search import MOST_EXPECTED, VIEWS, Match, Search
from reports.keys.record import Cause, Comparison, Explanation, NamedChunk


def compare(request: Request, expected: Sequence[Expected]) -> Comparison:
    """Whether expected keys are keys of a deployment, and if not, the smallest sets of known causes that explain them.

    The search is bounded and gives the same answer every time. ``expected`` are the keys of the first chunks in order, or
    one key of any chunk.
    """
    search = Search(request, expected)
    matches = search.run()
    release = request.deployment.release
    seen = dict.fromkeys(cause for one in expected for cause in identity_causes(request, release, one))
    covers = len(expected)
    explanations = tuple(_explanations(matches))
    if not matches and search.partial is not None:
        covers = search.partial.covers
        explanations = tuple(_explanations([search.partial], (_tokens_differ(search.partial),)))
    elif not matches:
        covers = 0
    return Comparison(
        expected=tuple(one.text for one in expected),
        explanations=explanations,
        parts=part_rows(request, release, expected[0]),
        covers=covers,
        identity=tuple(seen),
        tried=tuple(search.tally.sets),
        chains=search.tally.chains,
        limits=tuple(_limits(request, expected, len(search.tally.sets))),
        ruled_out=() if matches else tuple(_ruled_out(search.tried_alone())),
        check_next=() if matches else tuple(_check_next(request, expected, covers)),
    )


def _explanations(matches: Sequence[Match], more: tuple[Cause, ...] = ()) -> Iterator[Explanation]:
    """One for each recipe; sets of causes that come to the same recipe cannot be told apart by any key."""
    alike: dict[tuple[object, ...], list[Match]] = {}
    for match in matches:
        alike.setdefault((match.recipe, match.other_causes), []).append(match)
    for group in alike.values():
        first, *others = _joined([match.hypotheses for match in group])
        seen = group[0].other_causes
        yield Explanation(
            causes=(*first, *seen, *more),
            also=tuple((*other, *seen, *more) for other in others),
            chunks=tuple(NamedChunk(value.index, value.start, value.start + value.length) for value in group[0].placed.values),
        )


def _joined(sets: Sequence[tuple[Hypothesis, ...]]) -> Iterator[tuple[Cause, ...]]:
    """The causes of sets, where sets that differ in a version only become one that names all versions."""
    groups: dict[tuple[object, ...], list[tuple[Hypothesis, ...]]] = {}
    for chosen in sets:
        name = tuple((hypothesis.joined and hypothesis.dimension) or hypothesis for hypothesis in chosen)
        groups.setdefault(name, []).append(chosen)
    for group in groups.values():
        yield tuple(_cause(column) for column in zip(*group, strict=True))


def _cause(column: Sequence[Hypothesis]) -> Cause:
    joined = column[0].joined
    if joined is None:
        return column[0].cause
    return joined(tuple(dict.fromkeys(member for hypothesis in column for member in hypothesis.members)))


def _tokens_differ(match: Match) -> Cause:
    last = match.placed.values[-1]
    at = last.start + last.length
    return Cause(
        "tokens-differ",
        f"The tokens probably differ from chunk {last.index + 1} on (tokens {at} and later): what is before has these keys.",
        "Compare the token ids of that chunk on both sides, and give --expect for it alone if its tokens are the same.",
        str(at),
    )


def _limits(request: Request, expected: Sequence[Expected], sizes: int) -> Iterator[str]:
    count = len(request.tokens)
    for size, view in enumerate(VIEWS[:sizes]):
        if size and count > min(view.tokens, view.chunks * request.chunk_size):
            yield f"sets of {size} looked at the first {view.tokens} tokens, and at no more than {view.chunks} chunks"
    if sizes > 1 and len(expected) > MOST_EXPECTED:
        yield f"hypotheses had to give the first {MOST_EXPECTED} expected keys"
    if sizes == len(VIEWS):
        yield f"sets of {sizes - 1} were made of the likeliest causes only"


def _ruled_out(hypotheses: Sequence[Hypothesis]) -> Iterator[str]:
    tried: dict[str, dict[str, list[str]]] = {}
    for hypothesis in hypotheses:
        cause = hypothesis.cause
        values = tried.setdefault(hypothesis.dimension, {}).setdefault(cause.id, [])
        if cause.value is not None:
            values.append(cause.value or "''")
    for dimension, causes in tried.items():
        yield f"{dimension}: " + "; ".join(f"{id_} {', '.join(values)}".rstrip() for id_, values in causes.items())


def _check_next(request: Request, expected: Sequence[Expected], covers: int) -> Iterator[str]:
    yield (
        "the token ids themselves: print them on both sides, and compare length, first and last ones (chat template, special "
        "tokens, truncation, another tokenizer revision)"
    )
    if covers == 0:
        yield "the key of the first chunk, with --expect: it depends on the fewest tokens"
    if len(expected) == 1:
        yield "more than one key: give --expect once for each of the first chunks"
    yield (
        "the log of the other side: from 0.3.9.post2 on lmcache writes NONE_HASH and which function it loaded, or could not load"
    )
    yield "PYTHONHASHSEED of the other process: an unset seed is mostly a random one, which no search finds"
    if request.deployment.seed is not None:
        yield f"a seed that was not tried: give the true one with --seed (here it is '{request.deployment.seed}')"
    yield "images in the prompt: lmcache hashes values made of an image's hash in the place of its placeholder tokens"
