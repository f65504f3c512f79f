"""Deleted objects are gone at once, and nothing else is."""

from cases.l2.objects import content, holds, looks, store
from harness.case import ALONE, case
from harness.judge import Judge
from harness.l2.keys import L2Keys
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession

SIZE = 700


@case("PLUG-SEM-012", "PLUG-SEM-013", "PLUG-SEM-002", targets=ALONE, judges="plugin", needs=("delete",), once_for="contract")
def test_gone(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """A deleted object is neither found nor loaded, and those beside it are."""
    objects = {key: content(key, SIZE) for key in l2_keys.some(6)}
    store(plugin, judge, objects, cite="PLUG-SEM-002")
    keys = [*objects]
    gone, kept = {key: objects[key] for key in keys[::2]}, {key: objects[key] for key in keys[1::2]}
    deleted = plugin.delete([*gone])
    judge.holds(deleted.ok, "a delete of objects that are there failed", client_answered=f"not ok: {deleted.error}")
    looks(plugin, judge, keys, [key in kept for key in keys], when="after half of them were deleted")
    holds(plugin, judge, kept, absent=gone, when="after the others were deleted")


@case("PLUG-SEM-013", targets=ALONE, judges="plugin", needs=("delete",), once_for="contract")
def test_stored_again(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """A key that was deleted can be stored again, with the same bytes or with others."""
    key = l2_keys.one()
    for number in (1, 1, 2, 1):
        objects = {key: content((key, number), SIZE)}
        store(plugin, judge, objects)
        holds(plugin, judge, objects, when="after it was deleted and stored again")
        plugin.delete([key])
        looks(plugin, judge, [key], [False], when="after it was deleted again", cite="PLUG-SEM-012")


@case("PLUG-SEM-012", targets=ALONE, judges="plugin", needs=("delete",), once_for="contract")
def test_absent(plugin: Plugin, l2_keys: L2Keys, judge: Judge) -> None:
    """A delete of objects of which some are not there deletes the others, and does no harm."""
    key, neighbour, stranger = l2_keys.some(3)
    objects = {key: content(key, SIZE), neighbour: content(neighbour, SIZE)}
    store(plugin, judge, objects, cite="PLUG-SEM-002")
    plugin.delete([stranger, key, stranger])
    looks(plugin, judge, [stranger, key, neighbour], [False, False, True], when="after a delete that named a stranger")
    plugin.delete([key])
    plugin.delete([])
    holds(plugin, judge, {neighbour: objects[neighbour]}, absent={key: objects[key]}, when="after two deletes of another key")


@case("PLUG-SEM-012", "PLUG-SEM-002", targets=ALONE, judges="plugin", needs=("delete", "folder"), once_for="contract")
def test_gone_for_good(plugins: PluginSession, l2_keys: L2Keys, judge: Judge) -> None:
    """A deleted object does not come back when the plugin is opened anew."""
    plugin = plugins.open()
    key, neighbour = l2_keys.some(2)
    store(plugin, judge, {key: content(key, SIZE), neighbour: content(neighbour, SIZE)}, cite="PLUG-SEM-002")
    plugin.delete([key])
    plugin.close()
    again = plugin.reopen()
    looks(again, judge, [key], [False], when="after it was deleted and the plugin opened anew")
    holds(again, judge, {}, absent={key: bytes(SIZE)}, when="after it was deleted and the plugin opened anew")
