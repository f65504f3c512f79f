"""Keys that differ are different objects, however little they differ; and any key that a server makes can be stored."""

import secrets
from collections.abc import Sequence

from cases.l2.objects import content, holds, looks
from harness.case import ALONE, Variant, case
from harness.judge import Judge
from harness.l2.keys import GROUPED, SALTED, L2Key, L2Keys
from harness.l2.plugin_process import Plugin
from wire.release import Release

SIZE = 300
MODEL = "lmconform/l2-identity"
HASH = secrets.token_bytes(30)
"""The same in all keys of a case that do not differ in it, and different in every run."""
NOWHERE = "/no-such-folder-of-lmconform"
"""A plugin that takes a model name for a path must not spoil anything by it."""
DEEP = NOWHERE + "/a-rather-long-name-of-a-folder" * 9 + "/"


def models(*names: str) -> list[L2Key]:
    """Keys that differ in the model alone."""
    return [L2Key(name, HASH, 1, 1, "salt") for name in names]


SIGNS = ("/", "_", "-", "--", "-SEP-", "%2F", "%", ".", "\\", ":", " ", "//", "")
KINDS: dict[str, Sequence[L2Key]] = {
    "model": models(MODEL, f"{MODEL}x", MODEL[:-1], MODEL.replace("i", "j"), f"x{MODEL}"),
    "letters": models(MODEL, MODEL.upper(), MODEL.title(), MODEL.replace("l2", "L2")),
    "separators": models(*(f"lmconform{sign}l2" for sign in SIGNS)),
    "paths": models(
        f"{NOWHERE}/model", "model", "./model", "model/", "model/.", ".", "~", "model.", " model", "model ", "model/model"
    ),
    "scripts": models("modèle", "modele", "mode\u0300le", "模型", "модель", "model\u200b"),
    "long": models(DEEP + "1", DEEP + "2", "1" + DEEP, DEEP, DEEP * 3 + "1", DEEP * 3 + "2"),
    "kv_rank": [L2Key(MODEL, HASH, rank, 1, "salt") for rank in (0, 1, 2, 0x10, 0x100, 0x10000000, 0xFFFFFFFF)],
    "group": [L2Key(MODEL, HASH, 1, group, "salt") for group in (0, 1, 2, 0x10, 0x11, 0xFF)],
    "hash": [
        L2Key(MODEL, digest, 1, 1, "salt")
        for digest in (HASH, HASH[:-1], HASH[1:], HASH[::-1], HASH + b"\0", b"\0" + HASH, HASH[:-1] + bytes([HASH[-1] ^ 1]))
    ],
    "salt": [L2Key(MODEL, HASH, 1, 1, salt) for salt in ("", "a", "A", "aa", "b", "a ", "a.", ".", "0", "s" * 127, "s" * 128)],
    "moved": [
        L2Key(MODEL, b"\x12\x34" + HASH, 1, 1, ""),
        L2Key(MODEL, b"\x34" + HASH, 1, 0x112, ""),
        L2Key(f"{MODEL}00000001", HASH, 1, 1, ""),
        L2Key(MODEL, HASH, 1, 1, "1"),
        L2Key(MODEL, HASH, 1, 1, HASH.hex()),
    ],
}
"""For each way of differing, keys of which each two differ."""


def kinds(release: Release) -> list[Variant]:
    """The ways in which keys of a release can differ."""
    known = {"group": release in GROUPED, "salt": release in SALTED, "moved": release in GROUPED}
    return [Variant(name, keys) for name, keys in KINDS.items() if known.get(name, True)]


@case("PLUG-SEM-008", "PLUG-SEM-009", targets=ALONE, judges="plugin", variants=kinds, once_for="contract")
def test_keys(plugin: Plugin, l2_keys: L2Keys, judge: Judge, vector: Sequence[L2Key]) -> None:
    """Of keys that differ in one part each has its own object: what is stored under one is never found under another."""
    texts = [key.text(l2_keys.release) for key in vector]
    held: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    for place, text in enumerate(texts):
        later = texts[place:]
        looks(plugin, judge, later, [False] * len(later), when=f"when {place} others were stored", cite="PLUG-SEM-008")
        data = content(text, SIZE)
        stored = plugin.store([(text, data)])
        if stored.ok:
            held[text] = data
        else:
            refused[text] = stored.error
    holds(
        plugin,
        judge,
        held,
        absent=dict.fromkeys(refused, bytes(SIZE)),
        when="when every key has an object of its own",
        cite="PLUG-SEM-008",
    )
    if refused:
        key, error = next(iter(refused.items()))
        judge.fail(
            f"{len(refused)} of {len(texts)} keys cannot be stored, the first of them {shown(key)}",
            cite="PLUG-SEM-009",
            client_answered=f"not ok: {error or 'without a reason'}",
            conformant_answer="ok",
        )


def shown(key: str) -> str:
    """A key as a report quotes it."""
    return repr(key) if len(key) <= 160 else f"{key[:80]!r}... ({len(key)} characters)"
