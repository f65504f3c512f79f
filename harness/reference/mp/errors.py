"""Errors of the codecs as those of the contract, and releases that have the wire."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from harness.client import ClientError, UnsupportedError
from harness.reference.values import release_of
from wire.errors import WireError
from wire.mp.operations import FIRST_RELEASE, OperationTable, operation_table
from wire.release import Release


class NotSentError(ClientError):
    """A request that no server got."""


def mp_release(text: str) -> Release:
    """A release that has the wire.

    Raises:
        UnsupportedError: any other text.
    """
    release = release_of(text)
    if release < FIRST_RELEASE:
        raise UnsupportedError(f"lmcache {release} has no multiprocess server; the first release with one is {FIRST_RELEASE}")
    return release


def require_operation(table: OperationTable, name: str) -> None:
    """Leave an operation that the release does not have.

    Raises:
        UnsupportedError: it does not.
    """
    if name not in table:
        raise UnsupportedError(f"lmcache {table.release} has no operation {name}")


def table_of(release: str) -> OperationTable:
    """The operations of a release that has the wire."""
    return operation_table(mp_release(release))


@contextmanager
def unwritable() -> Iterator[None]:
    """What cannot be written is refused."""
    try:
        yield
    except WireError as error:
        raise ClientError("refused", str(error)) from error


@contextmanager
def unreadable() -> Iterator[None]:
    """What cannot be read is no legal message."""
    try:
        yield
    except WireError as error:
        raise ClientError("protocol", str(error)) from error
