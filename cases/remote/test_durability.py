"""What was stored outlives the engine, and a crash leaves no half objects."""

from cases.remote.promises import comes_back, promise, store, stored, whole_or_miss
from harness.judge import Judge
from harness.remote.chunks import Chunks, Layout
from harness.remote.session import Connectors

BROAD = Layout(layers=16, heads=16, size=64)
"""A full chunk has 1 MiB."""
DELAYS = (0.0, 0.001, 0.002, 0.004, 0.008, 0.012, 0.02, 0.03)


@promise("CONN-DUR-001")
def test_opened_again(connectors: Connectors, chunks: Chunks, judge: Judge) -> None:
    """What was stored is there for the next engine, after an end and after a crash."""
    connectors.need_storage()
    first, second = chunks.chunks(2)
    connector = connectors.open()
    store(connector, judge, first)
    connector.close()
    connector = connectors.open()
    comes_back(judge, connector.get(first.key), first, after="in the next engine", cite="CONN-DUR-001")
    store(connector, judge, second)
    connector.kill()
    connector = connectors.open()
    for chunk in (first, second):
        comes_back(judge, connector.get(chunk.key), chunk, after="after a crash", cite="CONN-DUR-001")


@promise("CONN-DUR-002", "CONN-DUR-003", once_for="contract")
def test_killed_while_storing(connectors: Connectors, chunks: Chunks, judge: Judge) -> None:
    """After a kill in the middle of puts each object is whole or a miss, and can be stored again."""
    connectors.need_storage()
    connector = connectors.open(layout=BROAD)
    for delay in DELAYS:
        several = [chunks.chunk(BROAD) for _ in range(4)]
        connector.begin_puts(several)
        connectors.wait(delay)
        connector.kill()
        connector = connectors.open(layout=BROAD)
        for chunk in several:
            got = connector.get(chunk.key)
            whole_or_miss(judge, got, chunk, because=f"after a kill {1000 * delay:g} ms into a put", cite="CONN-DUR-002")
            stored(judge, connector.put(chunk))
            comes_back(judge, connector.get(chunk.key), chunk, after="stored again after a kill", cite="CONN-DUR-003")
