"""What a plugin stored is damaged underneath it, while it is open or before it is opened."""

import errno
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from cases.l2.aftermath import ALONE_AFFECTED, HEALS, SPOILED, Cites, check, heal, ledger, opening, plugin_case, store, watching
from harness.case import parameters
from harness.failure import UnsupportedByClient
from harness.judge import Judge
from harness.l2.calls.call import FileCall
from harness.l2.calls.table import MAKES, OPENS, RENAMES, WRITES
from harness.l2.crashes.ledger import Ledger
from harness.l2.crashes.opening import opened
from harness.l2.crashes.trigger import Refusal
from harness.l2.damages import DAMAGES, Damage, strangers, swap, twins
from harness.l2.keys import L2Keys
from harness.l2.pieces import Piece, narrowed, pieces_of
from harness.l2.plugin_process import Plugin
from harness.l2.session import PluginSession

FORGOTTEN: Final = "PLUG-DUR-011"
STRANGERS: Final = "PLUG-DUR-012"
REFUSED: Final = "PLUG-DUR-013"
AFTER_DAMAGE: Final[Cites] = {"wrong": SPOILED, "lost": ALONE_AFFECTED, "dead": ALONE_AFFECTED, "unhealed": HEALS}
AMONG_STRANGERS: Final[Cites] = dict.fromkeys(AFTER_DAMAGE, STRANGERS)
AFTER_REFUSAL: Final[Cites] = dict.fromkeys(AFTER_DAMAGE, REFUSED)
SMALL, LARGE = 900, 300_000
VICTIMS: Final = 4
"""Objects that are damaged, each in another of its files."""
WITHOUT: Final = {
    True: "file in the folder belongs to one object alone",
    False: "bytes of an object stand in a file as they were stored; lmconform_corrupt(key, how) may damage it",
}
"""Why something cannot be damaged, by whether that takes a whole file."""
NEIGHBOURS: Final = (SMALL, LARGE, 4096)
damages = parameters(*DAMAGES, name=lambda damage: damage.name)


@plugin_case(SPOILED, ALONE_AFFECTED, HEALS, variants=damages)
def test_damaged_while_open(judge: Judge, plugin: Plugin, l2_keys: L2Keys, vector: Damage) -> None:
    """Bytes are damaged underneath an open plugin: only those objects are missing, or as they were, and a store heals them."""
    book = _book(l2_keys)
    words = _spoil(judge, plugin, book, vector)
    with opening(judge, words, cites=AFTER_DAMAGE):
        check(judge, plugin, book, after=words, cites=AFTER_DAMAGE)
        heal(judge, plugin, book, after=words, cites=AFTER_DAMAGE)


@plugin_case(SPOILED, ALONE_AFFECTED, HEALS, variants=damages)
def test_damaged_before_opening(judge: Judge, plugin: Plugin, l2_keys: L2Keys, vector: Damage) -> None:
    """Bytes are damaged before the plugin is opened: likewise."""
    book = _book(l2_keys)
    words = _spoil(judge, plugin, book, vector)
    with opening(judge, words, cites=AFTER_DAMAGE):
        again = plugin.reopen()
        check(judge, again, book, after=words, cites=AFTER_DAMAGE)
        heal(judge, again, book, after=words, cites=AFTER_DAMAGE)
        check(judge, again.reopen(), book, after=f"{words}, stored again, and opened anew", must="unhealed", cites=AFTER_DAMAGE)


@plugin_case(FORGOTTEN, variants=parameters("flip-middle", "cut-one", "removed"))
def test_looked_up_after_a_miss(judge: Judge, plugin: Plugin, l2_keys: L2Keys, vector: str) -> None:
    """After a load that missed because of damage a lookup says that the object is not there."""
    book = _book(l2_keys)
    words = _spoil(judge, plugin, book, next(damage for damage in DAMAGES if damage.name == vector))
    keys = list(book.keys)
    found = plugin.load(keys, [book.size(key) for key in keys]).found
    said = plugin.lookup(keys)
    wrong = [key for key, there, yes in zip(keys, found, said, strict=True) if yes and not there]
    judge.holds(
        not wrong,
        f"{words}: a lookup says that {len(wrong)} of {len(keys)} objects are there right after a load of them missed, such as "
        f"{wrong[0] if wrong else ''}",
        cite=FORGOTTEN,
    )


@plugin_case(SPOILED, ALONE_AFFECTED, HEALS, needs=("folder",), variants=parameters("one-file", "all-files"))
def test_exchanged(judge: Judge, plugin: Plugin, l2_keys: L2Keys, vector: str) -> None:
    """Files of two objects of one size are exchanged: each object is missing, or itself, and never the other."""
    book = ledger(l2_keys, [LARGE, LARGE, *NEIGHBOURS])
    one, other, *others = book.keys
    store(judge, plugin, book, others)
    pieces = [pieces_of(plugin.folder, partial(store, judge, plugin, book, [key])) for key in (one, other)]
    count = swap(*pieces, only_largest=vector == "one-file")
    if not count:
        raise UnsupportedByClient("folder", "no file in the folder belongs to one object alone, so that nothing can be exchanged")
    book.deleting([one, other])
    words = f"{count} file{'s' if count > 1 else ''} of two objects were exchanged"
    for open_again in (False, True):
        with opening(judge, words, cites=AFTER_DAMAGE):
            plugin = plugin.reopen() if open_again else plugin
            check(judge, plugin, book, after=words, cites=AFTER_DAMAGE)
    heal(judge, plugin, book, after=words, cites=AFTER_DAMAGE)


@plugin_case(STRANGERS, needs=("folder",))
def test_strangers(judge: Judge, plugin: Plugin, l2_keys: L2Keys) -> None:
    """Files, folders and links that the plugin did not make, in all of its folders, change nothing."""
    book = ledger(l2_keys, [*NEIGHBOURS, LARGE])
    *first, last = book.keys
    pieces = pieces_of(plugin.folder, lambda: store(judge, plugin, book, first))
    made = [*strangers(plugin.folder), *twins(pieces)]
    words = f"{len(made)} things that it did not make were put into its folders"
    for open_again in (False, True):
        with opening(judge, words, cites=AMONG_STRANGERS):
            plugin = plugin.reopen() if open_again else plugin
            check(judge, plugin, book, after=words, cites=AMONG_STRANGERS)
            store(judge, plugin, book, [last], cites=AMONG_STRANGERS, after=f"{words}: ")
            check(judge, plugin, book, after=f"{words}, and one more object stored", cites=AMONG_STRANGERS)


@plugin_case(REFUSED, needs=("folder",), variants=parameters("no-permission", "input-output-error"))
def test_refused_reads(judge: Judge, plugins: PluginSession, l2_keys: L2Keys, vector: str) -> None:
    """The system refuses to read the files of one object: it is missing, others are there, and it is there again afterwards."""
    paths: set[Path] = set()

    def concerns(call: FileCall) -> bool:
        return call.path in paths and (
            call.name in OPENS if vector == "no-permission" else not call.changes and call.name not in OPENS
        )

    refusal = Refusal(errno.EACCES if vector == "no-permission" else errno.EIO, concerns)
    book = ledger(l2_keys, [*NEIGHBOURS, LARGE])
    victim = book.keys[-1]
    folder = plugins.new_folder().resolve()
    with watching(), opened(plugins, folder, refusal, watched=True, reads=True) as plugin:
        assert plugin is not None
        store(judge, plugin, book, book.keys[:-1])
        paths.update(piece.path for piece in pieces_of(folder, lambda: store(judge, plugin, book, [victim])) if piece.own)
        if not paths:
            raise UnsupportedByClient("folder", "no file in the folder belongs to one object alone, so that none can be refused")
        words = f"the system refuses to read {len(paths)} files of one object ({vector})"
        refusal.on = True
        book.deleting([victim])
        with opening(judge, words, cites=AFTER_REFUSAL):
            check(judge, plugin, book, after=words, cites=AFTER_REFUSAL)
        refusal.on = False
        words = "the system refused to read an object, and does so no more"
        with opening(judge, words, cites=AFTER_REFUSAL):
            check(judge, plugin, book, after=words, cites=AFTER_REFUSAL)
            heal(judge, plugin, book, after=words, cites=AFTER_REFUSAL)


@plugin_case(REFUSED, needs=("folder",))
def test_no_space(judge: Judge, plugins: PluginSession, l2_keys: L2Keys) -> None:
    """The disk is full: a store fails, what was stored is there, and there is nothing wrong once there is space."""
    making = WRITES | MAKES | RENAMES

    def concerns(call: FileCall) -> bool:
        return call.changes and (call.name in making or (call.name in OPENS and not call.path.exists()))

    refusal = Refusal(errno.ENOSPC, concerns)
    book = ledger(l2_keys, [*NEIGHBOURS, LARGE, SMALL])
    first, late = book.keys[:-2], book.keys[-2:]
    with watching(), opened(plugins, plugins.new_folder().resolve(), refusal, watched=True) as plugin:
        assert plugin is not None
        store(judge, plugin, book, first)
        refusal.on = True
        words = "the disk is full"
        with opening(judge, words, cites=AFTER_REFUSAL):
            book.storing(late)
            stored = plugin.store([book.object(key) for key in late])
            judge.holds(
                not (stored.ok and refusal.refused and plugin.durability != "none"),
                f"a store was said to be done, though the system refused {refusal.refused} of its calls for lack of space",
                cite=REFUSED,
                client_answered="ok",
                conformant_answer="not ok",
            )
            check(judge, plugin, book, after=words, cites=AFTER_REFUSAL)
        refusal.on = False
        words = "the disk was full, and is not any more"
        with opening(judge, words, cites=AFTER_REFUSAL):
            heal(judge, plugin, book, after=words, cites=AFTER_REFUSAL)


def _book(keys: L2Keys) -> Ledger:
    """Victims, then their neighbours."""
    return ledger(keys, [*[LARGE] * (VICTIMS - 1), SMALL, *NEIGHBOURS])


def _spoil(judge: Judge, plugin: Plugin, book: Ledger, damage: Damage) -> str:
    """Store everything, one object after the other, and damage the victims; what was done, in words.

    Raises:
        UnsupportedByClient: nothing can be damaged so.
    """
    victims, others = book.keys[:VICTIMS], book.keys[VICTIMS:]
    store(judge, plugin, book, others)
    by_hook = damage.hook is not None and "corrupt" in plugin.offers
    by_file = plugin.spec.names_folder
    if not by_file and not by_hook:
        raise UnsupportedByClient(
            "corrupt",
            "stored bytes cannot be damaged so: name a folder by {dir} in --params, or offer lmconform_corrupt(key, how)",
        )
    spoiled: list[str] = []
    pieces: dict[str, Sequence[Piece]] = {}
    for key in victims:
        pieces[key] = pieces_of(plugin.folder, partial(store, judge, plugin, book, [key])) if by_file else ()
        if not by_file:
            store(judge, plugin, book, [key])
    for number, key in enumerate(victims):
        parts = (narrowed(piece, book.object(key)[1]) for piece in pieces[key])
        fitting = [piece for piece in parts if piece is not None and damage.fits(piece)]
        if not fitting and by_hook:
            assert damage.hook is not None
            if plugin.corrupt(key, damage.hook) is False:
                raise UnsupportedByClient("corrupt", "lmconform_corrupt says that there is nothing of a stored object to damage")
            spoiled.append(f"lmconform_corrupt({damage.hook!r})")
        elif fitting:
            piece = fitting[number % len(fitting)]
            damage.spoil(piece)
            spoiled.append(damage.words.format(file=piece.path.relative_to(plugin.folder)))
    if not spoiled:
        raise UnsupportedByClient("folder", f"{damage.name}: no {WITHOUT[damage.whole_file]}")
    book.deleting(victims)
    return f"after damage ({spoiled[0]}; likewise {len(spoiled) - 1} more objects)"
