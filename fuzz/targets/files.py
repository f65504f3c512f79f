"""Files that somebody else may have written or changed: results, lists of failures, corpora, counterexamples, packets."""

from __future__ import annotations

import functools
import io
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from cases.lm.counterexamples import counterexamples
from fixturegen.corpus import corpus_root, load_corpus
from fixturegen.errors import CorpusError
from fixturegen.index import read_index, write_index
from fixturegen.manifest import Manifest
from fixturegen.mp.transcript import MpTranscript
from fixturegen.vector import Transcript, Vector, content_hash
from fuzz.target import Bytes, Target, texts
from fuzz.targets.captured import vectors
from harness.expectations.file import read_expectations
from harness.requirements import RequirementError, load_requirements
from harness.usage import UsageError
from reports import pcap
from reports.diff.compare import compare
from reports.diff.document import dumps
from reports.diff.model import ComparisonError, Run
from reports.diff.text import text_lines
from reports.explain import explain_text
from reports.formats.context import Context
from reports.formats.table import FORMATS
from reports.merge import MergeError, merge
from reports.results import ResultsError, read_results
from reports.terminal import summary_lines
from wire.release import Release

_LINES: Final = 12000
_RELEASE: Final = Release.parse("0.5.6")


def _in_file(use: Callable[[Path], object], name: str = "it") -> Callable[[bytes], None]:
    def run(data: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            path.write_bytes(data)
            use(path)

    return run


def shown(path: Path) -> None:
    """Results in every form in which people read them."""
    results = read_results(path)
    assert [line.plain for line in summary_lines(results, path)]
    for case in results.cases[:3]:
        assert explain_text(case)
    for form in FORMATS.values():
        if form.name != "html":  # a second for each
            form.write(results, Context())


def page(path: Path) -> None:
    """Results as a page."""
    FORMATS["html"].write(read_results(path), Context())


def compared(path: Path) -> None:
    """Results compared with what they were before they were changed."""
    new = read_results(path)
    found = compare(Run("old", _good_results()), Run("new", new))
    dumps(found, set())
    assert [line.plain for line in text_lines(found)]


def merged(path: Path) -> None:
    """Shards, divided by two line feeds, merged."""
    files = []
    for number, part in enumerate(path.read_bytes().split(b"\n\n")[:4]):
        file = path.with_name(f"{number}.jsonl")
        file.write_bytes(part + b"\n")
        files.append((file, read_results(file)))
    merge(files, ["lmconform", "merge"])


def manifest(data: bytes) -> None:
    """The manifest of a corpus; seals made good, so that members are read."""
    text = data.decode("utf-8", "replace")
    Manifest.from_text(_sealed(text), "here")


def corpus_line(data: bytes) -> None:
    """A line of a corpus whose hash is right, for each kind of lines."""
    try:
        line = json.loads(data)
    except (ValueError, RecursionError):
        return
    for kind in (Vector, Transcript, MpTranscript):
        try:
            kind.from_json(line)
        except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as refusal:
            assert str(refusal) is not None  # noqa: PT017  # the loader names file and line


def corpus(data: bytes) -> None:
    """A folder of a corpus of which one file was changed."""
    given = Bytes(data)
    name = given.choice(("defaults.jsonl", "chain_inputs.jsonl", "manifest.json"))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / str(_RELEASE)
        shutil.copytree(_small_corpus(), home)
        (home / name).write_bytes(given.rest())
        load_corpus(_RELEASE, Path(folder), every_line=True)


def index(data: bytes) -> None:
    """The list of releases that is kept with a corpus."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "index.json").write_bytes(data)
        read_index(Path(folder))


def requirements(data: bytes) -> None:
    """A page of the specification."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "page.md").write_bytes(data.decode("utf-8", "replace").encode())
        load_requirements(Path(folder))


def packets(data: bytes) -> None:
    """Packets of any events."""
    given = Bytes(data)
    largest = given.number() + 1
    events = []
    while head := given.take(3):
        do: Any = given.choice(("open", "data", "half-close", "close", "reset"))
        events.append(
            pcap.Event(head[0] / 8, head[1 % len(head)] * 971, "client" if head[0] & 1 else "server", do, given.piece())
        )
    file = io.BytesIO()
    count = pcap.write_pcap(file, pcap.segments(events, largest=largest))
    assert len(file.getvalue()) >= 24 + 56 * count


def counterexample(data: bytes) -> None:
    """A line of kept counterexamples, as the schema judges it."""
    schema = json.loads((Path(__file__).parents[2] / "cases/lm/counterexamples/counterexample.schema.json").read_text("utf-8"))
    from reports.schema import fault_of_document

    try:
        line = json.loads(data)
    except (ValueError, RecursionError):
        return
    fault = fault_of_document(line, schema)
    assert fault is None or fault.strip()


def _sealed(text: str) -> str:
    try:
        document = json.loads(text)
        body = {name: value for name, value in document.items() if name not in {"seal", "environment", "environment_seal"}}
        return json.dumps({**document, "seal": content_hash(body), "environment_seal": content_hash(document["environment"])})
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return text


@functools.cache
def _small_corpus() -> Path:
    return corpus_root() / "0.3.1"


@functools.cache
def _good_results() -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "old.jsonl"
        path.write_bytes(_results()[0])
        return read_results(path)


def _results() -> Sequence[bytes]:
    return [(Path(__file__).parent / "seeds" / "results.jsonl").read_bytes()]


def _shards() -> Sequence[bytes]:
    header, first, second, third, footer = map(json.loads, _results()[0].splitlines())
    found = []
    for number, cases in ((1, [first, third]), (2, [second])):
        counts = {**dict.fromkeys(footer["counts"], 0), **Counter(case["verdict"] for case in cases)}
        places = [{**case, "place": [0, 2, 1].index([first, second, third].index(case))} for case in cases]
        lines = [{**header, "shard": {"index": number, "count": 2}}, *places, {**footer, "counts": counts}]
        found.append("\n".join(json.dumps(line) for line in lines))
    return ["\n\n".join(found).encode()]


def _manifests() -> Sequence[bytes]:
    whole = json.loads((_small_corpus() / "manifest.json").read_text("utf-8"))
    first = dict(list(whole["files"].items())[:1])
    return [json.dumps({**whole, "files": first}).encode()]


def _corpus_lines() -> Sequence[bytes]:
    found = [
        json.dumps(vector.to_json())
        for op in ("decode_request", "parse_key", "chunk_keys")
        for vector in vectors(op, "0.5.6", few=1)
    ]
    found += [json.dumps(one.to_json()) for one in load_corpus(_RELEASE).transcripts[:2]]
    found += [json.dumps(one.to_json()) for one in load_corpus(_RELEASE, protocol="mp").mp_transcripts[:2]]
    return [line.encode() for line in found if len(line) < 3000]


def _corpora() -> Sequence[bytes]:
    return [
        bytes([0]) + (_small_corpus() / "defaults.jsonl").read_bytes(),
        bytes([2]) + (_small_corpus() / "manifest.json").read_bytes(),
    ]


def _indexes() -> Sequence[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        write_index([_RELEASE], Path(folder))
        return [(Path(folder) / "index.json").read_bytes()]


def _pages() -> Sequence[bytes]:
    text = (Path(__file__).parents[2] / "docs/spec/connectors.md").read_text("utf-8")
    return [text[:2500].encode(), text[text.index("\n#") :][:2500].encode()]


def _examples() -> Sequence[bytes]:
    kinds: Sequence[Any] = ("reply", "program")
    return [json.dumps(one).encode() for kind in kinds for one in counterexamples(kind)[:2]]


_LIST: Final = """[[expectation]]
cases = "lm.get.*"
releases = ["0.3.3 to 0.4.3", "0.5.6"]
targets = "mock"
outcome = "fail"
reason = "It does not read them."
issue = "https://example.org/1"
expires = 2027-03-31
error = "a * b"
"""

TARGETS: Final = (
    Target(
        "files.expectations",
        _in_file(read_expectations),
        (UsageError,),
        texts(_LIST, "[[expectation]]\ncases = 'x'\n", "x = 1"),
        _LINES,
    ),
    Target("files.results", _in_file(shown), (ResultsError,), _results, _LINES),
    Target("files.page", _in_file(page), (ResultsError,), _results, _LINES),
    Target("files.compared", _in_file(compared), (ResultsError, ComparisonError), _results, _LINES),
    Target("files.merged", _in_file(merged), (ResultsError, MergeError), _shards, _LINES),
    Target("files.manifest", manifest, (CorpusError,), _manifests),
    Target("files.corpus-line", corpus_line, (), _corpus_lines),
    Target("files.corpus", corpus, (CorpusError,), _corpora, _LINES),
    Target("files.index", index, (CorpusError,), _indexes),
    Target("files.requirements", requirements, (RequirementError,), _pages),
    Target("files.packets", packets, (), lambda: [b"\x20" + b"\0\1\2\0\0\0" + b"\1\1\2\1\5\0hello" + b"\2\1\2\4\0\0"]),
    Target("files.counterexample", counterexample, (), _examples),
)
