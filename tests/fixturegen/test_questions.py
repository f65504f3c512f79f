"""What the real lmcache is asked: for every known release, in full, and once."""

import functools
import itertools
import struct

import pytest

from fixturegen import inputs
from fixturegen.corpus import captured_releases, load_corpus
from fixturegen.inputs import keys
from fixturegen.inputs.identities import key
from fixturegen.inputs.samples import sample, storable_formats
from fixturegen.vector import canonical
from wire.chunks import CHUNK_CHAINS
from wire.keys import KEY_GRAMMARS
from wire.lm.profile import lm_profile
from wire.lm.shapes import payload_size
from wire.release import KNOWN_RELEASES, Release

OPERATIONS = {
    "encode_request", "encode_reply", "encode_metadata", "decode_request", "decode_reply", "decode_metadata",
    "format_key", "parse_key", "parse_key_as_server", "chunk_keys", "chain_inputs", "token_hashes", "defaults",
}  # fmt: skip
every_release = pytest.mark.parametrize("release", [Release.parse(text) for text in KNOWN_RELEASES], ids=KNOWN_RELEASES)


questions = functools.cache(inputs.questions)


def asked(release, op, prefix=""):
    return [question for question in questions(release) if question.op == op and question.id.startswith(prefix)]


@every_release
def test_ids_are_unique(release):
    ids = [question.id for question in questions(release)]
    assert len(set(ids)) == len(ids)


@every_release
def test_ids_are_lower_case_words_of_ascii(release):
    for question in questions(release):
        assert question.id.startswith(("lm.", "mp."))
        assert set(question.id) <= set("abcdefghijklmnopqrstuvwxyz0123456789.-"), question.id


@every_release
def test_every_operation_is_asked_about(release):
    beside_vllm = set() if CHUNK_CHAINS[release].third == "text chain" else {"deployment_keys"}
    assert {question.op for question in questions(release)} == OPERATIONS | beside_vllm


@every_release
def test_there_are_hundreds_of_questions_and_no_flood(release):
    assert 500 <= len(questions(release)) <= 900


@every_release
def test_arguments_survive_json_and_are_asked_in_the_same_order_every_time(release):
    first, second = questions(release), inputs.questions(release)
    assert [canonical([question.id, question.args]) for question in first] == [canonical([q.id, q.args]) for q in second]


SHAPES = [
    [2, 32, 256, 1024], [0, 0, 0, 0], [1, 1, 1, 1], [4096, 0, 0, 0], [2, 0, 256, 0], [2147483647, -1, -2147483648, 7],
]  # fmt: skip
SHORT = [[256, 2, 1024], [256, 4096], [4096]]
FORMATS = ["UNDEFINED", "KV_2LTD", "KV_T2D", "KV_2TD", "BINARY", "BINARY_BUFFER", "KV_MLA_FMT", "EC_TD", "HS_TD"]
DTYPES = [None, "float16", "bfloat16", "float32", "float64", "uint8", "float8_e4m3fn", "float8_e5m2"]
DTYPE_NUMBERS = [0, 2, 3, 4, 5, 6, 7, 8]
LENGTHS = [0, 1, 33554432, 2147483647, -1]
FIRST = {"request": ["PUT", "GET", "EXIST", "LIST", "HEALTH"], "reply": ["SUCCESS", "FAIL"]}
FIRST_NUMBERS = {"request": [1, 2, 3, 4, 5], "reply": [200, 400]}


def since(release, first):
    return release >= Release.parse(first)


def formats_of(release):
    return FORMATS[: 7 + since(release, "0.4.5") + since(release, "0.5.1")]


def missing_pairs(columns, rows):
    """Every pair of values of two columns that occurs in no row."""
    found = {name: [row[name] for row in rows] for name in columns}
    return [
        (left, one, right, other)
        for left, right in itertools.combinations(columns, 2)
        for one, other in itertools.product(columns[left], columns[right])
        if (one, other) not in set(zip(found[left], found[right], strict=True))
    ]


@every_release
@pytest.mark.parametrize("kind", ["request", "reply"])
def test_every_pair_of_legal_values_is_encoded(release, kind):
    head = "command" if kind == "request" else "code"
    shapes = SHAPES + (SHORT if since(release, "0.4.4") else [])
    columns = {
        head: FIRST[kind],
        "length": LENGTHS,
        "format": formats_of(release),
        "dtype": DTYPES,
        "shape": [tuple(shape) for shape in shapes],
        "location": [None, "LocalCPUBackend", "LocalDiskBackend"] if since(release, "0.3.3") else [None],
    }
    rows = [{**question.args, "shape": tuple(question.args["shape"])} for question in asked(release, f"encode_{kind}")]
    assert missing_pairs(columns, rows) == []


@every_release
@pytest.mark.parametrize("kind", ["request", "reply"])
def test_every_pair_of_legal_numbers_is_decoded(release, kind):
    located = since(release, "0.3.3")
    shapes = SHAPES + ([[*shape, 0, 0, 0][:4] for shape in SHORT] if since(release, "0.4.4") else [])
    columns = {
        "first": FIRST_NUMBERS[kind],
        "length": LENGTHS,
        "format": list(range(len(formats_of(release)))),
        "dtype": DTYPE_NUMBERS,
        "shape": [tuple(shape) for shape in shapes],
        "location": [0, 1, 2] if located else [0],
    }
    rows = []
    for question in asked(release, f"decode_{kind}"):
        data = bytes.fromhex(question.args["bytes"]["hex"])
        size = (8 + located) * 4
        if len(data) != size + 150 * (kind == "request"):
            continue
        numbers = list(struct.unpack(f"<{8 + located}i", data[:size]))
        location = numbers.pop(4 if kind == "request" else 8) if located else 0
        rows.append({**dict(zip(columns, numbers[:4], strict=False)), "shape": tuple(numbers[4:]), "location": location})
    assert missing_pairs(columns, rows) == []


@every_release
def test_pairs_need_far_fewer_rows_than_combinations(release):
    count = len(asked(release, "encode_request", "lm.request.encode."))
    assert 8 * 9 <= count <= 150


@every_release
def test_both_header_generations_are_asked_with_headers_of_the_right_size(release):
    sizes = {len(question.args["bytes"]["hex"]) // 2 for question in asked(release, "decode_request")}
    right = 186 if since(release, "0.3.3") else 182
    assert sizes == {0, right - 1, right, right + 1}


@every_release
def test_no_question_about_keys_has_parts_that_the_release_lacks(release):
    grammar = KEY_GRAMMARS[release]
    for question in questions(release):
        for made in [question.args.get("key")] if "key" in question.args else []:
            assert (made["dtype"] is None) == (grammar.dtype_names is None), question.id
            assert (made["fmt"] is None) == (not grammar.prefix), question.id
            assert grammar.tags or not made["tags"], question.id


@every_release
def test_every_key_string_is_asked_of_both_parsers(release):
    texts = {question.args["text"] for question in asked(release, "parse_key")}
    assert texts == {question.args["text"] for question in asked(release, "parse_key_as_server")}


@every_release
def test_spellings_differ_from_the_plain_key_and_from_each_other_where_their_names_do(release):
    grammar = KEY_GRAMMARS[release]
    found = keys.spellings(grammar)
    assert found["plain"] == {}
    assert all(parts for name, parts in found.items() if name != "plain")


@every_release
def test_a_key_at_the_edge_of_its_field_is_asked_on_both_sides(release):
    lengths = {}
    for question in asked(release, "encode_request", "lm.request.encode.key-"):
        lengths[question.id.rpartition("key-")[2]] = len(question.args["key"]["model"])
    assert lengths["full"] == lengths["too-long"] - 1 == lengths["one-short"] + 1


@every_release
def test_samples_hold_as_many_bytes_as_their_shape_says(release):
    profile = lm_profile(release)
    for name in storable_formats(profile):
        about = sample(profile, name)
        assert about.length == payload_size(about.format, about.dtype, about.shape) > 0
        assert profile.short_shapes or len(about.shape) == 4


@pytest.mark.parametrize("release", captured_releases(), ids=str)
def test_what_was_captured_is_what_is_asked_today(release):
    corpus = load_corpus(release)
    captured = {vector.id: (vector.op, vector.args) for vectors in corpus.vectors.values() for vector in vectors}
    for question in questions(release):
        if question.id in captured:
            assert captured[question.id] == (question.op, question.args), question.id
        else:
            assert question.op in corpus.manifest.unavailable, question.id


def test_a_key_has_no_other_parts():
    with pytest.raises(ValueError, match="keys have no colour"):
        key(Release.parse("0.5.6"), colour="red")


def test_two_questions_with_one_id_are_a_fault_and_named(monkeypatch):
    monkeypatch.setattr(keys, "questions", lambda _release: iter([("lm.twice", "defaults", {})] * 2))
    with pytest.raises(ValueError, match=r"questions share an id: lm\.twice"):
        inputs.questions(Release.parse("0.5.6"))
