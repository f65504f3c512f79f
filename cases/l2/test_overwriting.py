"""A key that is stored again: it is not written twice, and what is loaded is one value or the other."""

from pathlib import Path

from cases.l2.objects import MIB, content, holds, store
from harness.case import ALONE, case
from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin

SIZE = MIB + 5
ROUNDS = 4
AT_ONCE = 6


@case("PLUG-SEM-010", "PLUG-SEM-002", targets=ALONE, judges="plugin", once_for="contract")
def test_again(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """A store of an object that is there already succeeds, and the object stays what it was."""
    objects = {key: content(key, 900) for key in l2_keys.some(3)}
    store(plugin, judge, objects, cite="PLUG-SEM-002")
    for _ in range(ROUNDS):
        store(plugin, judge, objects, cite="PLUG-SEM-002")
        holds(plugin, judge, objects, when="after it was stored again")
    more = {key: content(key, 900) for key in l2_keys.some(2)}
    store(plugin, judge, {**objects, **more}, cite="PLUG-SEM-002")
    holds(plugin, judge, {**objects, **more}, when="after a batch of which some were there", cite="PLUG-SEM-002")


@case("PLUG-SEM-010", targets=ALONE, judges="plugin", once_for="contract")
def test_other_bytes(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """When other bytes are stored under a key, a load brings the old object or the new one, whole, and then always the same."""
    key, neighbour = l2_keys.some(2)
    values = [content((key, number), SIZE) for number in range(ROUNDS)]
    store(plugin, judge, {neighbour: content(neighbour, SIZE)}, cite="PLUG-SEM-002")
    for number, value in enumerate(values):
        ok = plugin.store([(key, value)]).ok
        found = one_of(plugin, judge, key, values[: number + 1], must=ok or number > 0)
        if found is not None:
            judge.same_bytes(found, one_of(plugin, judge, key, values, must=True) or b"", what="the object in a second load")
    holds(plugin, judge, {neighbour: content(neighbour, SIZE)}, when="after another key was stored anew")


@case("PLUG-SEM-010", targets=ALONE, judges="plugin", once_for="contract")
def test_other_size(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """When an object of another size is stored under a key, no load brings a mixture or a part of either."""
    old, new = content(("other size", "old"), SIZE), content(("other size", "new"), SIZE // 2)
    for first, second in ((old, new), (new, old)):
        name = l2_keys.one()
        store(plugin, judge, {name: first}, cite="PLUG-SEM-002")
        plugin.store([(name, second)])
        found = {len(value): one_of(plugin, judge, name, [value], must=False) for value in (first, second)}
        judge.holds(any(value is not None for value in found.values()), "neither the old object nor the new one can be loaded")


@case("PLUG-SEM-010", targets=ALONE, judges="plugin", needs=("native_plugin",), once_for="contract")
def test_at_once(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """When several stores of one key and loads of it are under way at once, each load brings one value whole or a miss."""
    for _ in range(ROUNDS):
        key = l2_keys.one()
        values = [content((key, number), SIZE) for number in range(AT_ONCE)]
        sources, targets = plugin.buffers(values), plugin.blank([SIZE] * AT_ONCE)
        submitted = []
        for source, target in zip(sources, targets, strict=True):
            submitted += [plugin.submit_store([key], [source]), plugin.submit_load([key], [target])]
        ended = plugin.wait(submitted)
        for found, completion in zip(plugin.read(targets), ended[1::2], strict=True):
            if completion.results and completion.results[0]:
                whole(judge, found, values, "a load beside the stores")
        judge.holds(
            ended[0].ok or any(one.ok for one in ended[::2]), "of several stores of one key none succeeds", cite="PLUG-SEM-002"
        )
        one_of(plugin, judge, key, values, must=True)


@case("PLUG-SEM-011", targets=ALONE, judges="plugin", once_for="contract")
def test_not_written_twice(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """A store of an object that is there already does not write its bytes again."""
    key = l2_keys.one()
    objects = {key: content(key, 4 * MIB)}
    before = written(plugin)
    store(plugin, judge, objects, cite="PLUG-SEM-002")
    first = written(plugin) - before
    if first < len(objects[key]):
        raise UnsupportedByClient("written bytes", "the system does not count what this plugin writes")
    store(plugin, judge, objects, cite="PLUG-SEM-002")
    second = written(plugin) - before - first
    judge.holds(
        second < len(objects[key]) // 2,
        f"the second store of an object of {len(objects[key])} bytes wrote {second} bytes; the first one wrote {first}",
        client_answered=f"{second} bytes written",
        conformant_answer="hardly any",
    )


def written(plugin: Plugin) -> int:
    """Bytes that the plugin's process has written until now, as the system counts them: not those that it sent to sockets."""
    try:
        lines = Path(f"/proc/{plugin.pid}/io").read_text(encoding="ascii").splitlines()
    except OSError as error:
        raise UnsupportedByClient("written bytes", f"the system does not tell: {error}") from error
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar:"))


def one_of(plugin: Plugin, judge: Judge, key: str, values: list[bytes], *, must: bool) -> bytes | None:
    """What a load of a key brings, which is one of some values of the same size; None for a miss, where that is allowed."""
    loaded = plugin.load([key], len(values[0]))
    found = loaded.data[0]
    if found is None:
        judge.holds(not must, "a key that was stored, and stored again, cannot be loaded any more", cite="PLUG-SEM-002")
        return None
    whole(judge, found, values, "a load")
    return found


def whole(judge: Judge, found: bytes, values: list[bytes], what: str) -> None:
    """Some bytes are one of several values."""
    if found in values:
        return
    pieces = 16
    step = len(found) // pieces
    origin = [
        next((str(number + 1) for number, value in enumerate(values) if value[at : at + step] == found[at : at + step]), "?")
        for at in range(0, step * pieces, step)
    ]
    judge.fail(
        f"{what} of {len(found)} bytes brings none of the {len(values)} values that were stored; "
        f"its sixteenths are those of value {' '.join(origin)} (?: of none)",
        conformant_answer="one of them, whole, or a miss",
    )
