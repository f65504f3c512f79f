"""Examples that once showed a defect: the first thing that a client with the same defect fails."""

from collections.abc import Mapping
from typing import Any

from cases.lm.counterexamples import kept
from cases.lm.play import Play
from cases.lm.replies import Spoken, exchange
from harness.case import MOCK, case
from harness.judge import Judge
from harness.scripted_server import scripted_server
from harness.subject import Subject
from harness.targets import Server
from harness.values import Keys
from wire.lm.profile import LmProfile
from wire.lm.shapes import payload_size


@case("LM-GET-004", "LM-REPLY-005", "LM-ID-009", "LM-CONN-003", targets=MOCK, needs=("connect", "exist"), variants=kept("reply"))
def test_reply(client: Subject, judge: Judge, keys: Keys, profile: LmProfile, vector: Mapping[str, Any]) -> None:
    """A reply that a client once took for something else."""
    spoken = Spoken.from_json(vector["reply"])
    client.needs(spoken.op)
    about = spoken.expect
    size = payload_size(about["format"], about["dtype"], about["shape"]) if about is not None else 0
    with scripted_server(profile) as peer:
        exchange(client, judge, peer, keys, profile, spoken, size)


@case(
    "LM-GET-002",
    "LM-PUT-002",
    "LM-CONN-003",
    "LM-ID-001",
    targets=MOCK,
    needs=("connect", "put", "get", "exist", "health", "close"),
    variants=kept("program"),
)
def test_program(
    client: Subject, judge: Judge, server: Server, keys: Keys, profile: LmProfile, vector: Mapping[str, Any]
) -> None:
    """A conversation in which a client once gave a wrong answer."""
    play = Play(client, judge, server, keys, profile, f"{keys.model}/kept")
    for step in vector["program"]:
        play.step(step)
