"""The program by which the kernel is told which calls to ask about."""

import struct

import pytest

from harness.l2.calls.filter import filter_program, numbers
from harness.l2.calls.table import CALLS, CHANGES

ALLOWED, ASKED = 0x7FFF0000, 0x7FC00000


def answer(program: bytes, architecture: int, number: int) -> int:
    """What the kernel's small machine makes of a call; it knows what these programs need."""
    steps = [struct.unpack("=HBBI", program[place : place + 8]) for place in range(0, len(program), 8)]
    words = {0: number, 4: architecture}
    place, held = 0, 0
    while True:
        code, when_equal, otherwise, value = steps[place]
        if code == 0x06:
            return value
        if code == 0x20:
            held = words[value]
        place += 1 + ((when_equal if held == value else otherwise) if code == 0x15 else 0)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_exactly_the_named_calls_are_asked_about(machine: str) -> None:
    architecture = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}[machine]
    program = filter_program(CHANGES, machine)
    asked = {number for number in range(500) if answer(program, architecture, number) == ASKED}
    assert asked == set(numbers(CHANGES, machine))
    assert all(answer(program, architecture, number) == ALLOWED for number in set(range(500)) - asked)


def test_calls_of_another_architecture_are_let_through() -> None:
    assert answer(filter_program(CHANGES, "x86_64"), 0x40000003, 1) == ALLOWED


def test_no_two_calls_have_one_number() -> None:
    for machine in ("x86_64", "aarch64"):
        known = [shape.number(machine) for shape in CALLS.values() if shape.number(machine) is not None]
        assert len(known) == len(set(known))
