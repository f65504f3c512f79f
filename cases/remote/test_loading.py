"""How lmcache loads a connector from its config."""

from cases.remote.promises import comes_back, promise, store
from harness.client import ClientUnavailable
from harness.judge import Judge
from harness.remote.chunks import Chunks
from harness.remote.connector import Connector
from harness.remote.contract import ABSTRACT, METADATA_AT_START
from harness.remote.session import Connectors
from wire.release import Release


@promise("CONN-LOAD-001", "CONN-LOAD-002")
def test_opened(connectors: Connectors, judge: Judge, release: Release) -> None:
    """The loader of the release makes the connector, with the arguments that it gives."""
    try:
        connector = connectors.open()
    except ClientUnavailable as refused:
        wanted = "a subclass of RemoteConnector that takes loop, local_cpu_backend and config, and has " + ", ".join(
            ABSTRACT[release]
        )
        judge.fail("lmcache cannot make the connector", client_answered=str(refused), conformant_answer=wanted)
    judge.holds("RemoteConnector" in connector.about.bases, f"{connector.about.place} is no RemoteConnector")


@promise("CONN-LOAD-004")
def test_external_form(connectors: Connectors, chunks: Chunks, judge: Judge) -> None:
    """Named by an ``external://`` URL, as before there were plugins, the connector works all the same."""
    connectors.need_form("external")
    try:
        connector = connectors.open(form="external")
    except ClientUnavailable as refused:
        judge.fail("lmcache cannot make the connector for an external:// URL", client_answered=str(refused))
    chunk = chunks.chunk()
    store(connector, judge, chunk)
    comes_back(judge, connector.get(chunk.key), chunk, cite="CONN-LOAD-004")


@promise("CONN-LOAD-003", releases="0.3.12 and later")
def test_base_class_initialised(connector: Connector, judge: Judge, release: Release) -> None:
    """The base class was given config and metadata, so that the shape of a full chunk is known."""
    assert METADATA_AT_START[release]
    missing = {"save_chunk_meta", "meta_shapes", "meta_dtypes", "meta_fmt"} - connector.about.attributes.keys()
    judge.holds(
        not missing,
        f"the connector has no {', '.join(sorted(missing))}",
        conformant_answer="super().__init__(config, local_cpu_backend.metadata) in the constructor",
    )
