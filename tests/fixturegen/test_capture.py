"""A capture asks twice, records what both runs agree on, and refuses the rest."""

import contextlib
import copy
import itertools
import json

import pytest
from scripted_peer import Read, ScriptedPeer

import fixturegen.capture
from fixturegen import player
from fixturegen.capture import capture
from fixturegen.corpus import load_corpus
from fixturegen.environment import ServerAddress
from fixturegen.errors import CaptureError, EnvironmentUnavailable
from fixturegen.inputs import Question, questions
from fixturegen.scenarios import scenarios
from fixturegen.vector import MASKED, Step, Transcript
from fixturegen.wheel import Wheel
from mockserver.lm import LmServer
from wire.release import Release

RELEASE = Release.parse("0.5.6")
SOURCE = "lmcache.made.up"
ENVIRONMENT = {"python": "3.11.7", "implementation": "CPython", "byte_order": "little", "packages": {"torch": "2.13.0"}}
NO_LAYOUTS = {"vectors": [], "sources": [], "unavailable": []}


class FakeEnvironment:
    """Answers every probe from prepared answers, one after the other, and serves with a server that the test makes."""

    runtime = "venv"

    def __init__(self, *answers, server=lambda: LmServer("0.5.6")):
        self.answers = itertools.cycle(answers)
        self.make_server = server
        self.jobs = []
        self.seeds = []
        self.seen = []
        self.servers = 0

    def wheel(self, release):
        return Wheel(f"lmcache-{release}-cp311-cp311-any.whl", "ab" * 32)

    def vllm_wheel(self, version):
        return Wheel(f"vllm-{version}-cp38-abi3-any.whl", "cd" * 32)

    def run_probe(self, release, job, *, timeout, seed="0"):
        self.jobs.append(job)
        self.seeds.append(seed)
        self.seen.append((release, timeout))
        return copy.deepcopy(next(self.answers))

    @contextlib.contextmanager
    def server(self, release):
        self.seen.append((release, None))
        self.servers += 1
        with self.make_server() as server:
            yield ServerAddress(*getattr(server, "address", None) or (server.host, server.port))


def answer(outcomes, *, layouts=NO_LAYOUTS, environment=ENVIRONMENT):
    return {"outcomes": outcomes, "layouts": layouts, "environment": environment}


PLAIN = {"ok": {"text": "m@1"}, "source": SOURCE}
OTHER = {"ok": {"text": "m@2"}, "source": SOURCE}
REFUSED = {"error": {"type": "KeyError", "message": "9"}, "source": SOURCE}
VOLATILE = {"ok": {"chunks": [{"start": 0, "end": 4, "key": MASKED}]}, "source": SOURCE, "volatile": "hash(None) is an address"}
INAPPLICABLE = {"inapplicable": "this release has no TokenHasher"}
OUTCOMES = {"lm.plain": PLAIN, "lm.refused": REFUSED, "lm.volatile": VOLATILE, "lm.none": INAPPLICABLE}


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch):
    monkeypatch.setattr(player, "RECORDED_SILENCE", 0.1)
    monkeypatch.setattr(player, "QUIET", 0.03)


@pytest.fixture
def _few_questions(monkeypatch):
    """Four questions and one conversation instead of hundreds."""
    asked = [
        Question("lm.plain", "format_key", {"key": 1}),
        Question("lm.refused", "format_key", {"key": 2}),
        Question("lm.volatile", "chunk_keys", {"tokens": [1]}),
        Question("lm.none", "token_hashes", {"tokens": []}),
    ]
    monkeypatch.setattr(fixturegen.capture, "questions", lambda _release: asked)
    script = next(script for script in scenarios(RELEASE) if script.id == "lm.server.health")
    monkeypatch.setattr(fixturegen.capture, "scenarios", lambda _release: [script])


few = pytest.mark.usefixtures("_few_questions")


@few
def test_what_was_written_loads(tmp_path):
    folder = capture(RELEASE, FakeEnvironment(answer(OUTCOMES)), root=tmp_path)
    corpus = load_corpus(RELEASE, tmp_path)
    assert folder == corpus.directory == tmp_path / "0.5.6"
    assert {op: [vector.id for vector in vectors] for op, vectors in corpus.vectors.items()} == {
        "format_key": ["lm.plain", "lm.refused"],
        "chunk_keys": ["lm.volatile"],
    }
    assert corpus.vector("lm.plain").answer == {"text": "m@1"}
    assert corpus.vector("lm.refused").refusal == "lmcache raises KeyError: 9"
    assert corpus.vector("lm.plain").source == SOURCE
    assert [transcript.id for transcript in corpus.transcripts] == ["lm.server.health"]


@few
def test_the_manifest_says_where_everything_comes_from(tmp_path):
    capture(RELEASE, FakeEnvironment(answer(OUTCOMES)), root=tmp_path)
    manifest = load_corpus(RELEASE, tmp_path).manifest
    assert (manifest.wheel, manifest.wheel_sha256) == ("lmcache-0.5.6-cp311-cp311-any.whl", "ab" * 32)
    assert manifest.byte_order == "little"
    assert manifest.environment == {
        "runtime": "venv", "python": "3.11.7", "implementation": "CPython", "packages": {"torch": "2.13.0"},
    }  # fmt: skip


@few
def test_volatile_parts_are_recorded_in_vector_and_manifest(tmp_path):
    capture(RELEASE, FakeEnvironment(answer(OUTCOMES)), root=tmp_path)
    corpus = load_corpus(RELEASE, tmp_path)
    assert corpus.vector("lm.volatile").volatile == "hash(None) is an address"
    assert corpus.manifest.volatile == {"lm.volatile": "hash(None) is an address"}


@few
def test_what_a_release_cannot_be_asked_is_recorded_with_the_reason(tmp_path):
    capture(RELEASE, FakeEnvironment(answer(OUTCOMES)), root=tmp_path)
    assert load_corpus(RELEASE, tmp_path).manifest.unavailable == {"token_hashes": "this release has no TokenHasher"}


@few
def test_both_runs_get_the_same_job_in_order(tmp_path):
    environment = FakeEnvironment(answer(OUTCOMES))
    capture(RELEASE, environment, root=tmp_path)
    first, second = environment.jobs
    assert first == second
    assert first["vectors"][0] == {"id": "lm.plain", "op": "format_key", "args": {"key": 1}}
    assert [vector["id"] for vector in first["vectors"]] == list(OUTCOMES)
    assert environment.servers == 2
    assert {release for release, _ in environment.seen} == {RELEASE}


@few
def test_questions_about_another_seed_are_asked_of_interpreters_that_have_it(tmp_path, monkeypatch):
    beside = {"vllm": "0.28.0", "kv_cache_utils": True}
    asked = [
        Question("lm.plain", "format_key", {"key": 1}),
        Question("lm.zero", "deployment_keys", {**beside, "seed": "0"}),
        Question("lm.unset", "deployment_keys", {**beside, "seed": None}),
    ]
    monkeypatch.setattr(fixturegen.capture, "questions", lambda _release: asked)
    seeded, unset = {"lm.plain": PLAIN, "lm.zero": PLAIN}, {"outcomes": {"lm.unset": VOLATILE}, "environment": ENVIRONMENT}
    environment = FakeEnvironment(answer(seeded), unset)
    capture(RELEASE, environment, root=tmp_path)
    assert environment.seeds == ["0", None, "0", None]
    assert [[vector["id"] for vector in job["vectors"]] for job in environment.jobs[:2]] == [
        ["lm.plain", "lm.zero"],
        ["lm.unset"],
    ]
    assert [job["layouts"] for job in environment.jobs[:2]] == [True, False]
    corpus = load_corpus(RELEASE, tmp_path)
    assert [vector.id for vector in corpus.vectors["deployment_keys"]] == ["lm.zero", "lm.unset"]
    assert corpus.manifest.vllm == {"0.28.0": Wheel("vllm-0.28.0-cp38-abi3-any.whl", "cd" * 32)}


@few
def test_a_finding_is_recorded_with_its_vector(tmp_path):
    capture(RELEASE, FakeEnvironment(answer({**OUTCOMES, "lm.plain": {**PLAIN, "finding": "it is a pickle"}})), root=tmp_path)
    assert load_corpus(RELEASE, tmp_path).vector("lm.plain").finding == "it is a pickle"


@few
def test_every_stage_is_told_twice(tmp_path):
    told = []
    capture(RELEASE, FakeEnvironment(answer(OUTCOMES)), root=tmp_path, progress=told.append)
    assert told == [
        "0.5.6: asking the real codecs (1 of 2)",
        "0.5.6: asking the real codecs (2 of 2)",
        "0.5.6: talking to the real server (1 of 2)",
        "0.5.6: talking to the real server (2 of 2)",
    ]


@few
@pytest.mark.parametrize(
    ("vector_id", "changed"),
    [
        ("lm.plain", OTHER),
        ("lm.plain", REFUSED),
        ("lm.plain", {**PLAIN, "source": "lmcache.other"}),
        ("lm.refused", {"error": {"type": "KeyError", "message": "10"}, "source": SOURCE}),
        ("lm.volatile", {**VOLATILE, "ok": {"chunks": []}}),
        ("lm.none", PLAIN),
    ],
)
def test_an_answer_that_differs_between_two_runs_is_refused_by_id(tmp_path, vector_id, changed):
    environment = FakeEnvironment(answer(OUTCOMES), answer({**OUTCOMES, vector_id: changed}))
    with pytest.raises(
        CaptureError, match=rf"lmcache 0\.5\.6 answered {vector_id} differently in two processes and nothing says"
    ) as caught:
        capture(RELEASE, environment, root=tmp_path)
    assert str(changed) in str(caught.value)
    assert str(OUTCOMES[vector_id]) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@few
@pytest.mark.parametrize("runs", [(0, 1), (1, 0)])
def test_an_answer_that_one_run_lacks_is_refused_by_id(tmp_path, runs):
    some = {vector_id: outcome for vector_id, outcome in OUTCOMES.items() if vector_id != "lm.refused"}
    answers = [answer(OUTCOMES), answer(some)]
    with pytest.raises(CaptureError, match=r"lmcache 0\.5\.6.*lm\.refused"):
        capture(RELEASE, FakeEnvironment(*(answers[run] for run in runs)), root=tmp_path)


@few
def test_an_answer_that_no_run_gave_is_refused_by_id(tmp_path):
    some = {vector_id: outcome for vector_id, outcome in OUTCOMES.items() if vector_id != "lm.refused"}
    with pytest.raises(CaptureError, match=r"lmcache 0\.5\.6.*lm\.refused"):
        capture(RELEASE, FakeEnvironment(answer(some)), root=tmp_path)


@few
@pytest.mark.parametrize(
    ("member", "changed"),
    [
        ("environment", {**ENVIRONMENT, "python": "3.11.8"}),
        ("layouts", {**NO_LAYOUTS, "unavailable": [{"format": "X", "reason": "Y"}]}),
    ],
)
def test_two_processes_that_disagree_about_themselves_are_refused(tmp_path, member, changed):
    environment = FakeEnvironment(answer(OUTCOMES), answer(OUTCOMES, **{member: changed}))
    with pytest.raises(CaptureError, match=rf"lmcache 0\.5\.6: two processes disagree about {member}"):
        capture(RELEASE, environment, root=tmp_path)


@few
def test_a_conversation_that_differs_between_two_runs_is_refused_by_id_and_step(tmp_path, monkeypatch):
    step = Step("receive", "a", {"want": 1})
    script = Transcript("lm.server.moody", "It depends.", [Step("connect", "a"), Step("send", "a", {"bytes": "05"}), step])
    monkeypatch.setattr(fixturegen.capture, "scenarios", lambda _release: [script])
    replies = iter([b"\x01", b"\x02"])
    environment = FakeEnvironment(answer(OUTCOMES), server=lambda: ScriptedPeer([Read(1), next(replies)]))
    with pytest.raises(CaptureError) as caught:
        capture(RELEASE, environment, root=tmp_path)
    assert str(caught.value) == (
        "the server of lmcache 0.5.6 answered lm.server.moody, step 2, differently in two runs:\n"
        "first:  {'got': {'bytes': '01', 'closed': False}}\n"
        "second: {'got': {'bytes': '02', 'closed': False}}"
    )
    assert list(tmp_path.iterdir()) == []


@few
def test_a_refused_capture_leaves_the_earlier_one_alone(tmp_path):
    folder = capture(RELEASE, FakeEnvironment(answer(OUTCOMES)), root=tmp_path)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(CaptureError):
        capture(RELEASE, FakeEnvironment(answer(OUTCOMES), answer({**OUTCOMES, "lm.plain": OTHER})), root=tmp_path)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@few
def test_a_second_capture_writes_the_same_bytes(tmp_path):
    folders = [capture(RELEASE, FakeEnvironment(answer(OUTCOMES)), root=tmp_path / name) for name in ("one", "two")]
    first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders)
    assert first == second


@few
def test_an_environment_that_is_unavailable_says_so_itself(tmp_path, monkeypatch):
    environment = FakeEnvironment(answer(OUTCOMES))

    def unavailable(release):
        raise EnvironmentUnavailable("no wheel")

    monkeypatch.setattr(environment, "wheel", unavailable)
    with pytest.raises(EnvironmentUnavailable, match="no wheel"):
        capture(RELEASE, environment, root=tmp_path)
    assert environment.jobs == []


ASKED = {"format": "KV_T2D", "dtype": "uint8", "slots": [1], "paged_shape": [1, 2, 1, 2, 1, 1], "paged": {"hex": "01020304"}}
PACKED = {"bytes": {"hex": "0204"}, "shape": [1, 2, 1]}
LAYOUTS = {
    "vectors": [
        {"id": "lm.layout.both", "input": ASKED, "output": {**PACKED, "unpacked": {"hex": "00020004"}}},
        {"id": "lm.layout.packed", "input": ASKED, "output": PACKED},
    ],
    "sources": [{"format": "KV_T2D", "callable": "lmcache.gpu.move", "stubs": ["torch.cuda.Stream"]}],
    "unavailable": [
        {"format": "KV_2TD", "reason": "needs a GPU"},
        {"format": "KV_T2D", "step": "unpack", "vectors": ["lm.layout.packed"], "reason": "not implemented"},
    ],
}


@few
def test_layouts_become_a_packing_and_where_it_was_possible_an_unpacking_vector(tmp_path):
    capture(RELEASE, FakeEnvironment(answer(OUTCOMES, layouts=LAYOUTS)), root=tmp_path)
    corpus = load_corpus(RELEASE, tmp_path)
    assert [vector.id for vector in corpus.vectors["pack_layout"]] == ["lm.layout.both.pack", "lm.layout.packed.pack"]
    assert [vector.id for vector in corpus.vectors["unpack_layout"]] == ["lm.layout.both.unpack"]
    packed, unpacked = corpus.vector("lm.layout.both.pack"), corpus.vector("lm.layout.both.unpack")
    assert (packed.args, packed.answer, packed.source) == (ASKED, PACKED, "lmcache.gpu.move")
    assert unpacked.args == {**{name: value for name, value in ASKED.items() if name != "paged"}, **PACKED}
    assert unpacked.answer == {"paged": {"hex": "00020004"}}


@few
def test_what_was_replaced_or_missing_for_layouts_is_in_the_manifest(tmp_path):
    capture(RELEASE, FakeEnvironment(answer(OUTCOMES, layouts=LAYOUTS)), root=tmp_path)
    manifest = load_corpus(RELEASE, tmp_path).manifest
    assert list(manifest.stubs) == ["torch.cuda.Stream (packing of KV_T2D)"]
    assert manifest.unavailable == {
        "KV_2TD pack": "needs a GPU",
        "KV_T2D unpack of lm.layout.packed": "not implemented",
        "token_hashes": "this release has no TokenHasher",
    }


@few
def test_stub_modules_of_a_release_are_in_the_manifest(tmp_path):
    release = Release.parse("0.3.4")
    capture(release, FakeEnvironment(answer(OUTCOMES)), root=tmp_path)
    assert list(load_corpus(release, tmp_path).manifest.stubs) == ["lmcache.c_ops"]


def as_probe_answer(corpus):
    """What the probe must have answered for a corpus to come out as it is."""
    vectors = [vector for vectors in corpus.vectors.values() for vector in vectors]
    outcomes = {question.id: {"inapplicable": "not asked"} for question in questions(corpus.release)}
    layouts, sources = {}, {}
    for vector in vectors:
        name = vector.id.rpartition(".")[0]
        if vector.op == "pack_layout":
            layouts[name] = {"id": name, "input": vector.args, "output": dict(vector.answer)}
            sources[vector.args["format"]] = {"format": vector.args["format"], "callable": vector.source, "stubs": []}
        elif vector.op == "unpack_layout":
            layouts[name]["output"]["unpacked"] = vector.answer["paged"]
        else:
            remarks = {"volatile": vector.volatile, "finding": vector.finding}
            outcomes[vector.id] = {**vector.outcome, "source": vector.source, **{n: text for n, text in remarks.items() if text}}
    report = {"vectors": list(layouts.values()), "sources": list(sources.values()), "unavailable": []}
    return answer(outcomes, layouts=report)


def test_a_capture_of_all_questions_and_conversations_gives_the_corpus_again(tmp_path):
    real = load_corpus(RELEASE)
    folder = capture(RELEASE, FakeEnvironment(as_probe_answer(real)), root=tmp_path)
    for name in real.manifest.files:
        written = (folder / name).read_text().splitlines()
        expected = (real.directory / name).read_text().splitlines()
        different = [json.loads(one)["id"] for one, other in zip(written, expected, strict=True) if one != other]
        assert not different, name
