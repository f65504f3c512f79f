"""The memory that the server gives: what is read from it, what is written to it, and until when."""

from cases.l2.native import SOON, completed, native, objects, reason, stored
from harness.case import parameters
from harness.judge import Judge
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin

ROUNDS = 10
SIZE = 100_000
OTHER_SIZES = (1, SIZE // 2, SIZE - 1, SIZE + 1, 2 * SIZE)


@native("PLUG-NAT-018", variants=parameters(1, 4099, 1 << 20))
def test_memory_of_the_server(judge: Judge, plugin: Plugin, l2_keys: L2Keys, vector: int) -> None:
    """A plugin stores from views as the server makes them, and loads into them."""
    ((key, data),) = objects([l2_keys.one()], vector)
    stored(judge, plugin, [(key, data)])
    loaded = plugin.load([key], vector)
    judge.holds(loaded.found[0], f"an object of {vector} bytes was stored and cannot be loaded: {reason(loaded)}")
    judge.same_bytes(data, loaded.data[0] or b"", what="the object")


@native("PLUG-NAT-019")
def test_source_of_a_store_afterwards(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """What happens to the memory of a store after its completion does not change what is stored."""
    for number in range(1, ROUNDS + 1):
        batch = objects(l2_keys.some(4), SIZE)
        keys = [key for key, _ in batch]
        sources = plugin.buffers([data for _, data in batch])
        completion = completed(judge, plugin, plugin.submit_store(keys, sources), "a store")
        plugin.spend(sources)
        judge.holds(completion.ok, f"a store was refused: {reason(completion)}")
        loaded = plugin.load(keys, SIZE)
        for place, ((_, data), found) in enumerate(zip(batch, loaded.data, strict=True)):
            judge.holds(
                found is None or found == data,
                f"round {number}, object {place + 1}: what was written to the memory after the completion was stored",
                conformant_answer="the bytes that were there when the store was submitted",
            )
        judge.holds(
            all(loaded.found),
            f"round {number}: objects were stored, and a load does not find them: {reason(loaded)}",
        )


@native("PLUG-NAT-020", "PLUG-NAT-022")
def test_source_of_a_store_unchanged(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """A store leaves its memory as it is, and what lies beside it."""
    for size in (1, SIZE, 1 << 20):
        verdict = plugin.store(objects(l2_keys.some(3), size))
        judge.holds(not verdict.changed, f"a store of objects of {size} bytes wrote to their memory", cite="PLUG-NAT-020")
        judge.holds(verdict.fenced, f"a store of objects of {size} bytes wrote beside their memory", cite="PLUG-NAT-022")


@native("PLUG-NAT-021", "PLUG-NAT-022")
def test_target_of_a_load_afterwards(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """A load is done with its memory when it completes."""
    batch = objects(l2_keys.some(4), SIZE)
    keys = [key for key, _ in batch]
    stored(judge, plugin, batch)
    for number in range(1, ROUNDS + 1):
        targets = plugin.blank([SIZE] * len(keys))
        completion = completed(judge, plugin, plugin.submit_load(keys, targets), "a load")
        why = "" if completion.ok else f": {reason(completion)}"
        judge.holds(
            plugin.read(targets) == [data for _, data in batch],
            f"round {number}: a load completed, and its memory does not hold the objects{why}",
            cite="PLUG-NAT-021",
        )
        judge.holds(plugin.fenced(targets), f"round {number}: a load wrote beside its memory", cite="PLUG-NAT-022")
        plugin.spend(targets)
    plugin.close()
    late = plugin.disturbed()
    judge.holds(late == 0, f"the memory of {late} loads was written to after their completion", cite="PLUG-NAT-021")


@native("PLUG-NAT-023", "PLUG-NAT-022")
def test_memory_of_another_size(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """An object is not loaded into memory that is smaller or larger, and nothing is written beside that."""
    ((key, data),) = objects([l2_keys.one()], SIZE)
    stored(judge, plugin, [(key, data)])
    for size in OTHER_SIZES:
        loaded = plugin.load([key], size)
        judge.holds(loaded.fenced, f"an object of {SIZE} bytes was written beyond {size} bytes of memory", cite="PLUG-NAT-022")
        judge.holds(
            not loaded.found[0], f"an object of {SIZE} bytes counts as loaded into {size} bytes of memory", cite="PLUG-NAT-023"
        )
    loaded = plugin.load([key], SIZE)
    why = "" if loaded.found[0] else f": {reason(loaded)}"
    judge.holds(
        loaded.data[0] == data,
        f"after loads of other sizes the object itself is not loaded any more{why}",
        cite="PLUG-NAT-023",
    )


@native("PLUG-NAT-023")
def test_one_of_another_size(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """Memory of another size for one object of a batch is a miss for that object alone."""
    batch = objects(l2_keys.some(3), SIZE)
    stored(judge, plugin, batch)
    loaded = plugin.load([key for key, _ in batch], [SIZE, SIZE - 1, SIZE], timeout=SOON)
    judge.same_value(
        [True, False, True], list(loaded.found), what="what the load says of three objects, the second in smaller memory"
    )
    judge.holds(
        loaded.data[0] == batch[0][1] and loaded.data[2] == batch[2][1],
        "the objects beside it were loaded with other bytes",
    )
