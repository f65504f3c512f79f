"""The methods of a connector: which are awaited, and what they answer."""

from cases.remote.promises import promise, says, store
from harness.judge import Judge
from harness.remote.chunks import Chunks
from harness.remote.connector import Connector
from harness.remote.contract import ABSTRACT, COROUTINES, OPTIONAL, SUPPORTED_BY_BASE
from wire.release import Release


@promise("CONN-ABS-001")
def test_awaited(connector: Connector, judge: Judge, release: Release) -> None:
    """What lmcache awaits is a coroutine function, and what it calls at once is none."""
    for name in (*ABSTRACT[release], *OPTIONAL[release], "remove_sync"):
        found = connector.about.coroutines.get(name)
        wanted = name in COROUTINES
        if found is not None:
            judge.holds(
                found is wanted,
                f"{name} is {'a coroutine function' if found else 'no coroutine function'}",
                conformant_answer=f"{'async ' if wanted else ''}def {name}(...)",
            )


@promise("CONN-ABS-002")
def test_existence_is_a_boolean(connector: Connector, chunks: Chunks, judge: Judge) -> None:
    """``exists`` answers True or False, nothing that only looks like it."""
    chunk = chunks.chunk()
    says(judge, connector.exists(chunk.key), False, what="exists of a key that was never stored", cite="CONN-ABS-002")
    store(connector, judge, chunk)
    says(judge, connector.exists(chunk.key), True, what="exists of a stored key", cite="CONN-ABS-002")


@promise("CONN-ABS-003", releases="0.3.3 and later")
def test_support_is_told(connector: Connector, judge: Judge, release: Release) -> None:
    """Each ``support_`` method answers True or False, and True only where the method is there."""
    for name in OPTIONAL[release]:
        answer = connector.about.supports.get(f"support_{name}")
        judge.holds(isinstance(answer, bool), f"support_{name} answers {answer}", conformant_answer="True or False")
        if answer:
            there = name in connector.about.own or name in SUPPORTED_BY_BASE[release]
            judge.holds(
                there,
                f"support_{name} answers True, but {name} is that of the base class, which raises NotImplementedError",
                conformant_answer=f"a {name} of its own, or False",
            )


@promise("CONN-ABS-004", releases="0.3.3 and later")
def test_ping(connector: Connector, judge: Judge) -> None:
    """``ping`` of a connector that works answers 0."""
    connector.need("ping")
    says(judge, connector.ping(), 0, what="ping does not answer 0 although the storage is there", cite="CONN-ABS-004")
