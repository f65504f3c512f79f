"""Peers that do what no client means to do: the server goes on, others are served, and nothing wrong is stored."""

from harness.answered import answered
from harness.bystanders import bystanders
from harness.case import SERVERS, Variant, case
from harness.hostile.act import AFTER, WHILE, Act, When
from harness.hostile.acts import acts
from harness.hostile.attack import Attack, attack
from harness.judge import Judge
from harness.leaks import LEFT_BY_MANY, blame, server_leaves_nothing
from harness.peers import Peer
from harness.targets import Server
from harness.values import Keys
from wire.release import Release

MANY = 200


def _every(release: Release) -> list[Variant]:
    return [Variant(act.name, act) for act in acts(release)]


def _refusable(release: Release) -> list[Variant]:
    return [Variant(act.name, act) for act in acts(release) if act.should]


@case(
    *("SRV-LM-021", "SRV-LM-009", "SRV-LM-020", "SRV-LM-024", "SRV-LM-025"),
    targets=SERVERS,
    judges="server",
    runs=("server",),
    variants=_every,
    once_for="frames",
)
def test_others_are_served(judge: Judge, server: Server, release: Release, keys: Keys, vector: Act) -> None:
    """While a peer does what no client would, and afterwards, others are served as before, and what was stored is there."""
    with answered(judge, server, what=vector.what), attack(release, server, keys) as under_way:
        with bystanders(judge, server, release, keys, by=vector.what) as others, vector.perform(under_way):
            _look(judge, server, vector, under_way, "must", WHILE)
            others.look("while")
        _look(judge, server, vector, under_way, "must", AFTER)


@case(
    *("SRV-LM-040", "SRV-LM-041", "SRV-LM-043"),
    targets=SERVERS,
    judges="server",
    runs=("server",),
    variants=_refusable,
    once_for="frames",
)
def test_refused(judge: Judge, server: Server, release: Release, keys: Keys, vector: Act) -> None:
    """What cannot be a good request ends its own connection and stores nothing."""
    with answered(judge, server, what=vector.what), attack(release, server, keys) as under_way:
        with vector.perform(under_way):
            _look(judge, server, vector, under_way, "should", WHILE)
        _look(judge, server, vector, under_way, "should", AFTER)


def _look(judge: Judge, server: Server, act: Act, under_way: Attack, level: str, when: When) -> None:
    for consequence in act.must if level == "must" else act.should:
        if consequence.when == when:
            problem = consequence.look(under_way)
            judge.holds(problem is None, f"{when} {act.what}: {problem}", cite=consequence.requirement, kind=blame(server))


@case("SRV-LM-023", targets=SERVERS, judges="server", runs=("server",), once_for="frames")
def test_nothing_is_left_behind(judge: Judge, server: Server, release: Release, keys: Keys) -> None:
    """Hundreds of connections that ended in the middle of something leave neither descriptors nor threads in the server."""
    key = keys()
    with answered(judge, server), server_leaves_nothing(judge, server, allowed=LEFT_BY_MANY, cite="SRV-LM-023"):
        with Peer(release, server) as first:
            first.put(key, bytes(500))
            first.exist(key)
        for number in range(MANY):
            with Peer(release, server) as peer:
                frame = peer.frame("PUT", keys(hash=0xCD), bytes(500))
                end = number % 5
                if end == 0:
                    peer.exist(key)
                elif end == 1:
                    peer.send(frame[:30])
                elif end == 2:
                    peer.send(frame[:300])
                    peer.reset()
                elif end == 3:
                    peer.send(b"\xff" * 400)
                    peer.reset()
                else:
                    peer.send(peer.frame("GET", key))
