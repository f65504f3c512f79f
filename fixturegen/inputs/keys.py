"""Questions about key strings: formatting, parsing, and the spellings that servers take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fixturegen.inputs.identities import DIGEST, ENGINE, chunk_hash, key
from wire.keys import KEY_GRAMMARS, KeyGrammar
from wire.release import Release

Asked = Iterator[tuple[str, str, dict[str, Any]]]
KEY_DTYPES = (
    "float16", "bfloat16", "float32", "float64", "int8", "uint8", "int16", "int32", "int64", "bool",
    "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
)  # fmt: skip
INTEGERS = {
    "zero": 0,
    "one": 1,
    "minus-one": -1,
    "negative": -6699,
    "leading-zero-byte": 0x00AB_CDEF_0123_4567,
    "largest": 2**63 - 1,
    "smallest": -(2**63),
    "unsigned": 2**64 - 1,
    "digest": int(DIGEST, 16),
}


def questions(release: Release) -> Asked:
    """Every part of a key at its edges, both classes, and odd spellings of one key."""
    for name, made in _keys(release).items():
        yield f"lm.key.format.{name}", "format_key", {"key": made}
    for name, (text, layered) in _texts(release).items():
        yield f"lm.key.parse.{name}", "parse_key", {"text": text, "class": "layer" if layered else "base"}
        yield f"lm.key.server.{name}", "parse_key_as_server", {"text": text}


def _keys(release: Release) -> dict[str, dict[str, Any]]:
    grammar = KEY_GRAMMARS[release]
    made = {"plain": key(release)}
    made |= {f"hash-{name}": key(release, chunk_hash=chunk_hash(release, value)) for name, value in INTEGERS.items()}
    if grammar.hash_style == "text":
        made["hash-empty"] = key(release, chunk_hash={"text": ""})
    else:
        made["hash-bytes"] = key(release, chunk_hash={"bytes": "00" + DIGEST[2:]})
        made["hash-short-bytes"] = key(release, chunk_hash={"bytes": "00ab"})
    if grammar.dtype_names is not None:
        made |= {f"dtype-{name.replace('_', '-')}": key(release, dtype=name) for name in KEY_DTYPES}
    if grammar.prefix:
        made["fmt-other"] = key(release, fmt="huggingface")
    made["model-unicode"] = key(release, model="模型/é")
    made["model-path"] = key(release, model="/models/Qwen2.5-7B-Instruct")
    made["model-empty"] = key(release, model="")
    made["model-with-separator"] = key(release, model="a@b")
    made["world"] = key(release, world_size=8, worker_id=7)
    made["worker-large"] = key(release, world_size=1024, worker_id=1023)
    for layer in (0, 1, 31, 127):
        made[f"layer-{layer}"] = key(release, layer=layer)
    if grammar.tags:
        made["tag"] = key(release, tags=[["user", "alice"]])
        made["tags-in-order"] = key(release, tags=[["b", "2"], ["a", "1"]])
        made["tag-empty-value"] = key(release, tags=[["user", ""]])
        made["tag-percent"] = key(release, tags=[["rate", "50%25"]])
        made["layer-tag"] = key(release, layer=3, tags=[["user", "alice"]])
    return made


def _texts(release: Release) -> dict[str, tuple[str, bool]]:
    """Key strings by name, and whether each is of the layer class."""
    grammar = KEY_GRAMMARS[release]
    texts = {name: (_join(grammar, **parts), "layer" in parts) for name, parts in spellings(grammar).items()}
    texts["blank"] = ("", False)
    texts["no-separators"] = ("key", False)
    texts["surrounding-spaces"] = (f"  {_join(grammar)}\t", False)
    texts["too-few"] = (_join(grammar).rsplit("@", 1)[0], False)
    return texts


def spellings(grammar: KeyGrammar) -> dict[str, dict[str, Any]]:
    """Spellings by name: the parts of a key that each writes differently."""
    found: dict[str, dict[str, Any]] = {
        "plain": {},
        "hash-upper": {"digest": "1A2B3C4D"},
        "hash-lower": {"digest": "1a2b3c4d"},
        "hash-0x": {"digest": "0x1a2b3c4d"},
        "hash-leading-zeros": {"digest": "00001a2b3c4d"},
        "hash-underscore": {"digest": "1a2b_3c4d"},
        "hash-plus": {"digest": "+1a2b3c4d"},
        "hash-negative": {"digest": "-1a2b"},
        "hash-negative-zero": {"digest": "-0"},
        "hash-spaces": {"digest": " 1a2b3c4d "},
        "hash-decimal": {"digest": "12345678"},
        "hash-256-bit": {"digest": DIGEST},
        "hash-not-a-number": {"digest": "xyz"},
        "hash-blank": {"digest": ""},
        "hash-unicode-digits": {"digest": "١٢٣"},
        "world-plus": {"world": "+1"},
        "world-zero-padded": {"world": "01"},
        "world-underscore": {"world": "1_0"},
        "world-spaces": {"world": " 1 "},
        "world-negative": {"world": "-1"},
        "world-not-a-number": {"world": "one"},
        "world-float": {"world": "1.0"},
        "worker-unicode-digit": {"worker": "٧"},
        "worker-blank": {"worker": ""},
        "model-empty": {"model": ""},
        "model-spaces": {"model": " m "},
        "layer-0": {"layer": "0"},
        "layer-31": {"layer": "31"},
        "layer-padded": {"layer": "007"},
        "layer-superscript": {"layer": "²"},
        "layer-negative": {"layer": "-1"},
        "tag": {"tags": "@user%alice"},
        "tag-order": {"tags": "@b%2@a%1"},
        "tag-twice": {"tags": "@a%1@b%2@a%3"},
        "tag-no-value": {"tags": "@user%"},
        "tag-no-name": {"tags": "@%alice"},
        "tag-no-percent": {"tags": "@user"},
        "tag-two-percent": {"tags": "@a%1%2"},
        "trailing-separator": {"tags": "@"},
        "layer-tag": {"layer": "3", "tags": "@user%alice"},
    }
    if grammar.dtype_names is not None:
        for name in sorted(set(grammar.dtype_names.values())):
            found[f"dtype-{name.replace('_', '-')}"] = {"dtype": name}
        found |= {
            "dtype-torch-name": {"dtype": "float16"},
            "dtype-upper": {"dtype": "HALF"},
            "dtype-blank": {"dtype": ""},
            "dtype-fp8-e4m3": {"dtype": "fp8_e4m3"},
            "dtype-fp8-e4m3fn": {"dtype": "fp8_e4m3fn"},
        }
    if grammar.prefix:
        found["fmt-blank"] = {"fmt": ""}
    return found


def _join(grammar: KeyGrammar, **parts: Any) -> str:
    digest = parts.get("digest", DIGEST if grammar.hash_style == "text" else "1a2b3c4d")
    if grammar.hash_style == "decimal" and "digest" not in parts:
        digest = "439041101"
    made = [parts.get("model", "m"), parts.get("world", "1"), parts.get("worker", "0"), digest]
    if grammar.prefix:
        made.insert(0, parts.get("fmt", ENGINE))
    if grammar.dtype_names is not None:
        made.append(parts.get("dtype", "half"))
    if "layer" in parts:
        made.append(parts["layer"])
    return "@".join(made) + str(parts.get("tags", ""))
