"""Lengths that nobody has memory for."""

from __future__ import annotations

import errno
import mmap
import os
import threading

import pytest

from mockserver import buffers
from mockserver.buffers import MAPPED_FROM, writable

LARGE = 2**31 - 1


@pytest.fixture
def defects(monkeypatch):
    """What threads end with."""
    found = []
    monkeypatch.setattr(threading, "excepthook", found.append)
    return found


@pytest.fixture
def scarce(monkeypatch):
    """The system refuses mappings while others are remembered (``"kept"``) or always."""
    mapping = mmap.mmap

    def set_to(how):
        def map_less(descriptor, size, **options):
            if how == "always" or buffers._mappings:
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM))
            return mapping(descriptor, size, **options)

        monkeypatch.setattr(mmap, "mmap", map_less)

    return set_to


def test_a_put_that_no_memory_is_had_for_ends_its_connection_in_words(start, dial, scarce, defects):
    server = start()
    steady, client = dial(server), dial(server)
    scarce("always")
    client.send(client.raw(command=1, length=LARGE) + b"few bytes")
    assert client.rest()[0] == b""
    server.journal.wait_for(lambda journal: journal.is_gone(2))
    ending = server.journal.connection(2).ending
    assert ending.kind == "no memory"
    assert str(LARGE) in ending.detail
    assert server.journal.last_exchange("PUT").ending == ending
    steady.request("EXIST")
    assert steady.reply().code == "FAIL"
    assert defects == []


def test_remembered_mappings_go_back_before_a_payload_is_refused(scarce):
    writable(MAPPED_FROM)
    assert buffers._mappings
    scarce("kept")
    assert len(writable(MAPPED_FROM + 1)) == MAPPED_FROM + 1
