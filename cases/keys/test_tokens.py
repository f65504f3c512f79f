"""Token hashes of the multiprocess server."""

from harness.captures import Vector
from harness.case import answered, case
from harness.judge import Judge
from harness.subject import Subject


@case("KEY-TOK-001", "KEY-TOK-002", needs=("token_hashes",), variants=answered("token_hashes"))
def test_hashes(client: Subject, judge: Judge, vector: Vector) -> None:
    """A client makes the same token hashes as lmcache, one for each full chunk."""
    got = client.ok("token_hashes", **vector.args)["hashes"]
    judge.same_value(vector.answer["hashes"], list(got), what="the token hashes", source=vector)
