"""A bench with something of everything."""

import pytest

from reports.bench.model import Bench, Conditions, Figures, Measure, Subject

MOST = 40 << 20


@pytest.fixture
def make_bench():
    """A bench; keywords change what it consists of."""

    def make(**changes):
        def side(rate, p50):
            return Figures(rate, 100, p50, p50 * 2, p50 * 5, p50 * 50)

        def value(operation, size, name, rate, ratio):
            taken = size / rate / 1e3
            sides = {"client": side(rate, taken), "floor": side(rate / ratio, taken * ratio), "whole": side(rate / 2, taken * 2)}
            return Measure(
                f"{operation}-{name}", operation, size, None, "GB/s", "measured", ratio=ratio, peak_bytes=40 << 20, **sides
            )

        keys = {"operation": "chunk_keys", "size": None, "unit": "keys/s"}
        values = {
            "tool_version": "0.1.0",
            "started": "2026-01-02T03:04:05+00:00",
            "took": 12.5,
            "subject": Subject("stdio:./mine", "mine", "1.2", "Rust"),
            "conditions": Conditions(
                "0.5.6", "the mock of lmconform, as it is", False, "lmconform/0a1b2c3d", 0.5, 3, 60.0, 2, 0.25, "3.11.7", "Linux",
            ),
            "empty_call": side(5000.0, 200.0),
            "idle_bytes": 20 << 20,
            "measures": (
                value("put", 4096, "4KiB", 0.02, 0.9),
                value("put", 8 << 20, "8MiB", 1.5, 1.6),
                value("get", 4096, "4KiB", 0.015, 0.8),
                value("get", 8 << 20, "8MiB", 0.1, 0.05),
                Measure(
                    "exist", "exist", None, None, "calls/s", "measured", timed_by="harness", client=side(4000.0, 250.0),
                    floor=side(5000.0, 200.0), whole=side(4000.0, 250.0), ratio=0.8,
                ),
                Measure("chunk-keys-builtin", algorithm="builtin", state="unsupported", why="it is not declared", **keys),
                Measure("chunk-keys-sha256_cbor", algorithm="sha256_cbor", state="failed", why="no <answer>\x1b", **keys),
            ),
            **changes,
        }  # fmt: skip
        return Bench(**values)

    return make
