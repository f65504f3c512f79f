"""What was stored is what is loaded: sizes, batches, batches that are there in part."""

from cases.l2.objects import KIB, MIB, content, holds, looks, store
from harness.case import ALONE, case, parameters
from harness.judge import Judge
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession

SIZES = (1, 2, 3, 511, 4 * KIB - 1, 4 * KIB, 4 * KIB + 1, 64 * KIB - 1, 64 * KIB + 3, MIB - 1, MIB, MIB + 1, 3 * MIB + 17)
LARGEST = 64 * MIB
SMALL = 600
MANY = 100


@case("PLUG-SEM-001", "PLUG-SEM-002", targets=ALONE, judges="plugin", variants=parameters(*SIZES), once_for="contract")
def test_sizes(plugin: Plugin, l2_keys: L2Keys, judge: Judge, vector: int) -> None:
    """An object of any size is loaded with the bytes with which it was stored."""
    key = l2_keys.one()
    objects = {key: content(key, vector)}
    store(plugin, judge, objects, cite="PLUG-SEM-002")
    looks(plugin, judge, [key], [True], when="right after the store", cite="PLUG-SEM-002")
    holds(plugin, judge, objects, when="right after the store")
    holds(plugin, judge, objects, when="the second time")


@case("PLUG-SEM-001", "PLUG-SEM-002", targets=ALONE, judges="plugin", once_for="contract")
def test_large(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """An object of 64 MiB is loaded with the bytes with which it was stored."""
    key = l2_keys.one()
    objects = {key: content(key, LARGEST)}
    store(plugin, judge, objects, cite="PLUG-SEM-002")
    holds(plugin, judge, objects, when="right after the store")


@case("PLUG-SEM-001", "PLUG-SEM-002", "PLUG-SEM-003", targets=ALONE, judges="plugin", once_for="contract")
def test_batch_of_sizes(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """Objects of different sizes that were stored in one batch are loaded in another order, each with its own bytes."""
    keys = l2_keys.some(len(SIZES))
    objects = {key: content(key, size) for key, size in zip(keys, SIZES, strict=True)}
    store(plugin, judge, objects, cite="PLUG-SEM-002")
    order = [*reversed(keys[::2]), *keys[1::2]]
    holds(plugin, judge, {key: objects[key] for key in order}, when="in another order", cite="PLUG-SEM-003")
    for key in keys[:3]:
        holds(plugin, judge, {key: objects[key]}, when="by itself")


@case("PLUG-SEM-002", "PLUG-SEM-003", targets=ALONE, judges="plugin", once_for="contract")
def test_batch_of_many(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """A batch of 100 objects of one size is stored, found and loaded like single ones."""
    objects = {key: content(key, SMALL) for key in l2_keys.some(MANY)}
    store(plugin, judge, objects, cite="PLUG-SEM-002")
    looks(plugin, judge, [*objects], [True] * MANY, when="after a store of 100 objects", cite="PLUG-SEM-002")
    holds(plugin, judge, objects, when="after a store of 100 objects", cite="PLUG-SEM-003")


@case("PLUG-SEM-002", targets=ALONE, judges="plugin", once_for="contract")
def test_visible_at_once(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """What a completed store stored is found and loaded at once, however often: nothing becomes visible later."""
    for _ in range(20):
        objects = {key: content(key, SMALL) for key in l2_keys.some(3)}
        store(plugin, judge, objects)
        looks(plugin, judge, [*objects], [True] * 3, when="as soon as the store was complete")
        holds(plugin, judge, objects, when="as soon as the store was complete")


@case("PLUG-SEM-004", "PLUG-SEM-005", "PLUG-SEM-001", "PLUG-SEM-002", targets=ALONE, judges="plugin", once_for="contract")
def test_partly_there(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """Of a batch that is there in part exactly those objects are found and loaded that are there, wherever the others stand."""
    for there in ("10000000", "00000001", "01111111", "11111110", "10101010", "00111100"):
        keys = l2_keys.some(len(there))
        expected = [bit == "1" for bit in there]
        objects = {key: content(key, SMALL) for key, is_there in zip(keys, expected, strict=True) if is_there}
        store(plugin, judge, objects, cite="PLUG-SEM-002")
        looks(plugin, judge, keys, expected, when=f"where {there} is there", cite="PLUG-SEM-005")
        loaded = plugin.load(keys, SMALL)
        judge.same_value(expected, list(loaded.found), what=f"what a load finds where {there} is there", cite="PLUG-SEM-004")
        for key, data in zip(keys, loaded.data, strict=True):
            if key in objects:
                judge.same_bytes(objects[key], data or b"", what=f"an object where {there} is there", cite="PLUG-SEM-001")


@case("PLUG-SEM-004", "PLUG-SEM-005", "PLUG-SEM-002", targets=ALONE, judges="plugin", once_for="contract")
def test_never_stored(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """What nobody stored is neither found nor loaded, in an empty plugin and in one that holds other objects."""
    strangers = l2_keys.some(3)
    for when in ("in an empty plugin", "beside other objects"):
        looks(plugin, judge, strangers, [False] * 3, when=when, cite="PLUG-SEM-005")
        holds(plugin, judge, {}, absent=dict.fromkeys(strangers, bytes(SMALL)), when=when)
        store(plugin, judge, {key: content(key, SMALL) for key in l2_keys.some(3)}, cite="PLUG-SEM-002")


@case("PLUG-SEM-006", targets=ALONE, judges="plugin", variants=parameters(-100, 1), once_for="contract")
def test_other_size(plugin: Plugin, l2_keys: L2Keys, judge: Judge, vector: int) -> None:
    """An object is not loaded into a buffer of another size than its own, and can still be loaded into one of its own size."""
    key, neighbour = l2_keys.some(2)
    objects = {key: content(key, SMALL), neighbour: content(neighbour, SMALL)}
    store(plugin, judge, objects, cite="PLUG-SEM-002")
    loaded = plugin.load([neighbour, key], [SMALL, SMALL + vector])
    judge.holds(
        not loaded.found[1],
        f"a load of an object of {SMALL} bytes says that it filled a buffer of {SMALL + vector} bytes",
        client_answered="found",
        conformant_answer="a miss",
    )
    judge.holds(loaded.found[0], "an object beside it in the batch is missing as well", cite="PLUG-SEM-004")
    holds(plugin, judge, objects, when="after a load into a buffer of another size", cite="PLUG-SEM-002")


@case("PLUG-SEM-007", targets=ALONE, judges="plugin", needs=("folder",), once_for="contract")
def test_other_instance(plugins: PluginSession, l2_keys: L2Keys, judge: Judge) -> None:
    """What one instance stored, another one that was open already finds in the same folder."""
    folder = plugins.new_folder()
    writer, reader = plugins.open(folder), plugins.open(folder)
    objects = {key: content(key, SMALL) for key in l2_keys.some(3)}
    store(writer, judge, objects, cite="PLUG-SEM-002")
    looks(reader, judge, [*objects], [True] * 3, when="in another process over the same folder")
    holds(reader, judge, objects, when="in another process over the same folder")
