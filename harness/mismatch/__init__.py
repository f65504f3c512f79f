"""Why an expected key is not a key of a deployment: known causes, and a search for the smallest set that explains it."""

from harness.mismatch.comparison import compare
from harness.mismatch.expected import Expected, read_expected
from harness.mismatch.request import Request

__all__ = ["Expected", "Request", "compare", "read_expected"]
