"""What each release asks of a remote connector, and what it does with it: tables read from the sources of all releases.

The places are ``lmcache/v1/storage_backend/connector/`` (the base class, the loader, the wrapper that counts) and
``lmcache/v1/storage_backend/remote_backend.py`` (the caller).
"""

from __future__ import annotations

from typing import Any, Final, Literal

from wire.release import RangeTable

Form = Literal["plugin", "adapter", "external", "builtin", "url"]
"""How the config names a connector: ``plugin`` (its class in ``remote_storage_plugins``), ``adapter`` (a ``ConnectorAdapter``
there, which makes it for a URL), ``external`` (an ``external://`` URL), ``builtin`` (a plugin that lmcache has the adapter of),
``url``."""

FORMS: Final = RangeTable[tuple[Form, ...]](
    "forms of a remote connector",
    ("0.3.1", ("external", "url")),
    ("0.3.14", ("external", "url", "adapter")),
    ("0.4.4", ("external", "url", "adapter", "plugin", "builtin")),
)
"""``external://`` is said to be deprecated since 0.3.14, and still ships. Before 0.4.4 only an adapter may be a plugin."""

ABSTRACT: Final = RangeTable[tuple[str, ...]](
    "abstract methods of a remote connector",
    ("0.3.1", ("close", "exists", "get", "list", "put")),
    ("0.3.4", ("close", "exists", "exists_sync", "get", "list", "put")),
)
COROUTINES: Final = frozenset(
    {
        "batched_async_contains",
        "batched_get",
        "batched_get_non_blocking",
        "batched_put",
        "close",
        "exists",
        "get",
        "list",
        "ping",
        "put",
    }
)
"""Methods that lmcache awaits on its loop; all others it calls in whatever thread it is."""

METADATA_AT_START: Final = RangeTable[bool]("the base class takes config and metadata", ("0.3.1", False), ("0.3.12", True))
"""Before, nothing was to be called; from 0.3.4 the loader called ``init_chunk_meta`` and ``post_init`` of the connector, which
nobody does since 0.3.12."""

CHUNK_META: Final = RangeTable[bool]("the setting save_chunk_meta", ("0.3.1", False), ("0.3.4", True))

OPTIONAL: Final = RangeTable[tuple[str, ...]](
    "optional methods of a remote connector",
    ("0.3.1", ()),
    ("0.3.3", ("ping",)),
    ("0.3.4", ("ping", "batched_get")),
    ("0.3.6", ("ping", "batched_get", "batched_put", "batched_async_contains", "batched_get_non_blocking")),
    (
        "0.3.9",
        ("ping", "batched_get", "batched_put", "batched_async_contains", "batched_get_non_blocking", "batched_contains"),
    ),
)
"""Each is called where the ``support_`` method of its name answers True. 0.3.5 knows ``batched_put`` but never calls it: the
wrapper does not pass the question on."""

REMOVES: Final = RangeTable[bool]("remove_sync of a remote connector", ("0.3.1", False), ("0.3.9", True))

SUPPORTED_BY_BASE: Final = RangeTable[frozenset[str]](
    "optional methods that the base class has an answer for",
    ("0.3.1", frozenset()),
    ("0.3.9.post1", frozenset({"batched_async_contains", "batched_get_non_blocking"})),
)

CONTAINS_COUNTS: Final = RangeTable[bool]("batched_contains counts the prefix", ("0.3.1", False), ("0.3.10", True))
"""In 0.3.9 and its post releases it answers a boolean for each key."""

PUT_MANY_GIVES_BACK: Final = RangeTable[bool]("the wrapper gives back after batched_put", ("0.3.1", False), ("0.3.9.post1", True))
"""As it does after ``put`` in every release. Before, nobody did: the objects of a batch leaked."""

FAILURE_DROPS: Final = RangeTable[frozenset[str]](
    "failures after which RemoteBackend forgets its connection",
    ("0.3.1", frozenset({"contains", "get_blocking"})),
    ("0.3.3", frozenset()),
    ("0.3.4", frozenset({"batched_get_blocking"})),
    ("0.3.9.post1", frozenset()),
)
"""What was forgotten is not closed, and is made anew ten seconds later at the earliest, before 0.3.3 only."""

KEY_HAS_DTYPE: Final = RangeTable[bool]("keys have a dtype", ("0.3.1", False), ("0.3.9.post1", True))

KEY_HAS_TAGS: Final = RangeTable[bool]("keys have tags", ("0.3.1", False), ("0.3.4", True))

PARTS: Final[tuple[RangeTable[Any], ...]] = (
    FORMS,
    ABSTRACT,
    METADATA_AT_START,
    CHUNK_META,
    OPTIONAL,
    REMOVES,
    SUPPORTED_BY_BASE,
    CONTAINS_COUNTS,
    PUT_MANY_GIVES_BACK,
    FAILURE_DROPS,
    KEY_HAS_DTYPE,
    KEY_HAS_TAGS,
)
"""All of it: connectors cannot tell two releases apart in which these are the same."""
