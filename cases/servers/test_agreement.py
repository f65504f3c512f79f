"""Mock against live: the same random conversation with both, answer by answer."""

from hypothesis import given
from hypothesis import strategies as st

from harness.case import case
from harness.conversation import Request, answers
from harness.examples import Examples
from harness.failure import MockDriftFailure
from harness.judge import Judge
from harness.targets import Server, mock_server
from harness.values import Keys
from wire.release import Release

COMMANDS = st.sampled_from(["PUT", "GET", "EXIST", "HEALTH", "LIST"])


@case("LM-SRV-001", "LM-SRV-002", "LM-SRV-003", "LM-SRV-004", "LM-SRV-011", targets=("live",), judges="server")
def test_mock_equals_live(judge: Judge, server: Server, release: Release, keys: Keys, examples: Examples) -> None:
    """The mock and the real server give the same bytes to the same requests, whatever their order."""
    numbers = iter(range(1 << 30))

    @examples
    @given(st.lists(st.tuples(COMMANDS, st.integers(0, 2), st.binary(max_size=40), st.integers(1, 300)), min_size=1, max_size=12))
    def check(drawn: list[tuple[str, int, bytes, int]]) -> None:
        model = f"{keys.model}/{next(numbers)}"
        requests = [Request(command, keys(model=model, hash=which + 1), payload, cut) for command, which, payload, cut in drawn]
        real = answers(release, server, requests)
        with mock_server(release) as mock:
            ours = answers(release, mock, requests)
        if real != ours:
            difference = next(index for index, (one, other) in enumerate(zip(real, ours, strict=True)) if one != other)
            judge.fail(
                f"after {[request.command for request in requests[: difference + 1]]} the mock differs from the real server",
                kind=MockDriftFailure,
                expected=real[difference].hex(),
                got=ours[difference].hex(),
            )

    check()
