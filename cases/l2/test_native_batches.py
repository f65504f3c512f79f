"""Batches of odd sizes, and keys of odd shapes."""

import secrets
from typing import Final

from cases.l2.native import LONG, SOON, completed, contract, native, objects, reason, stored
from harness.case import parameters
from harness.judge import Judge
from harness.l2.keys import SALT_LIMIT, L2Key, L2Keys
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession
from wire.release import Release

THOUSAND: Final = 1000
SIZE: Final = 500
STORED: Final = 100
"""Objects of the thousand that are there: storing takes much longer than looking."""
MODELS: Final = {
    "slash": "meta-llama/Llama-3.1-8B-Instruct",
    "path": "/models/llama/../mistral",
    "percent": "org%2Fmodel%00%",
    "space": " my model ",
    "other-script": "\u6a21\u578b/\u0416\u00df\u00e9",
    "emoji": "\U0001f999-7b",
    "punctuation": "a:b\\c*d?e\"f<g>h|i'j$k`l",
    "dots": "..",
    "hidden": ".model",
    "dash": "-rf",
    "line": "two\nlines",
    "long": "m" * 300,
    "longer": "organisation/" * 80 + "model",
    "long-other-script": "\u6a21" * 120,
}
ALIKE: Final = (
    *(
        "a/b",
        "a_b",
        "a-b",
        "a--b",
        "a%2Fb",
        "a%2fb",
        "a__b",
        "a b",
        "a.b",
        "a.b.",
        "a.b ",
        "A/b",
        "a\\b",
        "a:b",
        "a\nb",
        "ab",
        "a//b",
    ),
    *("ab", "a//b", "a/./b", "a/c/../b", "\u00e9", "e\u0301", "m" * 300 + "1", "m" * 300 + "2"),
)
"""Names of models of which one is easily taken for another."""


@native("PLUG-NAT-024")
def test_thousand_keys(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """A thousand keys are looked up and loaded at once, and each has its own result."""
    batch, missing = objects(l2_keys.some(STORED), SIZE), l2_keys.some(THOUSAND - STORED)
    stored(judge, plugin, batch)
    keys = [*missing, *(key for key, _ in batch)]
    found = plugin.lookup(keys, timeout=LONG)
    expected = [False] * len(missing) + [True] * len(batch)
    judge.holds(found == expected, f"a lookup of {THOUSAND} keys, of which the last {STORED} are there, found {sum(found)}")
    loaded = plugin.load(keys, SIZE, timeout=LONG)
    found = list(loaded.found)
    judge.holds(found == expected, f"a load of {THOUSAND} keys, of which the last {STORED} are there, found {sum(found)}")
    wrong = [place for place, ((_, data), came) in enumerate(zip(batch, loaded.data[-STORED:], strict=True)) if data != came]
    judge.holds(not wrong, f"{len(wrong)} of {STORED} objects came back with other bytes, the first in place {wrong[:1]}")


@native("PLUG-NAT-025", variants=parameters("store", "load", "lookup"))
def test_no_keys(judge: Judge, plugin: Plugin, vector: str) -> None:
    """A batch without keys completes, with no results."""
    if vector == "lookup":
        submitted = plugin.submit_lookup([])
    else:
        submitted = plugin.submit_store([], []) if vector == "store" else plugin.submit_load([], [])
    completion = completed(judge, plugin, submitted, f"a {vector} of nothing", limit=SOON)
    judge.holds(not completion.results, f"a {vector} of nothing has results", client_answered=completion.shown)


@native("PLUG-NAT-026")
def test_key_twice(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """A batch that names a key twice has a result for each place, and the object in each memory."""
    (first, data), (second, more) = objects(l2_keys.some(2), SIZE)
    stored(judge, plugin, [(first, data), (first, data), (second, more)])
    keys = [first, second, first]
    judge.same_value([True, True, True], plugin.lookup(keys), what="what a lookup tells that names a key twice")
    loaded = plugin.load(keys, SIZE)
    judge.same_value([True, True, True], list(loaded.found), what="what a load says that names a key twice")
    for place, expected in enumerate((data, more, data)):
        judge.same_bytes(expected, loaded.data[place] or b"", what=f"the memory of place {place + 1}")


@native("PLUG-NAT-027", "PLUG-SEM-001", "PLUG-SEM-002", variants=parameters(*MODELS))
def test_any_model(judge: Judge, plugin: Plugin, l2_keys: L2Keys, vector: str) -> None:
    """An object is stored and loaded whatever its model is called."""
    _roundtrip(judge, plugin, l2_keys.one(model=MODELS[vector]), f"an object of model {MODELS[vector][:60]!r}")


@native(
    "PLUG-NAT-027",
    "PLUG-SEM-001",
    "PLUG-SEM-002",
    variants=parameters("short", "spaces", "other-script", "longest", "longest-of-long-model"),
)
def test_any_salt(judge: Judge, plugin: Plugin, l2_keys: L2Keys, vector: str) -> None:
    """An object is stored and loaded whatever its salt is."""
    salt = {"short": "x", "spaces": " a salt . ", "other-script": '\u76d0%:*?"<>|'}.get(vector, "s" * SALT_LIMIT)
    model = "m" * 250 if vector == "longest-of-long-model" else None
    _roundtrip(
        judge, plugin, l2_keys.one(model=model, salt=salt, kv_rank=0xFFFF0001, group=11), f"an object of salt {salt[:60]!r}"
    )


@native("PLUG-NAT-028", "PLUG-NAT-027")
def test_different_keys(judge: Judge, plugin: Plugin, release: Release) -> None:
    """Keys that differ in a little are different objects."""
    digest = secrets.token_bytes(32)
    keys = [L2Key(model, digest) for model in ALIKE]
    keys += [L2Key("a/b", digest, salt=salt) for salt in ("s", "S", "s_", "s ", "s%", "0", "t" * 127 + "1", "t" * 127 + "2")]
    keys += [L2Key("a/b", digest, kv_rank=1), L2Key("a/b", digest, group=1), L2Key("a/b", digest, kv_rank=1, group=1)]
    keys += [L2Key("a/b", digest[:-1] + bytes([digest[-1] ^ 1])), L2Key("a/b", bytes([digest[0] ^ 1]) + digest[1:])]
    names = list(dict.fromkeys(key.text(release) for key in keys))
    batch = [(name, f"{place:04d}".encode() * 25) for place, name in enumerate(names)]
    held = [one for one in batch if plugin.store([one]).ok]
    taken = [name for name, _ in held]
    loaded = plugin.load(taken, 100)
    for (name, data), came in zip(held, loaded.data, strict=True):
        if came is not None and came != data:
            other = names[int(came[:4])] if came[:4].isdigit() else "nothing that was stored"
            judge.fail(
                f"the object of {_short(name)} was loaded with the bytes of {_short(other)}",
                expected=f"the bytes of object {names.index(name)}",
                got=f"the bytes of object {came[:4]!r}",
            )
    missing = [name for name, found in zip(taken, loaded.found, strict=True) if not found]
    judge.holds(
        not missing, f"{len(missing)} of {len(taken)} objects with similar keys are not found, first that of {missing[:1]}"
    )
    refused = [name for name in names if name not in taken]
    judge.holds(not refused, f"{len(refused)} of {len(names)} keys cannot be stored, first {refused[:1]}", cite="PLUG-NAT-027")


@contract("PLUG-NAT-029", needs=("native_plugin", "folder"))
def test_stays_in_its_folder(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """A plugin writes nothing outside of its folder, whatever a model is called."""
    outer = plugins.new_folder()
    folder = outer / "a" / "b" / "c"
    folder.mkdir(parents=True)
    plugin = plugins.open(folder)
    for model in ("../../escaped", "..", "../" * 3 + "escaped/model", f"{outer}/escaped", f"x/../../../../{outer}/escaped"):
        plugin.store(objects([l2_keys.one(model=model)], SIZE))
    plugin.close()
    strangers = [path for path in outer.rglob("*") if folder not in (path, *path.parents) and path not in folder.parents]
    if strangers:
        found = strangers[0].relative_to(outer)
        judge.fail(f"a model's name led out of the folder {folder.relative_to(outer)}: beside it there is {found}")


def _roundtrip(judge: Judge, plugin: Plugin, key: str, what: str) -> None:
    data = secrets.token_bytes(SIZE)
    stored(judge, plugin, [(key, data)], cite="PLUG-NAT-027")
    found = plugin.lookup([key]) == [True]
    judge.holds(found, f"{what} was stored, and a lookup does not find it", cite="PLUG-SEM-002")
    loaded = plugin.load([key], SIZE)
    judge.holds(loaded.found[0], f"{what} was stored, and a load does not find it: {reason(loaded)}", cite="PLUG-SEM-002")
    judge.same_bytes(data, loaded.data[0] or b"", what=what, cite="PLUG-SEM-001")


def _short(key: str) -> str:
    return repr(key if len(key) <= 90 else f"{key[:20]}...{key[-60:]}")
